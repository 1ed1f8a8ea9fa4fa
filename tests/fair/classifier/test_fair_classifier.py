"""FairClassifier: laws of its labels, what it takes, and what it refuses."""

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from fair.classifier.people import People, gap, people, rates
from faircrowd import FairClassifier, FairRule, make_fair
from faircrowd.audit import measure_constraints
from faircrowd.constraints import DemographicParity, EqualizedOdds, RateRange, ReviewBudget
from faircrowd.errors import DataWarning, InfeasibleError, InputError, MissingColumnError, OptionError
from faircrowd.fair import ConstrainedRule

NO_GROUPS = "ignore:.*no groups to compare:faircrowd.errors.DataWarning"


def fitted(one: People, estimator: Any = None, **options: Any) -> FairClassifier:
    model = FairClassifier(GaussianNB() if estimator is None else estimator, **options)
    return model.fit(one.X, one.y, sensitive_features=one.groups["sex"])


@pytest.fixture(scope="module")
def two() -> People:
    return people()


@pytest.fixture(scope="module")
def fair(two: People) -> FairClassifier:
    return fitted(two)


@pytest.mark.filterwarnings("ignore")  # what the estimators inside say about extreme data
@pytest.mark.parametrize(
    "estimator",
    [
        FairClassifier(LogisticRegression(), cv=2),
        FairClassifier(DecisionTreeClassifier(random_state=0), cv=0.4),
        FairClassifier(GaussianNB(), decision="randomized"),
    ],
    ids=str,
)
def test_scikit_learn_checks_it(estimator: FairClassifier) -> None:
    """All checks of scikit-learn pass; none is expected to fail."""
    found = check_estimator(estimator, on_skip=None)
    assert {one["status"] for one in found if one["check_name"] != "check_array_api_input"} == {"passed"}


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("cv", [5, 0.5])
def test_certified_labels_keep_the_gap(n_classes: int, cv: float) -> None:
    one = people(900, n_classes)
    model = fitted(one, epsilon=0.04, cv=cv)
    found, sex = model.certificate_, one.groups["sex"].to_numpy()[model.rows_]
    assert gap(model.labels_, sex, model.classes_) == pytest.approx(found.gap, abs=1e-12)
    assert found.gap <= found.gap_allowed <= 0.04 + 1 / np.bincount(sex == "m").min()
    before = model.classes_[model.probas_.argmax(axis=1)]
    assert found.gap_before == pytest.approx(gap(before, sex, model.classes_))
    assert found.gap_before > 0.04
    belief = pd.DataFrame(model.probas_, columns=model.classes_)
    found.verify(belief, pd.Series(sex), pd.Series(model.labels_))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_gap_is_kept_on_new_rows(n_classes: int) -> None:
    """Within what samples of this size vary: the rates of each of two samples have a standard error below .012."""
    model, new = fitted(people(4000, n_classes)), people(8000, n_classes, seed=1)
    labels = model.predict(new.X, sensitive_features=new.groups["sex"])
    assert gap(model.estimator_.predict(new.X), new.groups["sex"], model.classes_) > 0.2
    assert gap(labels, new.groups["sex"], model.classes_) < 0.05 + 4 * 0.012
    assert model.score(new.X, new.y, sensitive_features=new.groups["sex"]) == np.mean(labels == new.y)


@pytest.mark.parametrize(
    "wrap", [lambda m: FairClassifier(m, prefit=True), lambda m: FairClassifier(FrozenEstimator(m))]
)
def test_a_fitted_estimator_gives_what_make_fair_gives(wrap: Any) -> None:
    old, new = people(600, 3, seed=3), people(700, 3, seed=4)
    nb = GaussianNB().fit(old.X, old.y)
    model = wrap(nb).fit(new.X, new.y, sensitive_features=new.groups)
    wanted = make_fair(nb.predict_proba(new.X), new.groups.to_numpy(), epsilon=0.05, min_group=10)
    assert model.certificate_.value == wanted.certificate.value
    assert model.certificate_.multipliers == wanted.certificate.multipliers
    np.testing.assert_array_equal(model.labels_, nb.classes_[wanted.labels])  # no rows are tied
    np.testing.assert_array_equal(model.rule_.prices, wanted.rule.prices)
    assert model.rule_.classes == tuple(nb.classes_)
    np.testing.assert_array_equal(model.predict_proba(new.X), nb.predict_proba(new.X))
    names = [" & ".join(row) for row in new.groups.to_numpy()]
    assert set(model.certificate_.rates) == set(names)


