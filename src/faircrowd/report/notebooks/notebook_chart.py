"""A chart for notebooks and files: a Vega-Lite specification that can draw itself."""

import base64
import html
import json
import struct
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from faircrowd._types import PathOrText
from faircrowd.errors import MissingPackageError, OptionError
from faircrowd.report.charts.page_chart import Specification
from faircrowd.report.charts.vega_lite import PNG_SCALE, of_fixed_width, picture

__all__ = ["Chart"]

_MIME = "application/vnd.vegalite.v5+json"
_SCHEMA_OF_NOTEBOOKS = "https://vega.github.io/schema/vega-lite/v5.json"
"""JupyterLab 4 and VS Code draw version 5 of Vega-Lite and none that is newer; our charts are the same in 5 and 6."""
_ENDINGS = (".png", ".svg", ".html", ".json")


class Chart:
    """A chart: shown by notebooks, saved as a picture, or taken on as a Vega-Lite specification.

    As the last line of a cell it shows itself: as an interactive chart in JupyterLab and VS Code, as a picture
    elsewhere.

    Parameters
    ----------
    specification : dict
        Of Vega-Lite, with its data.

    Examples
    --------
    >>> from faircrowd import MajorityVote, FairCrowd, simulate_crowd
    >>> crowd = simulate_crowd(200, 20, random_state=0)
    >>> fair = FairCrowd(MajorityVote()).fit(crowd.votes, sensitive_features=crowd.sensitive_features)
    >>> fair.frontier_.plot()
    Chart('What a smaller gap costs')
    """

    def __init__(self, specification: Specification) -> None:
        self._specification = specification

    def to_dict(self) -> dict[str, Any]:
        """Return the specification: Vega-Lite 6, as wide as what it is put into."""
        return deepcopy(self._specification)

    def to_json(self) -> str:
        """Return the specification as JSON."""
        return json.dumps(self._specification, ensure_ascii=False, allow_nan=False, indent=2)

    def to_altair(self) -> Any:
        """Return an Altair chart, to change or combine it; needs the package altair."""
        try:
            import altair
        except ImportError:
            raise OptionError("Altair is not installed; pip install altair. to_dict() has the specification.") from None
        return altair.Chart.from_dict(of_fixed_width(self._specification))

    def save(self, path: PathOrText) -> None:
        """Write the chart to a file.

        Parameters
        ----------
        path : path
            Its ending says what is written: .png, .svg, .html (a page with the picture in it, which needs no network)
            or .json (the specification).
        """
        place = Path(path)
        kind = place.suffix.lower()
        if kind not in _ENDINGS:
            raise OptionError(f"A chart is saved as {', '.join(_ENDINGS)}; got {str(path)!r}.", parameter="path")
        place.write_bytes(self._content(kind))

    def _content(self, kind: str) -> bytes:
        if kind == ".json":
            return self.to_json().encode() + b"\n"
        if kind != ".html":
            return picture(self._specification, kind[1:])
        page = (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(self.title)}</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            "<style>body { margin: 1rem; background: white; } svg { max-width: 100%; height: auto; }</style></head>"
            f"<body>\n{picture(self._specification, 'svg').decode()}\n</body></html>\n"
        )
        return page.encode()

    @property
    def title(self) -> str:
        """What it shows."""
        return str(self._specification.get("title", ""))

    def __repr__(self) -> str:
        return f"Chart({self.title!r})"

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Mapping[str, int]]]:
        """Return all forms in which a notebook may show the chart."""
        shown = of_fixed_width(self._specification) | {"$schema": _SCHEMA_OF_NOTEBOOKS}
        bundle: dict[str, Any] = {_MIME: shown, "text/plain": repr(self)}
        try:
            image = picture(self._specification, "png")
        except MissingPackageError as error:  # without vl-convert, notebooks that know Vega-Lite draw it all the same
            return {**bundle, "text/plain": f"{self!r}. {error}"}, {}
        width, height = struct.unpack(">II", image[16:24])
        size = {"width": width // PNG_SCALE, "height": height // PNG_SCALE}
        return {**bundle, "image/png": base64.b64encode(image).decode()}, {"image/png": size}
