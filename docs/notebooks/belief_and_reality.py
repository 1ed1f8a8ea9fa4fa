# %% [markdown]
# # Belief and reality: what known labels are for
#
# A model of votes says how sure it is. Real tasks differ in difficulty, so that workers err together, and the model
# takes that for agreement. Here we make such a crowd, see how wrong the belief is, and mend it with 100 known labels.

# %%
import numpy as np
import pandas as pd

from faircrowd import CalibratedCrowd, DawidSkene, FairCrowd, MajorityVote

rng = np.random.default_rng(0)
n_tasks, n_workers, n_votes = 1500, 60, 9
groups = pd.Series(rng.integers(0, 2, n_tasks), name="group")
truth = pd.Series((rng.random(n_tasks) < np.where(groups == 1, 0.55, 0.35)).astype(int), name="truth")
ease = rng.beta(2, 1.2, n_tasks)  # the chance that a worker is right: a hard task is hard for everyone
rows = []
for task in range(n_tasks):
    for worker in rng.choice(n_workers, n_votes, replace=False):
        right = rng.random() < 0.25 + 0.7 * ease[task]
        rows.append((task, worker, truth[task] if right else 1 - truth[task]))
votes = pd.DataFrame(rows, columns=["task", "worker", "label"])

# %% [markdown]
# ## What models believe, and what is real

# %%
known = truth.sample(100, random_state=0)  # labels of 100 random tasks, from an expert
models = {"majority": MajorityVote(), "Dawid-Skene": DawidSkene(), "calibrated": CalibratedCrowd()}
compared = []
for name, model in models.items():
    fitted = model.fit(votes, known) if name == "calibrated" else model.fit(votes)
    believed = fitted.probas_.max(axis=1).mean()
    compared.append((name, believed, fitted.score(truth)))
pd.DataFrame(compared, columns=["labels from", "believed accuracy", "real accuracy"]).round(3)

# %% [markdown]
# Dawid-Skene is far too sure of itself. Of the labels that it gives with a probability of about .96, a quarter is
# wrong:

# %%
too_sure = FairCrowd(DawidSkene(), epsilon=0.05).fit(votes, sensitive_features=groups)
too_sure.plot("reliability", truth=truth)

# %% [markdown]
# Points below the diagonal are promises that do not come true. With known labels, they do:

# %%
fair = FairCrowd(CalibratedCrowd(), epsilon=0.05).fit(votes, known, sensitive_features=groups)
fair.plot("reliability", truth=truth)

# %% [markdown]
# ## The estimate, with an interval

# %%
print(f"estimated: {fair.accuracy_}")
print(f"real:      {fair.score(truth):.1%}")
print(f"price:     {fair.price_}")

# %% [markdown]
# ## How often is the interval right?
#
# Draw the 100 known labels anew, twenty times. About 19 of 20 intervals should contain the real accuracy.

# %%
draws = []
for seed in range(20):
    model = CalibratedCrowd().fit(votes, truth.sample(100, random_state=seed))
    found = model.accuracy_
    right = model.score(truth)
    draws.append((found.low, found.estimate, found.high, right, found.low <= right <= found.high))
draws = pd.DataFrame(draws, columns=["low", "estimate", "high", "real", "inside"])
print(f"{draws['inside'].sum()} of {len(draws)} intervals contain the real accuracy")
draws.head().round(3)

# %% [markdown]
# ## How many known labels?

# %%
from faircrowd.audit import plan_gold

plans = {n: plan_gold(n, accuracy=0.75).overall for n in (25, 50, 100, 200, 400)}
pd.Series({n: plan.high - plan.low for n, plan in plans.items()}, name="width of the interval").round(3)

# %% [markdown]
# More in [calibration](../calibration.md) and [get known labels](../known-labels.md).