def test_probabilities_are_those_of_models_that_have_not_seen_the_row(two: People) -> None:
    """A nearest neighbour knows all rows that it has seen; of others it knows little."""
    tree = DecisionTreeClassifier(random_state=0)
    model = fitted(two, tree)
    labels = model.classes_[model.probas_.argmax(axis=1)]
    assert np.mean(model.estimator_.predict(two.X) == two.y) == 1.0
    assert np.mean(labels == two.y) < 0.8
    assert model.held_out_.accuracy_before.estimate == np.mean(labels == two.y)
    assert model.held_out_.accuracy.high < 0.85 < model.certificate_.believed_accuracy


@pytest.mark.parametrize("cv", [5, 0.4])
def test_the_order_of_rows_does_not_matter(two: People, cv: float) -> None:
    order = np.random.default_rng(5).permutation(len(two.y))
    tree = DecisionTreeClassifier(min_samples_leaf=40, random_state=0)  # has many ties
    one, other = fitted(two, tree, cv=cv), fitted(two.part(order), tree, cv=cv)
    assert one.certificate_.changes == other.certificate_.changes
    back = dict(zip(order[other.rows_], other.labels_, strict=True))
    assert back == dict(zip(one.rows_, one.labels_, strict=True))
    labels = one.predict(two.X, sensitive_features=two.groups["sex"])
    again = other.predict(two.X, sensitive_features=two.groups["sex"])
    np.testing.assert_array_equal(labels, again)


def test_a_label_depends_on_the_row_alone() -> None:
    """Also where labels are tied: not on the rows beside it, nor on their order, nor on how they are held."""
    one = people(800)
    tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    model = fitted(one, tree, cv=0.5)
    chances = model.label_probabilities(one.X, sensitive_features=one.groups["sex"])
    assert np.mean(chances.max(axis=1) < 1) > 0.05
    labels = model.predict(one.X, sensitive_features=one.groups["sex"])
    assert set(labels[chances.max(axis=1) < 1]) == {"no", "yes"}
    order = np.random.default_rng(0).permutation(800)
    part = one.part(order[:100])
    np.testing.assert_array_equal(model.predict(part.X, sensitive_features=part.groups["sex"]), labels[order[:100]])
    twice = np.repeat(np.arange(800), 2)
    np.testing.assert_array_equal(
        model.predict(one.X.iloc[twice], sensitive_features=one.groups["sex"].to_numpy()[twice]), labels[twice]
    )
    as_polars = pl.DataFrame(one.X.to_dict("list"))
    np.testing.assert_array_equal(model.predict(as_polars, sensitive_features=one.groups["sex"].to_numpy()), labels)


def test_draws_keep_the_chances() -> None:
    one = people(800)
    tree = DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    model = fitted(one, tree, cv=0.5, decision="randomized")
    sex = one.groups["sex"].to_numpy()
    chances = model.label_probabilities(one.X, sensitive_features=sex)
    row = int(np.argmin(chances.max(axis=1)))
    same, whose = one.X.iloc[[row] * 4000], np.repeat(sex[row], 4000)
    labels = model.predict(same, sensitive_features=whose)
    share = chances[row, 1]
    assert abs(np.mean(labels == "yes") - share) < 5 * np.sqrt(share * (1 - share) / 4000)
    np.testing.assert_array_equal(model.predict(same, sensitive_features=whose), labels)
    assert (
        len(
            set(
                clone(model)
                .set_params(decision="deterministic")
                .fit(one.X, one.y, sensitive_features=sex)
                .predict(same, sensitive_features=whose)
            )
        )
        == 1
    )


def test_held_out_estimates_are_right_about_new_rows() -> None:
    """Accuracy and gap of new rows are nearly always within the intervals: of ten samples, a wrong one is no news."""
    new, text = people(10_000, 3, seed=99), "parity <= 0.05"
    within = np.zeros(2)
    for seed in range(10):
        model = fitted(people(600, 3, seed), epsilon=0.05, cv=3)
        labels = model.predict(new.X, sensitive_features=new.groups["sex"])
        held_out, real = model.held_out_, (np.mean(labels == new.y), gap(labels, new.groups["sex"], model.classes_))
        for j, (found, value) in enumerate(zip((held_out.accuracy, held_out.levels[text]), real, strict=True)):
            within[j] += found.low <= value <= found.high
    assert (within >= 8).all()
    assert held_out.levels_before[text] > 0.15
    assert held_out.accuracy.n_gold == 600
    assert str(held_out).startswith("accuracy: ")
    assert held_out.to_dict()["levels"][text]["low"] == held_out.levels[text].low


