"""The pictures of docs/sandbox.md: a simulated year beside the real one it was calibrated on.

    python -m bench.sandbox_pictures [FOLDER]

FOLDER holds the published prices (see `bench.price_calibration`). Pictures hold figures made of them, means
and quantiles, never the prices. Without it only those of the economy are drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from tests.sandbox.simulator.economy import Month, live_month

from bench.price_calibration import YEAR, hourly_days, read_prices
from gridloom.sandbox.simulator.market.calendar import hours_of
from gridloom.sandbox.simulator.market.day_ahead import DayAhead
from gridloom.sandbox.simulator.market.intraday import IntradayAuction, periods_of_third
from gridloom.sandbox.simulator.market.market_data import MarketData
from gridloom.sandbox.simulator.scenario import TRADERS

PICTURES = Path(__file__).parents[1] / "docs" / "pictures" / "sandbox"
SEED, SIMULATED_YEAR, FIRST_DAY = 1, 2026, date(2026, 10, 17)
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 560, 280, 52, 30, 52
COLOURS = ("#2563eb", "#ea580c", "#16a34a", "#9333ea")
Points = Sequence[tuple[float, float]]
Days = dict[date, np.ndarray]


class Chart:
    """Axes from the data, a title, a legend: as little as a reader needs."""

    def __init__(self, title: str, x: tuple[float, float], y: tuple[float, float], steps: int = 4) -> None:
        self._x, self._y = x, y
        self._parts = [_text(LEFT, 18, title, weight="bold")]
        self._named = 0
        for n in range(steps + 1):
            value = y[0] + n * (y[1] - y[0]) / steps
            at = self._at(x[0], value)[1]
            self._parts.append(f'<path d="M{LEFT} {at:.0f}H{WIDTH - 8}" stroke="#8884" fill="none"/>')
            self._parts.append(_text(LEFT - 6, at + 4, f"{value:.0f}", anchor="end"))

    def _at(self, x: float, y: float) -> tuple[float, float]:
        wide, high = WIDTH - LEFT - 12, HEIGHT - BOTTOM - TOP
        share_x, share_y = (x - self._x[0]) / (self._x[1] - self._x[0]), (y - self._y[0]) / (self._y[1] - self._y[0])
        return LEFT + share_x * wide, HEIGHT - BOTTOM - share_y * high

    def name_x(self, names: Sequence[tuple[float, str]]) -> None:
        self._parts += [_text(self._at(x, 0)[0], HEIGHT - 10, name, anchor="middle") for x, name in names]

    def _name_colour(self, name: str) -> str:
        colour, place = COLOURS[self._named], LEFT + 100 * self._named
        self._named += 1
        self._parts.append(f'<rect x="{place}" y="27" width="10" height="10" fill="{colour}"/>')
        self._parts.append(_text(place + 14, 36, name))
        return colour

    def line(self, name: str, points: Points) -> None:
        places = " ".join("{:.1f},{:.1f}".format(*self._at(*point)) for point in points)
        colour = self._name_colour(name)
        self._parts.append(f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="1.8"/>')

    def dots(self, name: str, points: Points) -> None:
        colour = self._name_colour(name)
        for point in points:
            x, y = self._at(*point)
            self._parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4" fill="{colour}" fill-opacity="0.55"/>')

    def bars(self, name: str, points: Points, width: float) -> None:
        colour = self._name_colour(name)
        for x, y in points:
            (left, top), (right, bottom) = self._at(x, max(y, 0)), self._at(x + width, min(y, 0))
            box = f'x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{max(bottom - top, 1):.1f}"'
            self._parts.append(f'<rect {box} fill="{colour}"/>')

    def write(self, name: str) -> None:
        body = "\n".join(self._parts)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif"'
        back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"{name}.svg").write_text(f'{head} font-size="12">\n{back}\n{body}\n</svg>\n')


def _text(x: float, y: float, text: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-weight="{weight}" fill="#222">{text}</text>'


def draw_hours(years: dict[str, Days]) -> None:
    for name, months in (("winter", (12, 1, 2)), ("summer", (6, 7, 8))):
        chart = Chart(f"Mean price by hour, {name}, EUR/MWh", (0, 23), (0, 200))
        chart.name_x([(hour, f"{hour}") for hour in range(0, 24, 3)])
        for label, days in years.items():
            of_season = [_by_clock(day, hours) for day, hours in days.items() if day.month in months]
            chart.line(label, list(enumerate(np.nanmean(of_season, axis=0).tolist())))
        chart.write(f"hours-{name}")


def _by_clock(day: date, hours: np.ndarray) -> np.ndarray:
    table = np.full(24, np.nan)
    table[hours_of(day)] = hours
    return table


def draw_months(years: dict[str, Days]) -> None:
    price = Chart("Mean price by month, EUR/MWh", (1, 12), (0, 160))
    spread = Chart("Spread of the four dearest and cheapest hours, EUR/MWh", (1, 12), (0, 160))
    for chart in (price, spread):
        chart.name_x([(month, f"{month}") for month in range(1, 13)])
    for label, days in years.items():
        by_month = [[hours for day, hours in days.items() if day.month == month] for month in range(1, 13)]
        price.line(label, [(n + 1, float(np.concatenate(some).mean())) for n, some in enumerate(by_month)])
        spread.line(label, [(n + 1, float(np.mean([_spread(day) for day in some]))) for n, some in enumerate(by_month)])
    price.write("months")
    spread.write("spreads")


def _spread(hours: np.ndarray) -> float:
    ordered = np.sort(hours)
    return float(ordered[-4:].mean() - ordered[:4].mean())


def draw_duration(years: dict[str, Days]) -> None:
    chart = Chart("Duration curve: EUR/MWh exceeded in a share of hours", (0, 100), (-100, 300))
    chart.name_x([(percent, f"{percent} %") for percent in range(0, 101, 20)])
    percent = np.array([0.5, *range(1, 100), 99.5])
    for label, days in years.items():
        values = np.percentile(np.concatenate(list(days.values())), 100 - percent)
        chart.line(label, list(zip(percent.tolist(), values.tolist(), strict=True)))
    chart.write("duration")


def draw_markets() -> None:
    market_data, first = MarketData(lambda _: SEED), date(SIMULATED_YEAR, 1, 1)
    moves: dict[str, list[np.ndarray]] = {name: [] for name in ("IDA1", "IDA2", "IDA3", "continuous")}
    for n in range(365):
        day = first + timedelta(days=n)
        spot = market_data.day_ahead(day)
        auctions = {auction: market_data.auction(day, auction) for auction in IntradayAuction}
        for auction, prices in auctions.items():
            traded = periods_of_third(day) if auction is IntradayAuction.THIRD else slice(None)
            moves[f"IDA{auction.value}"].append((prices - spot)[traded])
        moves["continuous"].append(market_data.intraday(day) - auctions[IntradayAuction.SECOND])
    chart = Chart("Mean absolute difference, EUR/MWh", (0, 4), (0, 16))
    chart.name_x([(n + 0.4, name) for n, name in enumerate(moves)])
    chart.bars("real", [(n + 0.1, value) for n, value in enumerate((4.8, 6.1, 8.9, 11.6))], 0.3)
    simulated = [float(np.abs(np.concatenate(some)).mean()) for some in moves.values()]
    chart.bars("simulated", [(n + 0.42, value) for n, value in enumerate(simulated)], 0.3)
    chart.write("markets")


def draw_economy(month: Month) -> None:
    highest = 100 * (1 + int(max(*month.prices_eur_mw, *month.values_eur_mw) // 100))
    chart = Chart("Auctions: paid (across) and earned (up), EUR per MW and day", (0, highest), (0, highest))
    chart.name_x([(value, f"{value}") for value in range(0, highest + 1, 100)])
    chart.line("as much", [(0, 0), (highest, highest)])
    chart.dots("a lot", list(zip(month.prices_eur_mw, month.values_eur_mw, strict=True)))
    chart.write("auctions")
    results = [100 * (month.earned_eur[one.slug] / month.paid_eur[one.slug] - 1) for one in TRADERS]
    chart = Chart("Traders: result of thirty days, % of what they paid", (0, len(TRADERS)), (-5, 25), steps=6)
    chart.name_x([(n + 0.5, one.name) for n, one in enumerate(TRADERS)])
    chart.bars("result", [(n + 0.25, value) for n, value in enumerate(results)], 0.5)
    chart.write("traders")
    for one, value in zip(TRADERS, results, strict=True):
        sys.stdout.write(f"{one.name}: {value:.1f} %\n")
    correlation = np.corrcoef(month.prices_eur_mw, month.values_eur_mw)[0, 1]
    gaining = np.mean(np.array(month.values_eur_mw) > month.prices_eur_mw)
    sys.stdout.write(f"correlation {correlation:.2f}, {100 * gaining:.0f} % of lots gain\n")
    sys.stdout.write(f"netted {100 * month.netted_share:.1f} %, open {100 * month.open_share:.2f} %\n")


def main(folder: str | None) -> None:
    draw_economy(live_month(SEED, FIRST_DAY))
    if folder is None:
        return
    first = date(SIMULATED_YEAR, 1, 1)
    simulated = DayAhead(SEED).hourly(first, 365)
    years = {
        f"real {YEAR}": hourly_days(read_prices(Path(folder)), YEAR),
        "simulated": {first + timedelta(days=n): hours for n, hours in enumerate(simulated)},
    }
    draw_hours(years)
    draw_months(years)
    draw_duration(years)
    draw_markets()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
