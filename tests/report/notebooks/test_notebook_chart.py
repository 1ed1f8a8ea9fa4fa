"""Charts: shown by notebooks in several forms, saved as files, and without what draws them."""

import base64
import json
import re
import struct
import sys
from pathlib import Path

import pytest

import notebook_objects
from faircrowd.errors import MissingPackageError, OptionError
from faircrowd.report.notebooks import Chart

MIME = "application/vnd.vegalite.v5+json"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def chart() -> Chart:
    return notebook_objects.fair().plot()


def test_notebooks_get_a_specification_and_a_picture(chart: Chart) -> None:
    bundle, metadata = chart._repr_mimebundle_()
    assert set(bundle) == {MIME, "image/png", "text/plain"}
    assert bundle[MIME]["$schema"].endswith("/v5.json")
    assert bundle[MIME]["width"] == 560  # "container" is 0 pixels wide in some notebooks
    image = base64.b64decode(bundle["image/png"])
    assert image.startswith(PNG)
    width, height = struct.unpack(">II", image[16:24])
    assert metadata["image/png"] == {"width": width // 2, "height": height // 2}
    assert json.loads(json.dumps(bundle)) == bundle


def test_saved_files(chart: Chart, tmp_path: Path) -> None:
    for ending in ("png", "svg", "html", "json"):
        chart.save(tmp_path / f"chart.{ending}")
        chart.save(str(tmp_path / f"again.{ending.upper()}"))
        assert (tmp_path / f"chart.{ending}").read_bytes() == (tmp_path / f"again.{ending.upper()}").read_bytes()
    assert (tmp_path / "chart.png").read_bytes().startswith(PNG)
    assert (tmp_path / "chart.svg").read_text(encoding="utf-8").startswith("<svg")
    assert json.loads((tmp_path / "chart.json").read_text(encoding="utf-8")) == chart.to_dict()
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "<script" not in page
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert all(address.startswith("http://www.w3.org/") for address in addresses), addresses


def test_other_endings_are_refused(chart: Chart, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"\.png, \.svg, \.html, \.json; got .*chart\.pdf"):
        chart.save(tmp_path / "chart.pdf")
    assert list(tmp_path.iterdir()) == []


def test_without_vl_convert(chart: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'faircrowd\[app\]'"):
        chart.save(tmp_path / "chart.png")
    chart.save(tmp_path / "chart.json")
    bundle, metadata = chart._repr_mimebundle_()
    assert set(bundle) == {MIME, "text/plain"}
    assert "faircrowd[app]" in bundle["text/plain"]
    assert metadata == {}


def test_a_specification_is_a_copy(chart: Chart) -> None:
    chart.to_dict()["layer"].clear()
    assert chart.to_dict()["layer"]


def test_altair(chart: Chart, monkeypatch: pytest.MonkeyPatch) -> None:
    altair = pytest.importorskip("altair")
    assert isinstance(chart.to_altair(), altair.LayerChart)  # Altair checks it by the schema of Vega-Lite
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(OptionError, match="pip install altair"):
        chart.to_altair()


def test_hostile_titles_are_escaped(tmp_path: Path) -> None:
    Chart({"title": "</title><script>1</script>", "mark": "point", "data": {"values": []}}).save(tmp_path / "x.html")
    assert "<script" not in (tmp_path / "x.html").read_text(encoding="utf-8")