def test_constraints_over_several_columns(two: People) -> None:
    asked = [
        DemographicParity(0.03, group="sex", label="yes"),
        "accuracy(race) <= 0.05",
        RateRange(high=0.4, label="yes", group=()),
    ]
    model = FairClassifier(GaussianNB(), constraints=asked).fit(two.X, two.y, sensitive_features=two.groups)
    assert isinstance(model.rule_, ConstrainedRule)
    texts = [str(kept.text) for kept in model.certificate_.constraints]
    found = measure_constraints(
        model.labels_, [texts[0], texts[2]], sensitive_features={n: two.groups[n].to_numpy() for n in two.groups}
    )
    for one, kept in zip(found, [model.certificate_.constraints[j] for j in (0, 2)], strict=True):
        assert one.level == pytest.approx(kept.level)
        assert one.level <= kept.allowed + 1e-9
    real = model.certificate_.constraints[1].estimated
    assert real == model.held_out_.levels[texts[1]].to_dict()
    assert model.certificate_.constraints[0].estimated is None
    labels = model.predict(two.X, sensitive_features=two.groups[["race", "sex"]])
    assert set(labels) == {"no", "yes"}
    alone = FairClassifier(GaussianNB(), constraints=["rate(label=yes) <= 0.2"]).fit(two.X, two.y)
    assert np.mean(alone.labels_ == "yes") <= 0.2
    assert np.mean(alone.predict(two.X) == "yes") == pytest.approx(0.2, abs=0.03)


def test_real_levels_of_constraints_about_the_truth_are_counted_by_hand() -> None:
    """A model that knows the groups' features but not that labels are noisier in one group is caught."""
    one = people(3000, seed=7)
    rng = np.random.default_rng(0)
    noisy = (one.groups["sex"] == "f").to_numpy() & (rng.random(3000) < 0.35)
    y = np.where(noisy, rng.choice(["no", "yes"], 3000), one.y)
    with pytest.warns(DataWarning, match=r"accuracy <= 0.02 is kept as the estimator believes, and missed in truth"):
        model = FairClassifier(GaussianNB(), constraints=["accuracy <= 0.02"]).fit(
            one.X, y, sensitive_features=one.groups["sex"]
        )
    kept = model.certificate_.constraints[0]
    assert kept.kept
    assert kept.level <= 0.02 < kept.estimated["low"]
    right = model.labels_ == y
    counted = abs(right[one.groups["sex"] == "m"].mean() - right[one.groups["sex"] == "f"].mean())
    assert counted == pytest.approx(kept.estimated["estimate"], abs=0.03)


def test_a_rule_that_depends_on_the_model_is_told() -> None:
    """The leaves of a small tree differ from fold to fold; held out from one tree, the rule is that tree's own."""
    one, new = people(3000, seed=0), people(6000, seed=99)
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
    with pytest.warns(DataWarning, match=r"The rule depends on the model: .* cv=0\.3"):
        fitted(one, tree)
    model = fitted(one, tree, cv=0.3)
    labels = model.predict(new.X, sensitive_features=new.groups["sex"])
    assert gap(labels, new.groups["sex"], model.classes_) < 0.05 + 2 * 0.034  # the standard error of 900 rows


def test_a_promise_needs_one_model(two: People) -> None:
    with pytest.raises(OptionError, match=r"with cv=5 these are several; hold out a share of the rows instead"):
        fitted(two, confidence=0.9)
    one = people(5000)
    model = fitted(one, cv=0.6, confidence=0.9, epsilon=0.1)
    assert model.certificate_.promise["enough"]
    assert model.certificate_.epsilon < 0.1
    assert list(model.held_out_.levels) == ["parity <= 0.1"]


