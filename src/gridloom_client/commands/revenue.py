"""`gridloom revenue`"""

from __future__ import annotations

from datetime import datetime, time, timedelta
from typing import Any, Final

from gridloom_client.answers.reporting import DataPoints
from gridloom_client.choices import ReportResolution
from gridloom_client.commands.ending import ending
from gridloom_client.commands.finding import find_id
from gridloom_client.commands.options import USUAL, Options, connect
from gridloom_client.commands.plots import plot_bars
from gridloom_client.commands.rendering import MARKET_ZONE, print_data, print_table
from gridloom_client.commands.service_clock import service_time

PRODUCTS: Final = {
    "revenue_wholesale": "Wholesale",
    "revenue_fcr": "FCR",
    "revenue_afrr_capacity": "aFRR capacity",
    "revenue_afrr_energy": "aFRR energy",
    "revenue_tolling": "Tolling",
    "revenue_vba": "Auction",
}


@ending
def revenue(
    asset: str,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    resolution: ReportResolution = "daily",
    plot: bool = False,
    options: Options = USUAL,
) -> None:
    """What a virtual battery earned, by product, in EUR.

    Parameters
    ----------
    asset
        Its id, the end of it, or its name.
    start
        From when; without an offset it is market time. The last 30 days when left out.
    end
        Until when, exclusive.
    resolution
        raw, 15-minute, hourly or daily.
    plot
        Draw the totals as well.
    """
    with connect(options) as client:
        owner = client.auth.me().organisation_id
        id = find_id(asset, client.virtual_assets.list(owner), "virtual asset")
        first, last = _window(start, end, service_time(client))
        points = client.revenue.of_virtual_asset(
            id, start=first, end=last, resolution=resolution, datapoints=["revenue_total_revenue", *PRODUCTS]
        )
    rows = _rows(points)
    if print_data(rows, options):
        return
    columns = ["Time", "Total EUR", *PRODUCTS.values()]
    shown = [[row["time"], row["total"], *(row[name] for name in PRODUCTS)] for row in rows]
    print_table("Revenue", columns, shown, options)
    if plot:
        days = [f"{row['time'].astimezone(MARKET_ZONE):%m-%d}" for row in rows]
        plot_bars(days, [row["total"] or 0.0 for row in rows])


def _window(start: datetime | None, end: datetime | None, now: datetime) -> tuple[datetime, datetime]:
    today = datetime.combine(now.astimezone(MARKET_ZONE).date(), time(), MARKET_ZONE)
    last = end or today + timedelta(days=1)
    last = last if last.tzinfo else last.replace(tzinfo=MARKET_ZONE)
    first = start or last - timedelta(days=30)
    return (first if first.tzinfo else first.replace(tzinfo=MARKET_ZONE)), last


def _rows(points: DataPoints) -> list[dict[str, Any]]:
    by_time: dict[datetime, dict[str, Any]] = {}
    for name, series in points.data.items():
        for point in series:
            row = by_time.setdefault(point.time, {"time": point.time, "total": None, **dict.fromkeys(PRODUCTS)})
            row["total" if name == "revenue_total_revenue" else name] = point.value
    return [by_time[moment] for moment in sorted(by_time)]
