"""Any number of classes and groups: a linear program over atoms, certified."""