@pytest.mark.filterwarnings(NO_GROUPS)
def test_without_groups_it_is_the_plain_classifier(two: People) -> None:
    model = FairClassifier(GaussianNB()).fit(two.X, two.y)
    plain = GaussianNB().fit(two.X, two.y)
    np.testing.assert_array_equal(model.predict(two.X), plain.predict(two.X))
    np.testing.assert_array_equal(model.predict_proba(two.X), plain.predict_proba(two.X))
    assert (model.rule_, model.certificate_, model.held_out_) == (None, None, None)
    with pytest.raises(InputError, match="was not given sensitive_features, so that there is no rule"):
        model.predict(two.X, sensitive_features=two.groups["sex"])
    with pytest.warns(DataWarning, match="no groups to compare"):
        FairClassifier(GaussianNB()).fit(two.X, two.y)
    with pytest.raises(InputError, match="Constraints compare groups; give sensitive_features"):
        FairClassifier(GaussianNB(), constraints=[EqualizedOdds(0.1)]).fit(two.X, two.y)


def test_groups_go_by_row_or_by_index(two: People, fair: FairClassifier) -> None:
    sex, order = two.groups["sex"], np.random.default_rng(0).permutation(len(two.y))
    labels = fair.predict(two.X, sensitive_features=sex)
    for given in (
        sex.to_numpy(),
        sex.tolist(),
        sex.iloc[order],
        pl.Series("sex", sex.tolist()),
        sex.to_frame(),
        {"sex": sex.tolist()},
    ):
        np.testing.assert_array_equal(fair.predict(two.X, sensitive_features=given), labels)
    both = [
        FairClassifier(GaussianNB()).fit(two.X, two.y, sensitive_features=given)
        for given in (
            two.groups,
            two.groups.to_numpy(),
            pl.DataFrame(two.groups.to_dict("list")),
            two.groups.iloc[order],
        )
    ]
    assert len({model.rule_.to_json() for model in both}) == 1
    assert both[0].rule_.groups == (("f", "a"), ("f", "b"), ("m", "a"), ("m", "b"))


def test_columns_of_the_features_as_groups(two: People, fair: FairClassifier) -> None:
    X = two.X.assign(is_m=(two.groups["sex"] == "m").astype(int))
    frame = FairClassifier(GaussianNB(), sensitive_columns="is_m").fit(X, two.y)
    array = FairClassifier(GaussianNB(), sensitive_columns=[-1]).fit(X.to_numpy(), two.y)
    given = FairClassifier(GaussianNB()).fit(X, two.y, sensitive_features=X["is_m"])
    np.testing.assert_array_equal(frame.predict(X), given.predict(X, sensitive_features=X["is_m"]))
    np.testing.assert_array_equal(array.predict(X.to_numpy()), frame.predict(X))
    assert frame.certificate_.gap <= 0.05
    np.testing.assert_array_equal(frame.feature_names_in_, X.columns)
    with pytest.raises(MissingColumnError, match=r"sensitive_columns names 'is_n'; .* Did you mean 'is_m'"):
        FairClassifier(GaussianNB(), sensitive_columns="is_n").fit(X, two.y)
    with pytest.raises(MissingColumnError, match="names 'is_m', but X is an array of 4 columns"):
        FairClassifier(GaussianNB(), sensitive_columns="is_m").fit(X.to_numpy(), two.y)


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (lambda sex: sex.where(sex.index > 2), {}, r"3 of 1,200 tasks have no group: 0, 1, 2; give each task a group"),
        (lambda sex: sex[:-1].to_numpy(), {}, r"sensitive_features has 1,199 rows .* and X has 1,200"),
        (lambda sex: sex.rename(lambda row: row + 5000), {}, r"rows of X are not found in that of sensitive_features"),
        (lambda sex: "sex", {}, r"got str. Columns of X are named with sensitive_columns"),
        (lambda sex: np.zeros((1200, 2, 2)), {}, r"sensitive_features has shape \(1200, 2, 2\)"),
        (lambda sex: np.full(1200, "f"), {}, r"all tasks are of group 'f'"),
        (lambda sex: sex, {"constraints": ["parity(race) <= 0.1"]}, r"speaks of the column 'race'; .* are 'sex'"),
        (lambda sex: sex, {"constraints": ["parity <= 0.1"], "epsilon": 0.1}, r"epsilon=0.1 and constraints are both"),
        (lambda sex: sex, {"constraints": [ReviewBudget(0.1), DemographicParity(0.1)]}, r"a classifier labels all"),
        (lambda sex: sex, {"epsilon": 1.5}, r"epsilon must be a number from 0 to 1"),
        (lambda sex: sex, {"cv": 1}, r"cv must be a whole number of at least 2"),
        (lambda sex: sex, {"cv": 1.5}, r"cv=1.5 is a share of the rows"),
        (lambda sex: sex, {"decision": "fair"}, r"decision='fair' is not known"),
        (lambda sex: sex, {"unknown": "drop"}, r"unknown='drop' is not known"),
        (lambda sex: sex, {"estimator": LinearSVC()}, r"LinearSVC has no predict_proba.*CalibratedClassifierCV"),
        (lambda sex: sex, {"constraints": ["parity(label=perhaps) <= 0.1"]}, r"'perhaps' is not one of the labels"),
    ],
)
def test_what_cannot_be_used_is_refused(two: People, groups: Any, options: dict[str, Any], message: str) -> None:
    model = FairClassifier(**{"estimator": GaussianNB(), **options})
    with pytest.raises((InputError, OptionError), match=message):
        model.fit(two.X, two.y, sensitive_features=groups(two.groups["sex"]))


