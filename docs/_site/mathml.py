"""Formulas as MathML, which browsers draw themselves: no script, and nothing from a network."""

import re
from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def _mathml(tex: str, as_block: bool) -> str:
    return tex2mathml(re.sub(r"\\big(?![A-Za-z])", "", tex), as_block=as_block)  # brackets grow by themselves


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(_mathml(node.astext(), as_block=False))


def _block(writer: Any, node: Any) -> None:
    writer.body.append(f'<div class="math">{_mathml(node.astext(), as_block=True)}</div>')


def _nothing(writer: Any, node: Any) -> None:
    pass


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx."""
    app.add_html_math_renderer("mathml", (_inline, _nothing), (_block, _nothing))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
