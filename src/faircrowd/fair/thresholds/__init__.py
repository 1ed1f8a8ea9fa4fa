"""Two classes and two groups: exact thresholds."""