def test_classes_that_cannot_be_used_are_refused(two: People) -> None:
    with pytest.raises(InputError, match=r"y has one class, 'no'"):
        fitted(two._replace(y=np.full(1200, "no")))
    rare = np.where(np.arange(1200) == 7, "rare", two.y)
    with pytest.raises(InputError, match="two rows of each class"):
        fitted(two._replace(y=rare))
    with pytest.raises(InputError, match="leaves no row of at least one class"):
        fitted(two._replace(y=np.where(np.arange(1200) < 2, "rare", two.y)), cv=0.99)
    model = GaussianNB().fit(two.X, two.y)
    with pytest.raises(InputError, match=r"classes that the fitted estimator does not know: 'rare'"):
        fitted(two._replace(y=rare), model, prefit=True)
    with pytest.raises(InfeasibleError):
        FairClassifier(GaussianNB(), constraints=["rate(label=yes) >= 0.9", "rate(label=no) >= 0.9"]).fit(two.X, two.y)
    with pytest.raises(InputError, match=r"y has no class in 2 rows: 0, 1\."):
        fitted(two._replace(y=pd.Series(two.y).where(two.X.index > 1)))
    with pytest.raises(ValueError, match="Unknown label type"):
        fitted(two._replace(y=np.random.default_rng(0).normal(size=1200)))


def test_groups_that_fit_has_not_seen(two: People, fair: FairClassifier) -> None:
    strange = two.groups["sex"].where(two.groups.index > 3, "x")
    with pytest.raises(InputError, match=r"4 rows are of groups .* 'x'.*FairClassifier\(\.\.\., unknown='own'\)"):
        fair.predict(two.X, sensitive_features=strange)
    with pytest.raises(InputError, match=r"The rule goes by groups; give sensitive_features=... to predict and score"):
        fair.predict(two.X)
    own = copy.deepcopy(fair).set_params(unknown="own", constraints=["odds <= 0.1"])  # the next fit's, not this rule's
    with pytest.warns(DataWarning, match="4 tasks of unknown groups"):
        labels = own.predict(two.X, sensitive_features=strange)
    np.testing.assert_array_equal(labels[:4], fair.estimator_.predict(two.X)[:4])


def test_missing_and_small_groups_as_asked(two: People) -> None:
    sex = two.groups["sex"].where(two.groups.index > 2).where(two.groups.index != 5, "x")
    with pytest.warns(DataWarning, match="left out"):
        model = FairClassifier(GaussianNB(), on_missing_group="drop").fit(two.X, two.y, sensitive_features=sex)
    assert set(model.certificate_.left_out) == {"x", "missing"}
    assert model.held_out_ is not None
    labels = model.predict(two.X, sensitive_features=sex)
    np.testing.assert_array_equal(labels[[0, 1, 2, 5]], model.estimator_.predict(two.X)[[0, 1, 2, 5]])
    asked = FairClassifier(GaussianNB(), on_missing_group="drop", constraints=["parity(sex) <= 0.05"])
    with pytest.warns(DataWarning, match="left out"):
        asked.fit(two.X, two.y, sensitive_features=sex)
    np.testing.assert_array_equal(asked.predict(two.X[:3], sensitive_features=sex[:3]), labels[:3])


