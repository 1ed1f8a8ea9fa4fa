"""The page in a real browser: quiet, offline, alive, and safe from the names it shows."""

import json
import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import faircrowd as fc
from faircrowd.cli.app import run
from faircrowd.fair.what_if import choices
from faircrowd.report.opening.terms import TERMS

Make = Callable[..., Path]

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script><script>alert(2)</script>",
    "{{7*7}}${7*7}",
    "\u202egnirts\u202d 'quoted' & \u2067",
    "👩‍👩‍👧 ~ \u0628\u0628",
    "long " + "x<b>" * 2500,
    "__proto__",
    "constructor",
    "long " + "x<b>" * 2501,
]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, make: Make) -> Path:
    """Two classes and groups, and a worker with one vote."""
    folder = tmp_path_factory.mktemp("two")
    crowd = fc.simulate_crowd(400, 20, random_state=5)
    votes = pd.concat([crowd.votes, pd.DataFrame({"task": [0], "worker": [99], "label": [1]})])
    votes.to_csv(folder / "votes.csv", index=False)
    tasks = pd.DataFrame({"group": crowd.sensitive_features.map({0: "a", 1: "b"}), "truth": crowd.truth})
    tasks.rename_axis("task").to_csv(folder / "tasks.csv")
    given = ("--tasks", folder / "tasks.csv", "--group", "group", "--truth", "truth", "--epsilon", 0.05)
    return make("aggregate", folder / "votes.csv", *given, out=folder / "run")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, make: Make) -> Path:
    """Three classes and groups; no epsilon was asked for."""
    folder = tmp_path_factory.mktemp("three")
    shares = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2], [0.3, 0.1, 0.6]]
    skills = [(0.4, 0.8)] * 3
    sizes = [0.3, 0.3, 0.4]
    crowd = fc.simulate_crowd(300, 12, group_shares=sizes, class_shares=shares, skill_ranges=skills, random_state=2)
    crowd.votes.to_csv(folder / "votes.csv", index=False)
    crowd.sensitive_features.rename("group").rename_axis("task").to_csv(folder / "tasks.csv")
    given = ("--tasks", folder / "tasks.csv", "--group", "group")
    return make("aggregate", folder / "votes.csv", *given, out=folder / "run")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, make: Make) -> Path:
    """Names that would like to be more than names."""
    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    tasks = [
        {"task": f"{HOSTILE[i % 10]} {i}", "group": HOSTILE[i * 7 % 10], "truth": HOSTILE[i % 3]} for i in range(200)
    ]
    votes = []
    for i, row in enumerate(tasks):
        for worker in rng.choice(10, 5, replace=False):
            favoured = i * 7 % 10 % 3 if rng.random() < 0.6 else int(rng.integers(3))
            votes.append({"task": row["task"], "worker": HOSTILE[worker], "label": HOSTILE[favoured]})
    for name, rows in (("votes", votes), ("tasks", tasks)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    given = ("--tasks", folder / "tasks.jsonl", "--group", "group", "--truth", "truth", "--method", "majority")
    return make("aggregate", folder / "votes.jsonl", *given, "--epsilon", 0.1, out=folder / "run")


def show(browser: Any, stop: int) -> None:
    browser.js(
        "const s = document.getElementById('epsilon'); s.value = arguments[0]; s.dispatchEvent(new Event('input'))",
        stop,
    )
    browser.until("document.documentElement.dataset.stop === String(arguments[0])", stop)


def unfold(browser: Any) -> None:
    browser.js("for (const part of document.querySelectorAll('details')) part.open = true")


def live(browser: Any) -> dict[str, str]:
    script = "return [...document.querySelectorAll('dd[data-live]')].map(e => [e.dataset.live, e.textContent])"
    return dict(browser.js(script))


def table(browser: Any, selector: str) -> list[list[str]]:
    script = "return [...document.querySelectorAll(arguments[0])].map(r => [...r.cells].map(c => c.textContent))"
    return browser.js(script, f"{selector} tbody tr")


def column(browser: Any, place: int) -> list[float]:
    script = (
        "return [...document.querySelectorAll('#worker-table tbody tr')].map(r => r.cells[arguments[0]].dataset.value)"
    )
    return [float(value) if value else np.nan for value in browser.js(script, place)]


@pytest.mark.parametrize("name", ["two", "three", "hostile"])
def test_opens_without_a_word_or_a_request(name: str, browser: Any, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name) / "report.html"
    browser.open(page)
    show(browser, 0)
    assert browser.messages() == []
    assert browser.requests() == [page.as_uri()]
    assert browser.js("return performance.getEntriesByType('resource').length") == 0
    marks = "svg.drawn > [class^=mark-] > *"
    drawn = browser.js(
        "return [...document.querySelectorAll('.chart')].map(e => e.querySelectorAll(arguments[0]).length)", marks
    )
    assert len(drawn) == (4 if name == "three" else 5)  # the truth of three is not known
    assert min(drawn) > 2


def test_slider_shows_what_python_computes(two: Path, browser: Any) -> None:
    folder = two.parent
    tasks = pd.read_csv(folder / "tasks.csv", index_col="task")
    groups = tasks["group"]
    model = fc.DawidSkene(pooling="learned").fit(fc.read_votes(folder / "votes.csv", sensitive_features=groups))
    posterior = model.probas_
    browser.open(two / "report.html")
    last = int(browser.element("#epsilon").get_attribute("max"))
    assert browser.texts("#shown-epsilon") == ["0.050"]
    seen = set()
    for stop in (0, 1, last // 2, last - 1, last):
        show(browser, stop)
        (text,) = browser.texts("#shown-epsilon")
        assert browser.element("#epsilon").get_attribute("aria-valuetext") == text
        fair = fc.FairCrowd(fc.DawidSkene(pooling="learned"), epsilon=float(text)).fit(
            folder / "votes.csv", sensitive_features=groups
        )
        said = fair.certificate_
        right = (fair.labels_ == tasks["truth"]).mean()
        assert live(browser) == {
            "gap": f"{said.gap:.3f}",
            "believed": f"{said.believed_accuracy:.2%}",
            "real": f"{right:.2%}",
            "given_up": f"{100 * (said.believed_accuracy_before - said.believed_accuracy):.2f} points",
            "changed": f"{said.changed}",
        }
        changed = {row["group"]: row["tasks"] for row in said.changes}
        assert table(browser, "#live-groups") == [
            [
                name,
                str((groups == name).sum()),
                f"{said.rates[name]['1']:.1%}",
                threshold_text(t),
                str(changed.get(name, 0)),
            ]
            for name, t in zip("ab", fair.rule_.thresholds, strict=True)
        ]
        same = fc.make_fair(posterior, groups, epsilon=float(text))
        assert f"{same.certificate.believed_accuracy:.2%}" == live(browser)["believed"]
        seen.add((text, live(browser)["changed"]))
    assert ("0.000", live(browser)["changed"]) not in seen
    assert live(browser)["changed"] == "0"


def threshold_text(value: float) -> str:
    return "< 0.001" if 0 < value < 0.0005 else "> 0.999" if 0.9995 <= value < 1 else f"{value:.3f}"


def test_slider_of_many_groups_shows_what_python_computes(three: Path, browser: Any) -> None:
    folder = three.parent
    groups = pd.read_csv(folder / "tasks.csv", index_col="task")["group"]
    browser.open(three / "report.html")
    last = int(browser.element("#epsilon").get_attribute("max"))
    for stop in (0, last // 2, last - 1, last):
        show(browser, stop)
        (text,) = browser.texts("#shown-epsilon")
        fair = fc.FairCrowd(fc.DawidSkene(pooling="learned"), epsilon=float(text))
        labels = fair.fit(folder / "votes.csv", sensitive_features=groups).labels_
        own = fair.estimator_.labels_
        rates = pd.crosstab(groups, labels, normalize="index")
        trusted = pd.Series([fair.probas_.at[task, label] for task, label in labels.items()])
        assert live(browser) == {
            "gap": f"{(rates.max() - rates.min()).max():.3f}",
            "believed": f"{trusted.mean():.2%}",
            "given_up": f"{100 * (fair.probas_.max(axis=1).mean() - trusted.mean()):.2f} points",
            "changed": f"{(labels != own).sum()}",
        }
        changed = (labels != own).groupby(groups).sum()
        assert table(browser, "#live-groups") == [
            [str(g), str((groups == g).sum()), *(f"{rates.at[g, k]:.1%}" for k in range(3)), f"{changed[g]}"]
            for g in range(3)
        ]


def test_slider_by_keyboard_moves_the_point_and_the_thresholds(two: Path, browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(two / "report.html")
    slider = browser.element("#epsilon")
    start = int(slider.get_attribute("value"))
    stops = browser.js("return JSON.parse(document.getElementById('data').textContent).stops")
    gaps, places = [], []
    keys = {Keys.ARROW_LEFT: start - 1, Keys.ARROW_RIGHT: start, Keys.HOME: 0, Keys.END: len(stops) - 1}
    for key, stop in keys.items():
        slider.send_keys(key)
        browser.until("document.documentElement.dataset.stop === String(arguments[0])", stop)
        assert browser.texts("#shown-epsilon") == [stops[stop]["epsilon"]]
        place, of_real = marks(browser, "chosen", "cx")
        assert of_real == place
        gaps.append(stops[stop]["point"][0]["gap"])
        places.append(place)
        thresholds = [row["threshold"] for row in stops[stop]["thresholds"]]
        assert marks(browser, "thresholds", "x1") == marks(browser, "thresholds", "x2")
        assert marks(browser, "thresholds", "x1") == pytest.approx([100 * at for at in thresholds], abs=0.01)
    assert len(set(places)) == 4
    assert places == pytest.approx([gap * places[-1] / gaps[-1] for gap in gaps], abs=0.1)


def test_slider_over_the_limit_of_a_constraint(two: Path, browser: Any, tmp_path: Path, make: Make) -> None:
    from selenium.webdriver.common.keys import Keys

    given = (two.parent / "votes.csv", "--tasks", two.parent / "tasks.csv", "--method", "majority", "--truth", "truth")
    asked = ("--require", "parity(group) <= 0.04", "--require", "changed <= 0.02")
    loose = ("--require", "parity(group) <= 0.2", "--require", "changed <= 0.02")
    assert run([*map(str, ("aggregate", *given, *asked, "--out", tmp_path / "no"))]) == 4
    browser.open(make("aggregate", *given, *loose, out=tmp_path / "run") / "report.html")
    assert [line for line in browser.messages() if line["level"] == "SEVERE"] == []
    stops = browser.js("return JSON.parse(document.getElementById('data').textContent).stops")
    slider = browser.element("#epsilon")
    assert browser.texts("#shown-epsilon") == ["0.2"]
    assert marks(browser, "chosen", "cx")
    slider.send_keys(Keys.HOME)
    browser.until("document.documentElement.dataset.stop === '0'")
    assert (browser.texts("#shown-epsilon"), browser.texts("[data-live=level]")) == (["0"], ["cannot be kept"])
    assert marks(browser, "chosen", "cx") == []
    slider.send_keys(Keys.END)
    browser.until("document.documentElement.dataset.stop === String(arguments[0])", len(stops) - 1)
    assert browser.texts("[data-live=changed]") == [stops[-1]["changed"]]


def marks(browser: Any, name: str, attribute: str) -> list[float]:
    """Where the marks that the slider moves are on their axis, in per cent; those that are hidden are left out."""
    script = (
        "return [...document.querySelectorAll(`[data-marks=${arguments[0]}] > *`)]"
        ".filter(e => e.style.display !== 'none').map(e => e.getAttribute(arguments[1]))"
    )
    return [float(text.rstrip("%")) for text in browser.js(script, name, attribute)]


def test_hostile_names_stay_text(hostile: Path, browser: Any) -> None:
    browser.open(hostile / "report.html")
    stops = browser.js("return JSON.parse(document.getElementById('data').textContent).stops.length")
    for stop in (0, stops - 1):
        show(browser, stop)
    unfold(browser)
    for button in browser.driver.find_elements("css selector", "#worker-table th button"):
        button.click()
    titles = browser.texts("#chart-funnel title")
    assert f"worker: {HOSTILE[0]}\n" in "".join(titles)
    assert not set("\u202e\u202d\u2067") & set("".join(titles))
    assert browser.js("return document.querySelectorAll('script').length") == 2
    assert browser.js("return document.querySelectorAll('img, iframe, object, b:not(.card b)').length") == 0
    assert browser.js("return [...document.querySelectorAll('*')].some(e => e.hasAttribute('onerror'))") is False
    names = set(browser.texts("#live-groups tbody th"))
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3], HOSTILE[5], "__proto__", "constructor"} <= names
    assert HOSTILE[2][:31] + "…" in names
    assert "�gnirts� 'quoted' & �" in names
    written = browser.js("return document.body.innerText") + "".join(browser.texts("svg text"))
    assert not set("\u202e\u202d\u2067") & set(written)
    assert "49" not in "".join(sorted(names))
    assert browser.messages() == []


def test_long_names_are_shortened_and_stay_distinct(hostile: Path, browser: Any) -> None:
    browser.open(hostile / "report.html")
    names = "table:not(.key) bdi, ul:not(.rule) li bdi"
    script = "return [...document.querySelectorAll(arguments[0])].map(e => [e.textContent, e.title])"
    shown = browser.js(script, names)
    assert max(len(text) for text, _ in shown) <= 48
    long = [title for text, title in shown if text.startswith("long x<b>") and text.endswith("…")]
    assert len(long) > 4
    assert all(len(title) == 500 and title.startswith("long x<b>x<b>") for title in long)
    assert all(title == "" for text, title in shown if not text.endswith("…"))
    data = browser.js("return JSON.parse(document.getElementById('data').textContent).charts.posterior.data.values")
    assert len({row["group"] for row in data}) == 10


def test_workers_sort_by_click_and_by_keyboard(two: Path, browser: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(two / "report.html")
    unfold(browser)
    heads = browser.driver.find_elements("css selector", "#worker-table thead th")
    names = [head.text for head in heads]
    votes, gap, worker = names.index("votes"), names.index("own gap"), names.index("worker")
    before = table(browser, "#worker-table")

    heads[votes].find_element("css selector", "button").click()
    counts = column(browser, votes)
    assert counts == sorted(counts, reverse=True)
    assert max(counts) >= 100 > 99 >= min(counts)  # as texts they would be in another order
    assert sorts(browser)[votes] == "descending"

    heads[votes].find_element("css selector", "button").send_keys(Keys.ENTER)
    assert column(browser, votes) == sorted(counts)
    assert sorts(browser)[votes] == "ascending"

    for _ in range(2):  # what is not known is last either way
        heads[gap].find_element("css selector", "button").send_keys(Keys.SPACE)
        found = column(browser, gap)
        assert np.isnan(found[-1])
        assert not np.isnan(found[:-1]).any()
    assert found[:-1] == sorted(found[:-1])
    assert sorts(browser) == [
        "ascending" if i == gap else "none" if sort else None for i, sort in enumerate(sorts(browser))
    ]

    heads[worker].find_element("css selector", "button").click()
    ids = [int(row[worker]) for row in table(browser, "#worker-table")]
    assert ids == sorted(ids)
    assert sorted(table(browser, "#worker-table")) == sorted(before)


def sorts(browser: Any) -> list[str | None]:
    script = "return [...document.querySelectorAll('#worker-table thead th')].map(e => e.getAttribute('aria-sort'))"
    return browser.js(script)


@pytest.mark.parametrize("name", ["two", "three", "hostile"])
def test_fits_a_phone(name: str, browser: Any, request: pytest.FixtureRequest) -> None:
    browser.emulate(width=390)
    browser.open(request.getfixturevalue(name) / "report.html")
    assert browser.js("return [document.documentElement.scrollWidth, document.body.scrollWidth]") == [390, 390]
    widths = browser.js("return [...document.querySelectorAll('.chart svg')].map(e => e.getBoundingClientRect().right)")
    assert max(widths) <= 390


def test_light_and_dark_are_readable(two: Path, browser: Any) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        browser.emulate(scheme=scheme)
        browser.open(two / "report.html")
        ground, ink = colour(browser, "body", "backgroundColor"), colour(browser, "body", "color")
        grounds.append(ground)
        assert contrast(ink, ground) > 7
        assert contrast(colour(browser, ".small", "color"), ground) > 4.5
        for chart in ("frontier", "rates", "posterior", "reliability", "funnel"):
            assert contrast(colour(browser, f"#chart-{chart} .axis text", "fill"), ground) > 4.5
            assert contrast(colour(browser, f"#chart-{chart} text.title", "fill"), ground) > 7
        assert contrast(colour(browser, "#chart-reliability .mark-text text", "fill"), ground) > 4.5
    assert grounds[0] != grounds[1]


def test_what_is_off_is_readable_and_real_accuracy_moves_with_the_slider(
    browser: Any, make: Make, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(2, size=200)
    seen = np.where(rng.random(200) < 0.3, 1 - truth, truth)
    votes = [(i, w, seen[i] if rng.random() < 0.9 else 1 - seen[i]) for i in range(200) for w in range(5)]
    pd.DataFrame(votes, columns=["task", "worker", "label"]).to_csv(tmp_path / "votes.csv", index=False)
    group = (rng.random(200) < 0.3 + 0.4 * seen).astype(int)
    pd.DataFrame({"group": group, "truth": truth}).rename_axis("task").to_csv(tmp_path / "tasks.csv")
    given = ("--tasks", tmp_path / "tasks.csv", "--group", "group", "--truth", "truth", "--epsilon", 0.05)
    out = make("aggregate", tmp_path / "votes.csv", *given, out=tmp_path / "run")
    fair = fc.FairCrowd(fc.DawidSkene(pooling="learned")).fit(
        tmp_path / "votes.csv", sensitive_features=dict(enumerate(group))
    )
    for scheme in ("light", "dark"):
        browser.emulate(scheme=scheme)
        browser.open(out / "report.html")
        for ground in (colour(browser, "body", "backgroundColor"), colour(browser, ".card", "backgroundColor")):
            assert contrast(colour(browser, ".card b.off", "color"), ground) > 4.5
            assert contrast(colour(browser, "tr.off td", "color"), ground) > 4.5
    for stop in (0, int(browser.element("#epsilon").get_attribute("max"))):
        show(browser, stop)
        (text,) = browser.texts("#shown-epsilon")
        (choice,) = choices(fair.result_, [float(text)], truth.astype(np.int32))
        assert live(browser)["real"] == f"{choice.real_accuracy:.2%}"
    assert browser.messages() == []


def test_paper_has_no_slider_and_dark_ink(two: Path, browser: Any) -> None:
    browser.emulate(scheme="dark")
    browser.open(two / "report.html")
    assert browser.element("#epsilon").is_displayed()
    browser.emulate(width=700, scheme="dark", media="print")
    assert not browser.element("#epsilon").is_displayed()
    assert colour(browser, "body", "backgroundColor") == (255, 255, 255)
    assert contrast(colour(browser, "#chart-frontier .axis text", "fill"), (255, 255, 255)) > 7
    widths = browser.js("return [...document.querySelectorAll('.chart svg')].map(e => e.getBoundingClientRect().right)")
    assert max(widths) <= 700
    high = browser.js("const e = document.querySelector('.tall'); return e.scrollHeight - e.clientHeight")
    assert high == 0


def colour(browser: Any, selector: str, name: str) -> tuple[int, ...]:
    text = browser.js("return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]", selector, name)
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def contrast(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """The contrast of two colours as the web's accessibility guidelines count it."""

    def light(colour: tuple[int, ...]) -> float:
        parts = np.array(colour) / 255
        return float(
            np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]
        )

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_details_are_folded_and_open_on_paper(two: Path, browser: Any) -> None:
    """On a screen what a manager needs is short; paper shows all, also where no script runs."""
    high = "return document.getElementById('workers').getBoundingClientRect().height"
    browser.open(two / "report.html")
    folded = browser.js(high)
    assert browser.element("#frontier").is_displayed()
    assert browser.js("return [...document.querySelectorAll('details')].some(e => e.open)") is False
    browser.emulate(media="print")
    assert browser.js(high) > folded + 300
    browser.emulate()
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert browser.js("return [...document.querySelectorAll('details')].every(e => e.open)") is True


@pytest.mark.parametrize("width", [1100, 390])
def test_terms_are_explained_by_pointer_and_by_keyboard(width: int, two: Path, browser: Any) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    browser.emulate(width=width)
    browser.open(two / "report.html")
    seen = "return [...document.querySelectorAll('.meaning')].filter(e => e.checkVisibility()).map(e => e.textContent)"
    assert browser.js(seen) == []
    ActionChains(browser.driver).send_keys(Keys.TAB).perform()
    assert browser.js(seen) == [TERMS["vote"]]
    box = browser.js("return document.querySelector('.term:focus .meaning').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["right"] <= width
    ActionChains(browser.driver).send_keys(Keys.ESCAPE).perform()
    assert browser.js(seen) == []
    ActionChains(browser.driver).move_to_element(browser.element(".lead .term:nth-of-type(2)")).perform()
    assert browser.js(seen) == [TERMS["gap"]]
    ActionChains(browser.driver).move_by_offset(-5, 0).move_to_element(browser.element("h1")).perform()
    assert browser.js("return document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.fixture(scope="module")
def constrained(two: Path, make: Make) -> Path:
    given = (two.parent / "votes.csv", "--tasks", two.parent / "tasks.csv", "--method", "majority", "--note", "A test.")
    asked = ("--require", "parity(group) <= 0.1", "--require", "changed <= 0.2")
    return make("aggregate", *given, *asked, out=two.parent / "constrained")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["two", "hostile", "constrained"])
def test_axe_core_finds_nothing(name: str, scheme: str, browser: Any, request: pytest.FixtureRequest) -> None:
    page = request.getfixturevalue(name) / "report.html"
    browser.emulate(scheme=scheme)
    browser.open(page)
    unfold(browser)
    browser.element(".term").send_keys("")  # a meaning that is shown is checked, too
    browser.js(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = browser.driver.execute_async_script(
        "axe.run(document).then(found => arguments[arguments.length - 1](found.violations))"
    )
    assert [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found] == []
