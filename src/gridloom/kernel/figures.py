"""Sentences for people that carry their quantities as values, so that a client shows them in units of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity as a sentence writes it: `300 kW`."""

    text: str
    value: float
    unit: str


class Sentence(str):
    """A text with the quantities in it, in their order."""

    figures: tuple[Figure, ...]

    __slots__ = ("figures",)


def kw(power_kw: float) -> Figure:
    return Figure(f"{power_kw:g} kW", float(power_kw), "kW")


def kwh(energy_kwh: float) -> Figure:
    return Figure(f"{energy_kwh:.6g} kWh", float(energy_kwh), "kWh")


def say(template: str, *parts: object) -> Sentence:
    """The template with its parts for each `{}`: quantities, sentences with theirs, and whatever else has a text."""
    said = Sentence(template.format(*(part.text if isinstance(part, Figure) else part for part in parts)))
    said.figures = tuple(
        figure for part in parts for figure in ((part,) if isinstance(part, Figure) else figures_of(part))
    )
    return said


def join(separator: str, texts: Sequence[str]) -> Sentence:
    return say(separator.join(["{}"] * len(texts)), *texts)


def figures_of(text: object) -> tuple[Figure, ...]:
    """None, of a text that was not made with `say`."""
    return text.figures if isinstance(text, Sentence) else ()
