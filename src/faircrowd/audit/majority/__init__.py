"""How the votes of workers add up in a majority: exact rates, bounds, growing crowds, and ties."""
