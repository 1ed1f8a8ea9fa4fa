"""The page: one HTML file that needs no network and shows names from the data as plain text."""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from faircrowd.report.safe_names import short

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["render_page"]


def render_page(story: dict[str, Any], run: dict[str, Any]) -> str:
    """Return the page of a run as HTML.

    Parameters
    ----------
    story : dict
        From ``fair_story`` or ``plain_story``.
    run : dict
        How to repeat it: ``method``, ``rounds``, ``notes``, ``command`` and ``versions`` (pairs).
    """
    charts = story.get("charts", [])
    frontier = story.get("frontier")
    data = {
        "charts": {chart.name: chart.specification for chart in charts},
        "stops": frontier["stops"] if frontier else story.get("stops", []),
    }
    absent = dict.fromkeys(
        ("frontier", "people", "audit", "note", "certificate", "promise", "estimates", "truth", "errors", "constraints")
    )
    shown = {**absent, "charts": [], "alarms": [], "left_out": [], **story}
    return _template().render(
        story=shown,
        run=run,
        data=_as_script(data),
        style=_part("report.css"),
        script=_part("report.js"),
        vega=_vega() if charts else "",
        short=short,
    )


def _as_script(value: object) -> str:
    """Return JSON that is safe inside a script element: none of its characters can open or close markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


@cache
def _vega() -> str:
    """Return Vega, Vega-Lite and vega-embed as one script, from the package that also draws the images."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return str(bundle).replace("</script", "<\\/script")


@cache
def _template() -> "Template":
    """Return the page's template; to compile it takes as long as all else that a small page needs."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_part("report.html"))


@cache
def _part(name: str) -> str:
    return files("faircrowd.report").joinpath("templates", name).read_text(encoding="utf-8")
