"""`gridloom revenue` and `gridloom statement`: what was earned, and who pays whom."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from datetime import datetime, time
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from cyclopts import Parameter

from gridloom_client.commands.terminal.finding import Kind, find_reported
from gridloom_client.commands.terminal.options import USUAL, AssetName, Options, WindowEnd, connect
from gridloom_client.commands.terminal.plots import plot_bars
from gridloom_client.commands.terminal.progress import waiting
from gridloom_client.commands.terminal.rendering import MARKET_ZONE, print_data, print_table, short_id, show_lines
from gridloom_client.commands.terminal.windows import past_window, service_time

if TYPE_CHECKING:
    from gridloom_client.answers import RevenueDataPoints, Statement

PRODUCTS: Final = {
    "revenue_wholesale": "Wholesale",
    "revenue_fcr": "FCR",
    "revenue_afrr_capacity": "aFRR capacity",
    "revenue_afrr_energy": "aFRR energy",
    "revenue_tolling": "Tolling",
    "revenue_vba": "Auction",
}
TOTAL: Final = "revenue_total_revenue"
Resolution: TypeAlias = Literal["raw", "15-minute", "hourly", "daily", "monthly"]
StatementResolution: TypeAlias = Literal["15-minute", "hourly", "daily", "monthly"]
Row: TypeAlias = dict[str, Any]
WindowStart: TypeAlias = Annotated[
    datetime | None,
    Parameter(help="From when; without an offset it is market time. The last 30 days when left out."),
]
OnlyKind: TypeAlias = Annotated[
    Kind | None,
    Parameter(help="Only look among virtual assets, portfolios, batteries, fleets or organisations."),
]
_METHODS: Final[Mapping[Kind, str]] = {
    "virtual": "virtual_asset",
    "portfolio": "portfolio",
    "battery": "physical_asset",
    "fleet": "fleet",
    "organisation": "organisation",
}
"""The last words of the SDK's methods `revenue.of_…` and `revenue.statement_of_…`."""


def revenue(
    asset: AssetName,
    *,
    start: WindowStart = None,
    end: WindowEnd = None,
    resolution: Resolution = "daily",
    kind: OnlyKind = None,
    plot: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show the revenue of a virtual battery, portfolio, battery or fleet by product, in EUR.

    For example:

        gridloom revenue "Elbe 1" --plot
        gridloom revenue "Elbe 1" --start 2026-01-01 --end 2027-01-01 --resolution monthly
        gridloom revenue "Elbe 1" --resolution 15-minute -o parquet > revenue.parquet

    Parameters
    ----------
    resolution
        raw, 15-minute, hourly, daily or monthly.
    plot
        Draw the totals as well.
    """
    with connect(options) as client, waiting("adding up"):
        found = find_reported(client, asset, kind)
        first, last = past_window(start, end, service_time(client), 30)
        asked = "daily" if resolution == "monthly" else resolution
        report: Callable[..., RevenueDataPoints] = getattr(client.revenue, f"of_{_METHODS[found.kind]}")
        points = report(found.id, start=first, end=last, resolution=asked, datapoints=[TOTAL, *PRODUCTS])
    rows = rows_of_points(points)
    if resolution == "monthly":
        rows = sum_by_month(rows)
    if print_data(rows, options):
        return
    earning = [name for name in PRODUCTS if any(row[name] for row in rows)]
    total: Row = {name: sum(row[name] or 0.0 for row in rows) for name in ("total", *PRODUCTS)}
    shown = [[row["time"], _round_cents(row["total"]), *(_round_cents(row[name]) for name in earning)] for row in rows]
    shown.append(["Total", _round_cents(total["total"]), *(_round_cents(total[name]) for name in earning)])
    print_table(f"Revenue of {found.name}", ["Time", "EUR", *(PRODUCTS[name] for name in earning)], shown, options)
    show_lines(
        "What the batteries earned, auction price and tolls counted as income. Who pays and who keeps it: "
        f"gridloom statement {shlex.quote(asset)}."
    )
    if plot and rows:
        plot_bars("Revenue EUR", [row["time"] for row in rows], [row["total"] for row in rows], utc=options.utc)


def statement(
    asset: AssetName,
    *,
    start: WindowStart = None,
    end: WindowEnd = None,
    resolution: StatementResolution = "daily",
    kind: OnlyKind = None,
    options: Options = USUAL,
) -> None:
    """Who pays and who earns, line by line, from your side; EUR, and what comes in is positive.

    For example:

        gridloom statement "Elbe 1"
        gridloom statement "Elbe 1" --start 2026-10-01 --end 2026-11-01 --resolution monthly
        gridloom statement Husum --kind battery -o csv > statement.csv

    Parameters
    ----------
    resolution
        15-minute, hourly, daily or monthly.
    """
    with connect(options) as client, waiting("adding up"):
        found = find_reported(client, asset, kind)
        first, last = past_window(start, end, service_time(client), 30)
        asked = "daily" if resolution == "monthly" else resolution
        read: Callable[..., Statement] = getattr(client.revenue, f"statement_of_{_METHODS[found.kind]}")
        seen = read(found.id, start=first, end=last, resolution=asked)
        names = {str(one.id): one.name for one in client.organisations.list()}
    lines: dict[tuple[datetime, str, str], Any] = {}
    for line in seen.lines:
        instant = _start_month(line.time) if resolution == "monthly" else line.time
        key = (instant, line.line, line.counterparty)
        lines[key] = lines.get(key, 0) + line.amount
    rows = [{"time": key[0], "line": key[1], "amount": amount, "counterparty": key[2]} for key, amount in lines.items()]
    if print_data(rows, options):
        return
    shown = [(row["time"], row["line"], row["amount"], _name_party(row["counterparty"], names)) for row in rows]
    print_table(f"Statement of {found.name}", ["Time", "Line", "EUR", "With"], shown, options)
    show_lines(
        f"Total {seen.total:,.2f} EUR",
        "From your side: auctions and tolls are taken off where you pay them, and added where you are paid.",
        f"What the batteries earned for all parties: gridloom revenue {shlex.quote(asset)}.",
    )


def _name_party(party: str, names: Mapping[str, str]) -> str:
    return names.get(party) or (short_id(party) if len(party) == 36 else party)


def rows_of_points(points: RevenueDataPoints) -> list[Row]:
    """A row per time, from the first in which something was earned to the last."""
    by_time: dict[datetime, Row] = {}
    for name, series in points.data.items():
        for point in series:
            row = by_time.setdefault(point.time, {"time": point.time, "total": None, **dict.fromkeys(PRODUCTS)})
            row["total" if name == TOTAL else name] = point.value
    rows = [by_time[instant] for instant in sorted(by_time)]
    earning = [index for index, row in enumerate(rows) if any(row[name] for name in ("total", *PRODUCTS))]
    return rows[earning[0] : earning[-1] + 1] if earning else []


def sum_by_month(rows: list[Row]) -> list[Row]:
    months: dict[datetime, Row] = {}
    for row in rows:
        start = _start_month(row["time"])
        month = months.setdefault(start, {"time": start, "total": 0.0, **dict.fromkeys(PRODUCTS, 0.0)})
        for name in ("total", *PRODUCTS):
            month[name] += row[name] or 0.0
    return list(months.values())


def _start_month(instant: datetime) -> datetime:
    first = instant.astimezone(MARKET_ZONE).date().replace(day=1)
    return datetime.combine(first, time(), MARKET_ZONE)


def _round_cents(value: float | None) -> str | None:
    return None if value is None else f"{value:,.2f}"
