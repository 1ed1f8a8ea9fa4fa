"""The page: one HTML file that needs no network and shows names from the data as plain text."""

import base64
import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from faircrowd._extras import need
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import picture
from faircrowd.report.drawing.svg_chart import draw_chart
from faircrowd.report.opening.terms import TERMS
from faircrowd.report.safe_names import short

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["page_part", "page_template", "render_page"]

_DECIMALS = 6
_PARTS = (
    *("note", "constraints", "frontier", "truth", "estimates", "errors"),
    *("people", "audit", "agreement", "impact", "certificate", "promise"),
)
"""Parts of the page that a story may lack: None for the template, which takes no name that is not given."""
_LISTS = ("charts", "alarms", "left_out")
"""The same, for what is a list."""


def render_page(story: dict[str, Any], run: dict[str, Any]) -> str:
    """Return the page of a run as HTML.

    Parameters
    ----------
    story : dict
        From ``fair_story``, ``constrained_story`` or ``plain_story``.
    run : dict
        How to repeat it: ``method``, ``rounds``, ``notes``, ``command`` and ``versions`` (pairs); and what the page is
        ``about``, from ``about_run``.
    """
    need("jinja2", "app", "The page", ", or leave the page out")
    charts = story.get("charts", [])
    frontier = story.get("frontier")
    data = {
        "charts": {chart.name: _rounded(chart.specification) for chart in charts},
        "stops": frontier["stops"] if frontier else story.get("stops", []),
    }
    shown = {"group_heading": "group", **dict.fromkeys(_PARTS), **dict.fromkeys(_LISTS, ()), **story}
    return page_template("report.html").render(
        story=shown,
        run=run,
        data=_as_script(data),
        style=page_part("report.css"),
        script=page_part("report.js"),
        drawn={chart.name: _drawn(chart.specification) for chart in charts},
        short=short,
        terms=TERMS,
    )


def _as_script(value: object) -> str:
    """Return JSON that is safe inside a script element: none of its characters can open or close markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _rounded(value: Any) -> Any:
    """Return a chart with its numbers rounded to what nobody can see."""
    if isinstance(value, Mapping):
        return {name: _rounded(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(part) for part in value]
    return round(value, _DECIMALS) if isinstance(value, float) else value


def _drawn(chart: Specification) -> str:
    """Return a chart as HTML; one that asks for more than the page draws itself as a picture."""
    found = draw_chart(chart)
    if found is not None:
        return found
    content = base64.b64encode(picture(chart, "svg")).decode()
    return f'<img class="picture" alt="" src="data:image/svg+xml;base64,{content}">'


@cache
def page_template(name: str) -> "Template":
    """Return the template of a page; to compile it takes as long as all else that a small page needs."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(page_part(name))


@cache
def page_part(name: str) -> str:
    """Return a file that pages are made of."""
    return files("faircrowd.report").joinpath("templates", name).read_text(encoding="utf-8")
