"""A rule as others read it: as JSON, in words and as SQL."""
