"""How the votes of workers add up in a majority."""
