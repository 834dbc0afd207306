"""Fits the simulator's coefficients to published day-ahead prices and writes them; the prices stay where they are.

    python -m bench.price_calibration FOLDER

FOLDER holds `day_ahead_DE-LU_2020-2025.csv`: `start` (UTC) and `price` (EUR/MWh), hourly or by quarter-hours.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from statistics import NormalDist

import msgspec
import numpy as np

from gridloom.kernel.market_time import MARKET_ZONE
from gridloom.sandbox.simulator.market import coefficients
from gridloom.sandbox.simulator.market.calendar import DayType, day_type
from gridloom.sandbox.simulator.market.coefficients import FILE, Coefficients, Floats
from gridloom.sandbox.simulator.market.day_ahead import DayAhead

PRICES = "day_ahead_DE-LU_2020-2025.csv"
SOURCE = "Bundesnetzagentur | SMARD.de, CC BY 4.0"
YEAR = 2025
PATTERN_YEARS = (2024, YEAR)
"""Persistence from day to day is fitted to both; everything else to the latter alone."""
RIDGE = 20.0
PERSISTENCE, LEVEL_WEIGHT, COURSE_WEIGHT, REST_WEIGHT, BROAD_COURSES = 1.03, 1.15, 0.35, 0.15, 4
QUARTER_CHANCE = 0.4
"""A day's normal deviations have thinner common tails than real ones, so that too much of them would be the chance of
single hours, and the quarter-hours of one autumn are rougher than a year's. With these weights forecasts earn on
generated days what they earn on real ones: tests/sandbox/simulator/test_predictability.py."""
PROBABILITIES = [0.0005, 0.003, 0.01, 0.03, *np.linspace(0.06, 0.94, 23), 0.97, 0.99, 0.997, 0.9995]
PRICE_PROBABILITIES = [0.0001, 0.0005, 0.002, 0.006, *np.linspace(0.01, 0.99, 50), 0.994, 0.998, 0.9995, 0.9999]
TRIAL_SEEDS = range(1, 17)


def read_prices(folder: Path) -> dict[datetime, float]:
    with (folder / PRICES).open(newline="") as file:
        return {
            datetime.fromisoformat(row["start"].replace("Z", "+00:00")).astimezone(UTC): float(row["price"])
            for row in csv.DictReader(file)
        }


def hourly_days(prices: dict[datetime, float], year: int) -> dict[date, Floats]:
    """Each market day's hours, quarter-hours averaged."""
    sums: dict[date, dict[datetime, list[float]]] = {}
    for start, price in prices.items():
        local = start.astimezone(MARKET_ZONE)
        if local.year == year:
            sums.setdefault(local.date(), {}).setdefault(start.replace(minute=0), []).append(price)
    return {day: np.array([np.mean(hours[h]) for h in sorted(hours)]) for day, hours in sorted(sums.items())}


def calibrate(prices: dict[datetime, float]) -> Coefficients:
    fitted = [_standardise_year(prices, year) for year in PATTERN_YEARS]
    mean, scale, standard = fitted[-1]
    normal = [_rank_to_normal(of_year) for _, _, of_year in fitted]
    carry_over, innovation = _fit_persistence(normal)
    slope, offset, noise = _fit_quarters(prices)
    table = Coefficients(
        calibrated_on=f"day-ahead prices of DE-LU, {YEAR}",
        source=SOURCE,
        mean_eur_mwh=mean.tolist(),
        scale_eur_mwh=scale.tolist(),
        carry_over=carry_over.tolist(),
        innovation=innovation.tolist(),
        probabilities=list(map(float, PROBABILITIES)),
        deviation_quantiles=np.quantile(standard, PROBABILITIES, axis=0).T.tolist(),
        mixing=_mix_hours(standard).tolist(),
        raw_quantiles_eur_mwh=[-500.0, 4000.0],
        price_quantiles_eur_mwh=[-500.0, 4000.0],
        quarter_slope=slope.tolist(),
        quarter_offset_eur_mwh=offset.tolist(),
        quarter_noise_eur_mwh=QUARTER_CHANCE * noise,
    )
    return _match_distribution(table, np.concatenate(list(hourly_days(prices, YEAR).values())))


