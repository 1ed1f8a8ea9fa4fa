"""Known labels of some tasks: probabilities that mean what they say, and accuracy with an interval.

- ``calibrate``: the aggregator ``CalibratedCrowd``;
- ``log_pool``: one posterior from those of several models, with weights learned from known labels;
- ``accuracy_estimate``: accuracy as estimated from known labels;
- ``reliability``: whether confidence comes true.
"""
