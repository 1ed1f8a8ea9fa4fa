"""How each worker treats groups: counts of votes, differences between groups, tests, shrinkage, influence."""
