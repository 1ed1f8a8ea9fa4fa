# %% [markdown]
# # First fair labels from votes
#
# Votes in, one label per task out, and the gap between two groups at most epsilon. The crowd is simulated, so that the
# truth is known and we can look up how good the labels are.

# %%
from faircrowd import DawidSkene, FairCrowd
from faircrowd.audit import by_group
from faircrowd.datasets import load_synthetic

crowd = load_synthetic(random_state=0)
crowd.votes.head()

# %% [markdown]
# One row per vote. What is known about tasks (here: the group of each) goes by the id of the task.

# %%
crowd.groups.value_counts()

# %% [markdown]
# ## Labels without fairness
#
# Dawid-Skene learns from the votes alone who errs and how. `by_group=True` lets workers err differently in each group.

# %%
model = DawidSkene(by_group=True).fit(crowd.votes, sensitive_features=crowd.groups)
by_group(model.labels_, sensitive_features=crowd.groups)

# %% [markdown]
# Label 1 is given to a larger share of group 1 than of group 0. The difference is the *gap*.
#
# ## Labels whose gap is at most .05

# %%
fair = FairCrowd(DawidSkene(by_group=True), epsilon=0.05)
fair.fit(crowd.votes, sensitive_features=crowd.groups)

# %%
fair.plot()

# %% [markdown]
# Grey is before, blue is after. What the card says is explained in [Read the result](../read-the-result.md); the words
# of the terminal are `print(fair.summary())`. *Believed* is the model's opinion of itself. Here the truth is known, so
# we can look up the real accuracy, before and after:

# %%
model.score(crowd.truth), fair.score(crowd.truth)

# %% [markdown]
# ## What would another epsilon cost?

# %%
fair.plot("frontier", truth=crowd.truth)

# %% [markdown]
# ## Who pays?
#
# Every task has its label, the label before, and the reason.

# %%
import pandas as pd

pd.set_option("display.max_colwidth", None)
labels = fair.to_frame(why=True)
changed = labels[labels["changed"]]
changed[["task", "group", "label_before", "label", "why"]].head()

# %%
changed.groupby(["group", "label_before", "label"]).size()

# %% [markdown]
# ## New tasks
#
# The rule that was learned labels new tasks by their votes and their group. It is two thresholds here.

# %%
fair.rule_

# %%
new = load_synthetic(random_state=1)
new_labels = fair.predict(new.votes, sensitive_features=new.groups)
by_group(new_labels, sensitive_features=new.groups)

# %% [markdown]
# `fair.write("labels")` writes labels with reasons, the rule, the certificate and a page.
# `faircrowd aggregate votes.csv --tasks tasks.csv --group group --epsilon 0.05 --out labels` does all of this on the
# command line.
