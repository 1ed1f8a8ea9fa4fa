"""How each worker treats groups."""
