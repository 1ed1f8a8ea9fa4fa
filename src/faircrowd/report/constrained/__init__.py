"""Labels under a list of constraints: lines, story of the page, and a reason per task."""
