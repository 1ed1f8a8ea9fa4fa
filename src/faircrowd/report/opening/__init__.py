"""The top of the page: what it is about, and what was found, in words that need no statistics."""
