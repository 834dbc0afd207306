"""`gridloom prices`: a day's published prices and the forecast."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.options import USUAL, MarketDay, Options, connect
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.commands.terminal.windows import choose_day, market_day, service_time
from gridloom_client.errors import ProblemError
from gridloom_client.literals import PriceSeries

if TYPE_CHECKING:
    from gridloom_client.client import Client

QUARTER = timedelta(minutes=15)


def prices(
    *,
    day: MarketDay = None,
    series: PriceSeries = "DAY_AHEAD_DE_LU",
    plot: Annotated[bool, Parameter(negative="")] = False,
    options: Options = USUAL,
) -> None:
    """Show a market day's published prices and, for the day-ahead auction, the forecast; EUR/MWh.

    For example:

        gridloom prices --day tomorrow --plot
        gridloom prices --day 2026-11-17 -o csv > prices.csv
        gridloom prices --series REBAP_DE --day 2026-11-14

    Parameters
    ----------
    series
        Which published prices.
    plot
        Draw them instead of listing them.
    """
    with connect(options) as client:
        chosen = choose_day(day, service_time(client))
        start, end = market_day(chosen)
        published: dict[datetime, float] = {}
        for one in client.reference_prices.list(series, start=start, end=end):
            instant = one.start
            while instant < one.end:
                published[instant] = float(one.price)
                instant += QUARTER
        expected = _read_forecast(client, chosen) if series == "DAY_AHEAD_DE_LU" else {}
    times = sorted({*published, *expected})
    rows = [
        {
            "time": time,
            "price": published.get(time),
            "p10": expected[time][0] if time in expected else None,
            "p50": expected[time][1] if time in expected else None,
            "p90": expected[time][2] if time in expected else None,
        }
        for time in times
    ]
    if print_data(rows, options):
        return
    if plot and times:
        lines: dict[str, Sequence[float | None]] = {}
        if published:
            lines["published"] = [published.get(time) for time in times]
        if expected:
            lines["forecast P50"] = [expected[time][1] if time in expected else None for time in times]
        plot_lines(f"{series} {chosen}: EUR/MWh", times, lines, utc=options.utc)
        return
    shown = [
        [
            time,
            _round_cents(published.get(time)),
            *(_round_cents(expected[time][index]) if time in expected else None for index in (1, 0, 2)),
        ]
        for time in times
    ]
    columns = ["Time", "Published EUR/MWh", "Forecast P50", "P10", "P90"]
    print_table("Prices", columns, shown, options)


def _read_forecast(client: Client, day: date) -> dict[datetime, tuple[float, float, float]]:
    """None of a day for which there is none."""
    try:
        points = client.forecasts.day_ahead(delivery_day=day).forecast
    except ProblemError:
        return {}
    return {point.time: (point.p10, point.p50, point.p90) for point in points}


def _round_cents(value: float | None) -> str | None:
    return None if value is None else f"{value:,.2f}"
