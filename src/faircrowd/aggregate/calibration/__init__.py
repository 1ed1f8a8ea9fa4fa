"""Known labels of some tasks: probabilities that mean what they say, and accuracy with an interval.

- ``calibrate``: the aggregator ``CalibratedCrowd``;
- ``log_pool``: one posterior from those of several models, with weights learned from known labels;
- ``calibration_quality``: how well probabilities fit known labels, before and after;
- ``known_label_checks``: what speaks against trusting known labels;
- ``accuracy_estimate``: accuracy as estimated from known labels;
- ``reliability``: whether confidence comes true.
"""
