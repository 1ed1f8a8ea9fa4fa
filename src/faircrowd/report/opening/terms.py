"""The terms that pages explain where a reader meets them: one meaning each, for the page of a run and the studio."""

__all__ = ["TERMS"]

TERMS: dict[str, str] = {
    "agreement": "How often people give the same label to the same task, beyond what chance would give: 1 is full "
    "agreement, 0 is chance.",
    "believed": "What the method itself expects: the mean of the probabilities that it gives its own labels. It is "
    "often too high, as nobody has checked it.",
    "bound": "A number that no choice of labels within the limit can exceed, with its proof in certificate.json.",
    "calibrated": "Probabilities that come true: of the labels given with 80% certainty, about 80% are right.",
    "changed": "A label that differs from the one that the votes alone would have given.",
    "epsilon": "The limit: the largest gap that was allowed. 0.05 means five points.",
    "estimated": "Worked out from the known labels of a random part of the tasks, with the range in which the true "
    "number lies with the confidence given.",
    "gap": "How far apart the groups are: for each label, the largest minus the smallest share of tasks that get it; "
    "the largest of these differences. 0.05 means five points.",
    "influence": "By how much the gap would fall if the votes of this person were left out.",
    "interval": "The range in which the number lies if these tasks are a random sample of many.",
    "known": "Labels of some tasks that are certainly right, such as an expert's. They show how accurate the labels "
    "really are.",
    "lean": "To give some label more often in one group than in another, by more than chance explains.",
    "points": "The difference of two percentages: 30% and 35% are five points apart.",
    "posterior": "How likely each label is for a task, given its votes, in the eyes of the method.",
    "price": "How much accuracy is given up to keep the limit: accuracy without it, minus accuracy with it.",
    "q-value": "Of all people who look at least this uneven, the share that is expected to look so by chance alone.",
    "real": "The share of labels that are right, counted where the true label is known.",
    "rule": "What decides the label of a task from its probabilities and its group; it also labels new tasks.",
    "threshold": "How certain the method must be, in this group, before a task gets the label.",
    "true gap": "How far apart the groups are in the true labels themselves. Labels with a smaller gap cannot all be "
    "right.",
    "vote": "One person's label for one task.",
}
"""Meanings in words that need no statistics, by term."""
