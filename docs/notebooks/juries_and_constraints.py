# %% [markdown]
# # LLM juries, and several constraints at once
#
# Four models judge whether texts are toxic. Three of them are of one vendor and err together, and all of them take
# French texts for toxic too often. We pool them, and ask for more than one thing at once: similar rates in both
# languages, at most a tenth of the labels changed, and some of the doubtful texts sent to a person.

# %%
import numpy as np
import pandas as pd

from faircrowd import FairCrowd, JuryVote, MajorityVote
from faircrowd.audit import check_constraints
from faircrowd.constraints import ChangeBudget, DemographicParity, ReviewBudget

rng = np.random.default_rng(1)
n_texts = 1200
language = pd.Series(np.where(rng.random(n_texts) < 0.6, "en", "fr"), name="language")
truth = pd.Series(np.where(rng.random(n_texts) < 0.3, "toxic", "fine"), name="truth")
sign = np.where(truth == "toxic", 1.0, -1.0)
families = {"acme-large": "acme", "acme-small": "acme", "acme-mini": "acme", "other": "other"}
shared = {family: rng.normal(0, 1.2, n_texts) for family in ("acme", "other")}
rows = []
for judge, family in families.items():
    odds = 1.3 * sign + 1.1 * (language == "fr") + shared[family] + rng.normal(0, 0.6, n_texts)
    p = 1 / (1 + np.exp(-2 * odds))
    for text in range(n_texts):
        label = "toxic" if p[text] > 0.5 else "fine"
        rows.append((text, judge, family, label, max(p[text], 1 - p[text])))
votes = pd.DataFrame(rows, columns=["task", "judge", "family", "label", "probability"])
votes.head()

# %% [markdown]
# ## Pool the judges
#
# A majority counts the vendor three times. `JuryVote` reads the columns `family` and `probability`: a family counts as
# one judge, and a sure judge counts more.

# %%
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # says that a majority does not use probabilities
    majority = MajorityVote().fit(votes)
jury = JuryVote().fit(votes)
accuracies = {name: model.score(truth) for name, model in (("majority", majority), ("jury", jury))}
pd.Series(accuracies, name="real accuracy").round(3)

# %% [markdown]
# ## Ask for several things

# %%
asked = [DemographicParity(0.04, label="toxic"), ChangeBudget(0.1), ReviewBudget(0.05)]
fair = FairCrowd(JuryVote(), constraints=asked).fit(votes, sensitive_features=language)
fair

# %%
fair.plot()

# %% [markdown]
# Some texts have no label yet: a person decides.

# %%
fair.labels_.value_counts()

# %% [markdown]
# ## What another limit would cost, the others kept

# %%
fair.result_.frontier_over("parity", [0.0, 0.02, 0.04, 0.08]).plot()

# %% [markdown]
# ## Check before you ship
#
# The gate judges finished labels, whoever made them. The reviewed texts have no label, so they are left out.

# %%
done = fair.labels_[fair.labels_ != "review"]
verdict = check_constraints(
    done, ["parity(language, label=toxic) <= 0.1"], sensitive_features=language[done.index].to_frame()
)
print(f"{verdict.status}: {verdict.constraints[0].reason}")

# %% [markdown]
# More in [juries](../juries.md), [constraints](../constraints.md) and [the gate](../gate.md).
