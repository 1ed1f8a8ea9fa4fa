"""The extra sklearn: a fair classifier."""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"
import numpy as np
from sklearn.linear_model import LogisticRegression

import faircrowd as fc

rng = np.random.default_rng(0)
group = rng.choice(["f", "m"], 400)
features = rng.normal(size=(400, 2)) + 0.5 * (group == "m")[:, None]
truth = np.where(features.sum(axis=1) + rng.normal(size=400) > 0.5, "yes", "no")
fair = fc.FairClassifier(LogisticRegression(), epsilon=0.05).fit(features, truth, sensitive_features=group)
assert fair.certificate_.gap <= fair.certificate_.gap_allowed < fair.certificate_.gap_before
assert len(fair.predict(features, sensitive_features=group)) == 400