def _standardise_year(prices: dict[datetime, float], year: int) -> tuple[Floats, Floats, Floats]:
    """Means, scales and, day by day, each hour's deviation in scales."""
    days = {day: hours for day, hours in hourly_days(prices, year).items() if len(hours) == 24}
    dates, profile = list(days), np.array(list(days.values()))
    mean = _fit_means(dates, profile)
    centred = profile - np.array([mean[day.month - 1][day_type(day)] for day in dates])
    scale = _fit_scales(dates, centred)
    return mean, scale, centred / np.array([scale[day.month - 1] for day in dates])


def _rank_to_normal(standard: Floats) -> Floats:
    """Each hour's deviations by their rank, as normal ones."""
    ranks = standard.argsort(axis=0).argsort(axis=0)
    known = np.array([NormalDist().inv_cdf((n + 0.5) / len(standard)) for n in range(len(standard))])
    return np.asarray(known[ranks])


def _fit_persistence(normal: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The persistence of a day from the day before, and a factor of the covariance of the rest.

    Together they leave every hour a variance of one.
    """
    before, after = (np.concatenate([year[span] for year in normal]) for span in (slice(None, -1), slice(1, None)))
    everything = np.concatenate(normal)
    covariance = everything.T @ everything / len(everything)
    carry_over = PERSISTENCE * np.linalg.solve(before.T @ before + RIDGE * np.eye(24), before.T @ after).T
    left = covariance - carry_over @ covariance @ carry_over.T
    values, vectors = np.linalg.eigh((left + left.T) / 2)
    return carry_over, np.asarray(vectors * np.sqrt(np.maximum(values, 1e-6)))


def _mix_hours(standard: Floats) -> Floats:
    """Weights the principal components of a day's deviations: the level, its broad courses, and what is left."""
    _, _, axes = np.linalg.svd(standard - standard.mean(axis=0), full_matrices=False)
    weights = np.full(len(axes), REST_WEIGHT)
    weights[0], weights[1 : 1 + BROAD_COURSES] = LEVEL_WEIGHT, COURSE_WEIGHT
    return np.asarray((axes.T * weights) @ axes)


def _fit_means(dates: Sequence[date], profile: Floats) -> Floats:
    """Months overlap by half their neighbours: a single windy week is not a season."""
    mean = np.zeros((12, 3, 24))
    months = np.array([day.month - 1 for day in dates])
    types = np.array([day_type(day) for day in dates])
    for month in range(12):
        near = np.select(
            [months == month, (months - month) % 12 == 1, (month - months) % 12 == 1], [1.0, 0.25, 0.25], 0
        )
        of_all = np.average(profile, axis=0, weights=near)
        for kind in DayType:
            weights = near * (types == kind)
            strength = weights.sum() / (weights.sum() + 2)
            mean[month, kind] = strength * np.average(profile, axis=0, weights=weights) + (1 - strength) * of_all
    return mean


def _fit_scales(dates: Sequence[date], centred: Floats) -> Floats:
    months = np.array([day.month - 1 for day in dates])
    scale = np.zeros((12, 24))
    for month in range(12):
        near = np.select(
            [months == month, (months - month) % 12 == 1, (month - months) % 12 == 1], [1.0, 0.25, 0.25], 0
        )
        scale[month] = np.sqrt(np.average(centred**2, axis=0, weights=near))
    return scale


def _fit_quarters(prices: dict[datetime, float]) -> tuple[Floats, Floats, float]:
    """By the hour of the day: how far each quarter-hour strays along the slope, its usual offset, and what is left."""
    starts = sorted(start for start in prices if start.minute == 15)
    firsts = [start - timedelta(minutes=15) for start in starts]
    quarters = np.array([[prices[first + timedelta(minutes=15 * q)] for q in range(4)] for first in firsts])
    hourly = quarters.mean(axis=1)
    slope = np.gradient(hourly)
    clock = np.array([first.astimezone(MARKET_ZONE).hour for first in firsts])
    stray = quarters - hourly[:, None]
    slopes, offsets, left = np.zeros((24, 4)), np.zeros((24, 4)), []
    for hour in range(24):
        here = clock == hour
        matrix = np.column_stack([slope[here], np.ones(here.sum())])
        fitted = np.linalg.lstsq(matrix, stray[here], rcond=None)[0]
        slopes[hour], offsets[hour] = fitted
        left.append(stray[here] - matrix @ fitted)
    return slopes, offsets, float(np.concatenate(left).std() * np.sqrt(4 / 3))


def _match_distribution(table: Coefficients, real_hours: Floats) -> Coefficients:
    """Bring what is generated to the distribution of the market's hours, and to its share of negative ones."""
    raw = np.concatenate([_raw_year(DayAhead(seed, table)) for seed in TRIAL_SEEDS])
    below_zero = float((real_hours < 0).mean())
    probabilities = sorted([*PRICE_PROBABILITIES, below_zero])
    price_quantiles = np.quantile(real_hours, probabilities)
    price_quantiles[probabilities.index(below_zero)] = 0.0
    return msgspec.structs.replace(
        table,
        raw_quantiles_eur_mwh=np.quantile(raw, probabilities).tolist(),
        price_quantiles_eur_mwh=price_quantiles.tolist(),
    )


def _raw_year(market: DayAhead) -> Floats:
    first = date(YEAR, 1, 1)
    deviations = market.deviations(first, 365)
    return np.concatenate([market.raw_hours(first + timedelta(days=n), deviations[n]) for n in range(365)])


def yearly_figures(hourly_days: Sequence[Floats]) -> dict[str, float]:
    """The statistics by which a year of hourly prices is calibrated."""
    hours = np.concatenate(hourly_days)
    spreads = [np.sort(day)[-4:].mean() - np.sort(day)[:4].mean() for day in hourly_days]
    return {
        "mean": float(hours.mean()),
        "spread": float(np.mean(spreads)),
        "negative share": float((hours < 0).mean()),
        "autocorrelation 1 h": float(np.corrcoef(hours[:-1], hours[1:])[0, 1]),
        "autocorrelation 24 h": float(np.corrcoef(hours[:-24], hours[24:])[0, 1]),
    }


def trial_figures(table: Coefficients) -> dict[str, float]:
    """The figures of generated years, averaged over several seeds."""
    years = [yearly_figures(DayAhead(seed, table).hourly(date(YEAR, 1, 1), 365)) for seed in TRIAL_SEEDS]
    return {name: float(np.mean([year[name] for year in years])) for name in years[0]}


def write_table(table: Coefficients, file: Path) -> None:
    def rounded(value: object) -> object:
        if isinstance(value, float):
            return round(value, 4)
        return [rounded(item) for item in value] if isinstance(value, list) else value

    fields = {name: rounded(getattr(table, name)) for name in table.__struct_fields__}
    lines = ",\n".join(
        f"{msgspec.json.encode(n).decode()}: {msgspec.json.encode(v).decode()}" for n, v in fields.items()
    )
    file.write_text("{\n" + lines + "\n}\n")


def main(folder: str) -> None:
    prices = read_prices(Path(folder))
    table = calibrate(prices)
    write_table(table, Path(coefficients.__file__).with_name(FILE))
    wanted, found = yearly_figures(list(hourly_days(prices, YEAR).values())), trial_figures(table)
    for name in wanted:
        sys.stdout.write(f"{name:24} real {wanted[name]:9.3f}   generated {found[name]:9.3f}\n")


if __name__ == "__main__":
    main(sys.argv[1])
