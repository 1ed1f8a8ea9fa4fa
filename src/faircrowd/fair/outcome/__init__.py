"""What came out: whether the labels are of use, and whether they are what was asked for."""
