"""Labels in a file: checked against limits, or counted in a table of impact ratios."""
