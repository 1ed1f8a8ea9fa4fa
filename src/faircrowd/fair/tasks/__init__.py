"""The tasks to be labelled as solvers see them, in memory or in Spark."""
