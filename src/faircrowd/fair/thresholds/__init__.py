r"""Two classes and two groups: the best labels are given by one threshold per group, found exactly.

**Problem.** Tasks i with group :math:`a_i \in \{0, 1\}`, weight :math:`w_i`, and gain :math:`d_i` of label 1
over label 0 (:math:`2 p_i - 1` for accuracy). With group weights :math:`W_a`, shares :math:`\pi_a = W_a / W` and rates
:math:`r_a = \sum_{i \in a} w_i x_i / W_a`, maximise :math:`\sum_i w_i d_i x_i / W` over :math:`x_i \in [0, 1]`
(randomized labels) or :math:`x_i \in \{0, 1\}` (deterministic labels) such that :math:`|r_1 - r_0| \le \varepsilon`.

**Method.** Labels that give label 1 to the best tasks of each group, those with the largest gains, are optimal for
their rates, so the unknowns are two counts. With a multiplier :math:`\beta` of the signed gap :math:`r_1 - r_0`, a task
of group 1 gets label 1 while :math:`\pi_1 d_i > \beta`, and a task of group 0 while :math:`\pi_0 d_i > -\beta`
(theorem recipe_K2 of the paper): moving :math:`\beta` away from 0 flips labels in the order of their *price*, which is
their cost per unit of gap. The randomized solution is where the gap reaches :math:`\pm\varepsilon`; the fraction of the
tied tasks there that get label 1 makes it exactly so. For deterministic labels, the best labelling with a given count
of group 1 is bounded by a concave function of this count; a walk outward from its maximum, until the bound falls below
the best labelling found, is exact.

Read the modules in this order:

1. :mod:`~faircrowd.fair.thresholds.solve`: from a problem to labels; everything else is called from here.
2. :mod:`~faircrowd.fair.thresholds.sort_keys`: the number by which tasks are sorted, and what label 1 costs.
3. :mod:`~faircrowd.fair.thresholds.sorted_group`: a sorted group; the rate and the value of each count of labels 1.
4. :mod:`~faircrowd.fair.thresholds.flip_cost`: the price of a flip, and flips in the order of their prices.
5. :mod:`~faircrowd.fair.thresholds.relaxed`: the best randomized labels of two sorted groups.
6. :mod:`~faircrowd.fair.thresholds.integer`: the best deterministic labels of two sorted groups.
7. :mod:`~faircrowd.fair.thresholds.window`: both, from only the tasks near the thresholds, for tasks of equal weight.
8. :mod:`~faircrowd.fair.thresholds.labels`: the label of each task, given the thresholds.
"""
