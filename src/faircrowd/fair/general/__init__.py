"""Any list of constraints that are linear in the labels: rows of one linear program, certified."""
