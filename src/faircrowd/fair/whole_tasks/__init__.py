"""Labels are given to whole tasks: how far they may exceed epsilon, and how randomized ones are drawn."""
