"""The tasks to be labelled, as every solver sees them, wherever they lie."""
