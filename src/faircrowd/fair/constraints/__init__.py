"""Constraints on fair labels: what must be kept, each as comparisons of quantities that are linear in the labels."""
