"""Pictures in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gridloom_client.commands.rendering import terminal_width

_HEIGHT = 16


def plot_bars(names: Sequence[str], values: Sequence[float]) -> None:
    import plotext

    plotext.clear_figure()
    plotext.bar(list(names), list(values))
    _write(plotext)


def plot_lines(times: Sequence[str], lines: dict[str, Sequence[float]]) -> None:
    """Lines over the same times."""
    import plotext

    plotext.clear_figure()
    for name, values in lines.items():
        plotext.plot(list(values), label=name)
    every = max(1, len(times) // 8)
    plotext.xticks(list(range(1, len(times) + 1, every)), list(times[::every]))
    _write(plotext)


def _write(plotext: object) -> None:
    plotext.plotsize(terminal_width(), _HEIGHT)  # type: ignore[attr-defined]
    if not sys.stdout.isatty():
        plotext.clear_color()  # type: ignore[attr-defined]
    sys.stdout.write(plotext.build() + "\n")  # type: ignore[attr-defined]
