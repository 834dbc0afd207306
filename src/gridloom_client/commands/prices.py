"""`gridloom prices`: a day's published prices and the forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gridloom_client.commands.terminal.asking import confirm
from gridloom_client.commands.terminal.ending import CommandGroup, Misunderstood
from gridloom_client.commands.terminal.fields import print_answer, print_rows, report_done
from gridloom_client.commands.terminal.finding import find_reported
from gridloom_client.commands.terminal.options import (
    USUAL,
    Confirmed,
    ListEnd,
    ListStart,
    MarketDay,
    Options,
    connect,
)
from gridloom_client.commands.terminal.plots import plot_lines
from gridloom_client.commands.terminal.rendering import print_data, print_table
from gridloom_client.commands.terminal.windows import choose_day, market_day, open_window, read_instant, service_time
from gridloom_client.errors import ProblemError
from gridloom_client.literals import DeviationKind, PriceSeries

if TYPE_CHECKING:
    from gridloom_client.client import Client

QUARTER = timedelta(minutes=15)

app = CommandGroup(
    name="prices",
    help="Prices, published and forecast: show, forecast, deviations, withdraw.",
    group="Using the platform",
)


@app.default
@app.command
def show(
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


@app.command
def forecast(series: PriceSeries, *, day: MarketDay = None, options: Options = USUAL) -> None:
    """Show the forecast of any series for a market day: what is exceeded in 90, 50 and 10 of 100 cases.

    For example:

        gridloom prices forecast IDA1_DE_LU --day tomorrow
        gridloom prices forecast FCR_DE --day tomorrow -o json

    Parameters
    ----------
    series
        Which prices.
    """
    with connect(options) as client:
        chosen = choose_day(day, service_time(client))
        found = client.forecasts.of(series, delivery_day=chosen)
    bands = {"P50": "p50", "P10": "p10", "P90": "p90"}
    if found.values:
        print_answer(f"Forecast of {series}", found, found.values, {"When": "start..end", **bands}, options)
    else:
        print_answer(f"Forecast of {series}", found, found.forecast, {"Time": "time", **bands}, options)


@app.command
def deviations(
    kind: DeviationKind,
    *,
    asset: str | None = None,
    tolerance: float | None = None,
    start: ListStart = None,
    end: ListEnd = None,
    options: Options = USUAL,
) -> None:
    """List what was settled at another price than the published one.

    For example:

        gridloom prices deviations wholesale-trades --asset "Elbe 1" --tolerance 0.5

    Parameters
    ----------
    kind
        wholesale-trades, fcr or afrr-capacity.
    asset
        Only those of this battery, by id or name.
    tolerance
        Only those that differ by more.
    """
    with connect(options) as client:
        id = find_reported(client, asset).id if asset is not None else None
        found = client.reference_prices.deviations(kind, asset_id=id, tolerance=tolerance, **open_window(start, end))
        columns = {
            "Time": "time",
            "Reference": "reference",
            "Settled": "settled_price",
            "Published": "published_price",
            "Difference": "difference",
            "Series": "series",
            "Asset": "asset_id",
        }
        print_rows("Deviations", found, columns, options)


@app.command
def withdraw(
    series: PriceSeries, start: datetime, end: datetime, *, yes: Confirmed = False, options: Options = USUAL
) -> None:
    """Withdraw prices that were posted by hand, so that those of the feed hold; for the operator.

    For example:

        gridloom prices withdraw DAY_AHEAD_DE_LU 2026-11-16 2026-11-17 --yes

    Parameters
    ----------
    series
        Which prices.
    start
        From when; without an offset it is market time.
    end
        Until when.
    """
    first, last = read_instant(start), read_instant(end)
    if first >= last:
        raise Misunderstood("The start lies after the end.")
    with connect(options) as client:
        if not confirm(f"Withdraw the posted prices of {series}?", yes=yes):
            return
        client.reference_prices.withdraw(series, start=first, end=last)
    report_done("Withdrawn.", options)


def _read_forecast(client: Client, day: date) -> dict[datetime, tuple[float, float, float]]:
    """None of a day for which there is none."""
    try:
        points = client.forecasts.day_ahead(delivery_day=day).forecast
    except ProblemError:
        return {}
    return {point.time: (point.p10, point.p50, point.p90) for point in points}


def _round_cents(value: float | None) -> str | None:
    return None if value is None else f"{value:,.2f}"