def test_labels_keep_their_type(two: People) -> None:
    for y in ((two.y == "yes").astype(int), two.y == "yes", (two.y == "yes").astype(np.float64), two.y.astype(object)):
        model = fitted(two._replace(y=y))
        labels = model.predict(two.X, sensitive_features=two.groups["sex"])
        assert labels.dtype == model.classes_.dtype == np.asarray(y).dtype
        assert gap(model.labels_, two.groups["sex"], model.classes_) <= 0.05


def test_texts_and_sparse_features(two: People) -> None:
    words = [
        " ".join(["good"] * int(s > 0) + ["great"] * int(e > 0) + [f"w{i % 7}"])
        for i, (s, e) in enumerate(two.X[["skill", "effort"]].to_numpy())
    ]
    sex = two.groups["sex"]
    pipe = make_pipeline(CountVectorizer(), LogisticRegression())
    texts = FairClassifier(pipe, cv=0.5).fit(words, two.y, sensitive_features=sex)
    assert texts.certificate_.gap <= texts.certificate_.gap_allowed
    assert set(texts.predict(words[:30], sensitive_features=sex[:30].to_numpy())) <= {"no", "yes"}
    sparse = scipy.sparse.csr_array(np.maximum(two.X.to_numpy(), 0))
    one = FairClassifier(LogisticRegression(), cv=0.5).fit(sparse, two.y, sensitive_features=sex)
    other = FairClassifier(LogisticRegression(), cv=0.5).fit(sparse.toarray(), two.y, sensitive_features=sex)
    np.testing.assert_array_equal(one.rows_, other.rows_)
    assert (
        one.predict(sparse, sensitive_features=sex) == other.predict(sparse.toarray(), sensitive_features=sex)
    ).mean() > 0.99


def test_arguments_of_the_estimator_are_passed_on(two: People) -> None:
    weight = np.where(two.y == "yes", 5.0, 1.0)
    for cv in (3, 0.5):
        model = FairClassifier(GaussianNB(), cv=cv).fit(
            two.X, two.y, sensitive_features=two.groups["sex"], sample_weight=weight
        )
        assert model.predict_proba(two.X)[:, 1].mean() > fitted(two, cv=cv).predict_proba(two.X)[:, 1].mean() + 0.1


def test_a_fitted_one_is_stored(two: People, fair: FairClassifier) -> None:
    """As pickle, which is scikit-learn's; the rule alone also as JSON, without any code inside."""
    constrained = FairClassifier(GaussianNB(), constraints=["parity(sex) <= 0.1"]).fit(
        two.X, two.y, sensitive_features=two.groups
    )
    for model in (fair, constrained):
        again = pickle.loads(pickle.dumps(model))  # noqa: S301 - our own bytes
        labels = model.predict(two.X, sensitive_features=two.groups["sex"])
        np.testing.assert_array_equal(again.predict(two.X, sensitive_features=two.groups["sex"]), labels)
    rule = FairRule.from_json(fair.rule_.to_json())
    posterior = pd.DataFrame(fair.predict_proba(two.X), columns=fair.classes_)
    labels = rule.predict(posterior, two.groups["sex"])
    np.testing.assert_array_equal(labels, fair.predict(two.X, sensitive_features=two.groups["sex"]))
    assert len(repr(fair)) < 60


def test_forests_in_32_bits_and_folds_of_ones_own(two: People) -> None:
    class Single(GaussianNB):  # as gradient boosting libraries do
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X).astype(np.float32)

    splits = [(np.arange(600, 1200), np.arange(600)), (np.arange(600), np.arange(600, 1200))]
    model = fitted(two, Single(), cv=splits)
    assert model.probas_.dtype == np.float32
    assert model.certificate_.gap <= 0.05
    first = Single().fit(two.X.iloc[600:], two.y[600:])
    np.testing.assert_array_equal(model.probas_[:600], first.predict_proba(two.X.iloc[:600]))
    forest = fitted(two, RandomForestClassifier(10, random_state=0), cv=2)
    assert (
        np.ptp(rates(forest.labels_, two.groups["sex"], forest.classes_), axis=0).max()
        <= forest.certificate_.gap_allowed
    )


def test_without_scikit_learn_the_message_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import faircrowd\n"
        "try:\n    faircrowd.FairClassifier\nexcept ImportError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == "FairClassifier needs scikit-learn 1.6 or later; pip install 'faircrowd[sklearn]'.\n"
