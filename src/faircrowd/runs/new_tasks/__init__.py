"""Labels of new tasks by the saved rule and model of an earlier run."""
