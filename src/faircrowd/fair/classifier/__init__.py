"""``FairClassifier``: fair labels from any classifier of scikit-learn, which of all stages only this one imports."""
