"""What holds for all tasks like these, not only for these: promises about the gap of a rule in the population.

- ``find``: which promise can be made, by which method;
- ``statement``: the promise in numbers and words;
- ``held_out``: tasks that a rule is not learned from;
- ``rank_thresholds``: thresholds at ranks of held-out tasks;
- ``margin``: a bound for all rules at once, for tasks that cannot be split.
"""
