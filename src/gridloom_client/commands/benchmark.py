"""`gridloom benchmark`: what each market day earned, beside what it could have and what others did."""

from __future__ import annotations

from typing import Any

from gridloom_client.commands.revenue import OnlyKind, WindowStart
from gridloom_client.commands.terminal.ending import Misunderstood
from gridloom_client.commands.terminal.fields import print_rows
from gridloom_client.commands.terminal.finding import find_reported
from gridloom_client.commands.terminal.options import USUAL, AssetName, Options, WindowEnd, connect
from gridloom_client.commands.terminal.progress import waiting
from gridloom_client.commands.terminal.windows import past_window, service_time

_METHODS = {"virtual": "virtual_asset", "portfolio": "portfolio", "battery": "physical_asset", "fleet": "fleet"}


def benchmark(
    asset: AssetName,
    *,
    start: WindowStart = None,
    end: WindowEnd = None,
    kind: OnlyKind = None,
    options: Options = USUAL,
) -> None:
    """Compare what each market day earned with the best day-ahead schedule, and with batteries of the same kind.

    For example:

        gridloom benchmark "Husum 1" --start 2026-11-01
        gridloom benchmark North --kind fleet -o csv > days.csv
    """
    with connect(options) as client, waiting("comparing"):
        found = find_reported(client, asset, kind)
        if found.kind not in _METHODS:
            raise Misunderstood("There is a benchmark of batteries, virtual batteries, fleets and portfolios.")
        first, last = past_window(start, end, service_time(client), 30)
        read: Any = getattr(client.revenue, f"benchmark_of_{_METHODS[found.kind]}")
        days = read(found.id, start=first, end=last)
    columns = {
        "Day": "day",
        "Earned EUR": "earned",
        "Best EUR": "foresight",
        "Of the best %": "%share",
        "EUR per MW": "per_mw",
        "Others EUR per MW": "peers.median",
        "Lower quartile": "peers.quartiles.lower",
        "Upper quartile": "peers.quartiles.upper",
    }
    print_rows(f"Benchmark of {found.name}", days, columns, options)
