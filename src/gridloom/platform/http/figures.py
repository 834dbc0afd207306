"""The quantities of a sentence as fields of an answer."""

from __future__ import annotations

from gridloom.kernel.figures import figures_of
from gridloom.platform.http.fields import ResponseBody


class FigureView(ResponseBody):
    """A quantity in a text, as the text writes it and as a value."""

    text: str
    value: float
    unit: str


def figures_in(text: str) -> list[FigureView]:
    return [FigureView(text=one.text, value=one.value, unit=one.unit) for one in figures_of(text)]
