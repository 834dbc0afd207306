"""Pictures in the terminal: lines over quarter-hours, bars over days."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gridloom_client.commands.terminal.rendering import MARKET_ZONE, terminal_width

_HEIGHT = 15
_TICKS = 7
_LEVELS = 5
_MARKERS = (None, "·", "x")
"""Lines can be told apart without colours."""


def plot_lines(
    title: str, times: Sequence[datetime], lines: Mapping[str, Sequence[float | None]], *, utc: bool
) -> None:
    """Lines over the same times; what is unknown leaves a gap."""
    figure = _clear_figure(title)
    for values, marker in zip(lines.values(), _MARKERS, strict=False):
        known = [(index, value) for index, value in enumerate(values) if value is not None]
        if known:
            signal = figure.signal([index for index, _ in known], [value for _, value in known], marker=marker)
            signal.lines()
            figure.draw(signal)
    _name_levels(figure, [value for values in lines.values() for value in values if value is not None])
    _write_figure(figure, [_name_time(time, times, utc=utc) for time in times])
    if len(lines) > 1:
        legend = [f"{marker or '▚'} {name}" for name, marker in zip(lines, _MARKERS, strict=False)]
        sys.stdout.write("  ".join(["    ", *legend]) + "\n")


def plot_bars(title: str, times: Sequence[datetime], values: Sequence[float | None], *, utc: bool) -> None:
    """A bar a time."""
    figure = _clear_figure(title)
    figure.draw(figure.bar(list(range(len(values))), [value or 0.0 for value in values], width=0.6))
    _name_levels(figure, [0.0, *(value for value in values if value is not None)])
    _write_figure(figure, [_name_time(time, times, utc=utc) for time in times])


def _clear_figure(title: str) -> Any:
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.title(title)
    figure.plot_size(terminal_width(), _HEIGHT)
    return figure


def _write_figure(figure: Any, names: Sequence[str]) -> None:
    every = max(1, -(-len(names) // _TICKS))
    indices = list(range(0, len(names), every))
    figure.ruler("x").ticks(indices, [names[index] for index in indices])
    text = figure.build().string(colorless=not sys.stdout.isatty())
    sys.stdout.write("\n".join(line.rstrip() for line in text.splitlines()) + "\n")


def _name_levels(figure: Any, values: Sequence[float]) -> None:
    """Numbers as people write them beside the axis, where the library would write 1e4."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    levels = [low + index * (high - low) / (_LEVELS - 1) for index in range(_LEVELS)] if high > low else [low]
    digits = 0 if high - low >= 20 else 2
    figure.ruler("y").ticks(levels, [f"{level:,.{digits}f}" for level in levels])


def _name_time(time: datetime, times: Sequence[datetime], *, utc: bool) -> str:
    """The hour within a day or two, else the day."""
    instant = time.astimezone(UTC if utc else MARKET_ZONE)
    is_short = (times[-1] - times[0]).days < 2 and times[-1] != times[0]
    return f"{instant:%H:%M}" if is_short else f"{instant:%d %b}"
