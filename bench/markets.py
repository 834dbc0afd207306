"""Every market of the day: what each stage adds on synthetic spreads, yearly budgets of cycles, bands and CPU time.

Real prices of the day-ahead auction, and spreads of the intraday auctions that are made up: an error that runs through
the day and one of each quarter-hour, calm and restless weeks, in the sizes that the auctions of 2026 have. CPU time,
since the machine may be shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from statistics import median
from typing import Any

import numpy as np
from tests.optimiser.real_prices import FILE, real_table

from bench.harness import Harness
from gridloom.kernel.market_stages import AUCTION_STAGES, INTRADAY_STAGES, RESERVE_STAGES, STAGE_OF_SERIES, Stage
from gridloom.optimiser.backtests.market_history import MarketHistory
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import EXPECTATIONS, Policy
from gridloom.optimiser.backtests.staged import StagedDay, StagedReplay
from gridloom.optimiser.day_table import DayTable
from gridloom.optimiser.forecasts.bands import BLOCK_QUARTERS, HISTORY_DAYS, find_band
from gridloom.optimiser.forecasts.holidays import day_type
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.programme import BatteryProgramme, CycleLimit, Floats
from gridloom.optimiser.solving.reserves import spot_programme_beside
from gridloom.optimiser.trading.replanning import HURDLE_EUR_MWH, LOT_KW, Replanner
from gridloom.optimiser.trading.reserve_bids import make_slots, offer_capacity

ETA = 0.943
SHAPES = [(1, 1.0), (1, 2.0), (2, 1.0), (2, 2.0), (4, 1.0), (4, 2.0)]
SIZES = {Stage.IDA1: 2.2, Stage.IDA2: 0.7, Stage.IDA3: 0.9}
"""Mean size of the spread to the auction before, EUR/MWh."""
CAPACITY = (20.0, 8.0, 8.0)
"""Mean prices of FCR and of aFRR up and down, EUR/MW an hour: FCR earns at its price what it earned in 2026; that of
aFRR is made up."""
OF_DAY_AHEAD = (102.5, 104.5, 102.0, 103.5, 101.8, 103.0)
OF_FORESIGHT = (94.0, 90.0, 95.0, 93.0, 97.0, 96.0)
LEAST_MONTH = -0.2
"""Thousand EUR a MW and year."""
OF_FCR_FORESIGHT = (97.5, 95.0, 94.0, 93.0)
MORE_BY_AFRR = 0.012
BUDGET_TARGETS = {1: 0.045, 2: 0.035, 4: 0.02}
SEASON = (date(2025, 10, 4), date(2025, 12, 28))
"""Days with quarter-hourly prices, which are what intraday auctions move."""
RESERVE_SEASON = (date(2025, 1, 23), date(2025, 8, 1))
"""The season over which capacity was judged in 2026, a year before."""


def run(harness: Harness) -> None:
    quick = harness.options.quick
    _replanning(harness, 5 if quick else 100)
    _bands(harness)
    if not FILE.is_file():
        harness.report("real prices", {"skipped": f"there are none at {FILE}; GRIDLOOM_PRICES names their folder"})
        return
    history = made_history(real_table())
    _stages(harness, history, quick=quick)
    _lookahead(harness, history, 3 if quick else 12)
    _reserves(harness, history, quick=quick)
    _year(harness, history, quick=quick)
    if not quick:
        _budgets(harness, history)


def made_history(table: DayTable, seed: int = 1) -> MarketHistory:
    """Spreads and capacity prices beside the real day-ahead prices, always the same ones."""
    rng, days = np.random.default_rng(seed), len(table)
    restless = np.repeat(np.exp(rng.normal(-0.1, 0.4, days // 7 + 1)), 7)[:days]
    auctions, last = {}, table.quarters
    for stage, size in SIZES.items():
        last = last + size * restless[:, None] * (0.95 * _drift(rng, days) + 0.3 * rng.normal(0, 1, (days, 96)))
        auctions[stage] = last
    weekend = np.array([day_type(table.first + timedelta(days=day)) > 0 for day in range(days)])
    level = np.exp(rng.normal(0, 0.15, (days, 1)).cumsum(axis=0) * 0.2) * np.where(weekend, 0.8, 1.0)[:, None]
    capacity = {
        series: size * level * np.exp(rng.normal(0, 0.25, (days, 6)))
        for series, size in zip(_capacity_series(), CAPACITY, strict=True)
    }
    return MarketHistory(table, auctions, capacity, weekend)


def _capacity_series() -> list[str]:
    return [series for series, stage in STAGE_OF_SERIES.items() if stage in RESERVE_STAGES]


def _drift(rng: np.random.Generator, days: int) -> Floats:
    """Errors that change slowly from quarter-hour to quarter-hour, of unit size."""
    noise, errors, kept = rng.normal(0, 1, (days, 96)), np.empty((days, 96)), 0.95
    errors[:, 0] = noise[:, 0]
    for quarter in range(1, 96):
        errors[:, quarter] = kept * errors[:, quarter - 1] + np.sqrt(1 - kept**2) * noise[:, quarter]
    return errors


def _battery(hours: int, cycles: float | None, yearly: float | None = None) -> BatterySpec:
    return BatterySpec(1000.0, 1000.0, 1000.0 * hours, ETA, ETA, cycles, yearly)


def _play(
    history: MarketHistory,
    battery: BatterySpec,
    stages: tuple[Stage, ...],
    days: tuple[date, date],
    policy: Policy = Policy.FORECAST,
) -> list[StagedDay]:
    has_foresight = policy is Policy.FORESIGHT
    replay = StagedReplay(history, battery, frozenset(stages), EXPECTATIONS[policy], has_foresight=has_foresight)
    return list(replay.play(*days, battery.energy_kwh / 2))


def _cpu_ms(work: Callable[[], Any], rounds: int = 5) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best * 1000


def _replanning(harness: Harness, count: int) -> None:
    """A day of a 2 h battery, its model kept: exactly, in lots, beside reserves; and ten times a hundred batteries."""
    rng = np.random.default_rng(1)
    hours = np.arange(96) / 4
    price = 80 + 45 * np.exp(-((hours - 8) ** 2) / 6) + 70 * np.exp(-((hours - 19) ** 2) / 6)
    price -= 70 * np.exp(-((hours - 13) ** 2) / 8)

    def day(energy: float = 2000.0) -> BatteryProgramme:
        return BatteryProgramme(
            price + rng.normal(0, 8, 96),
            np.full(96, -1000.0),
            np.full(96, 1000.0),
            np.zeros(96),
            np.full(96, energy),
            energy / 2,
            ETA,
            ETA,
            (CycleLimit(np.zeros(96, dtype=np.int64), np.array([1.5 * energy])),),
        )

    spans = [(16 * block, 16 * block + 16) for block in range(6)]
    slots = make_slots(day(), spans, np.full(6, 10.0), up=True, down=True, reserve_h=0.25, most_kw=400.0)
    for name, planner, held, most_ms in (
        ("exactly", Replanner(None), False, 5.0),
        ("in lots", Replanner(LOT_KW), False, 5.0),
        ("in lots beside reserves", Replanner(LOT_KW), True, 10.0),
    ):
        took = []
        for _ in range(count):
            asked = spot_programme_beside(day(), slots, np.full(6, 300.0)) if held else day()
            before = planner.replan(asked, np.zeros(96), 0.0).power_kw
            end_kwh = float(asked.energy_kwh(before)[-1])
            again = replace(asked, price_eur_mwh=asked.price_eur_mwh + rng.normal(0, 8, 96))
            began = time.process_time()
            planner.replan(again, before, HURDLE_EUR_MWH, end_kwh)
            took.append(1000 * (time.process_time() - began))
        harness.report(
            f"CPU of a day planned anew {name}",
            {"ms": round(median(took), 2), "slowest": round(max(took), 1)},
            target=f"<= {most_ms:g} ms",
            met=median(took) <= most_ms,
        )
    offered = _cpu_ms(lambda: offer_capacity(day(), slots, Deadline(5)))
    harness.report("CPU of a day's FCR beside the wholesale market", {"ms": round(offered, 1)})
    planner, began = Replanner(LOT_KW), time.process_time()
    for _ in range(count * 10):
        asked = day(float(rng.choice([1000.0, 2000.0, 4000.0])))
        planner.replan(asked, np.zeros(96), HURDLE_EUR_MWH, asked.initial_kwh)
    took_s = (time.process_time() - began) * 1000 / (count * 10)
    harness.report("CPU of 1,000 batteries planned anew", {"s": round(took_s, 1)}, target="<= 10 s", met=took_s <= 10)


def _bands(harness: Harness) -> None:
    """Bands of synthetic spreads, walk-forward over a year of calm and restless weeks."""
    rng, days = np.random.default_rng(7), 420
    sizes = np.repeat(np.exp(rng.normal(1.5, 0.5, days // 7)), 7)[:, None]
    errors = sizes * (0.95 * _drift(rng, days) + 0.3 * rng.normal(0, 1, (days, 96)))
    below = above = 0
    for day in range(HISTORY_DAYS, days):
        band = find_band(np.zeros(96), errors[:day], BLOCK_QUARTERS)
        below += int((errors[day] < band.p10).sum())
        above += int((errors[day] > band.p90).sum())
    count = 96 * (days - HISTORY_DAYS)
    tails = below / count, above / count
    harness.report(
        "P10 to P90 of spreads, walk-forward",
        {"coverage": round(1 - sum(tails), 3), "below": round(tails[0], 3), "above": round(tails[1], 3)},
        target="0.75 to 0.85, each tail <= 0.13",
        met=0.75 <= 1 - sum(tails) <= 0.85 and max(tails) <= 0.13,
    )


def _stages(harness: Harness, history: MarketHistory, *, quick: bool) -> None:
    days = (SEASON[0], SEASON[0] + timedelta(days=6)) if quick else SEASON
    of_own, of_best, gains, months = {}, {}, dict.fromkeys(INTRADAY_STAGES, float("inf")), {}
    for hours, cycles in SHAPES:
        battery, name = _battery(hours, cycles), f"{hours} h, {cycles:g} a day"
        played = _play(history, battery, AUCTION_STAGES, days)
        best = _play(history, battery, AUCTION_STAGES, days, Policy.FORESIGHT)
        sums = {stage: sum(day.earned_eur[stage] for day in played) for stage in AUCTION_STAGES}
        for stage in INTRADAY_STAGES:
            gains[stage] = min(gains[stage], sums[stage])
            months[f"{name}, {stage}"] = min(_sum_months([(day.day, day.earned_eur[stage]) for day in played]))
        total = sum(sums.values())
        of_own[name] = round(100 * total / sums[Stage.DAY_AHEAD], 1)
        of_best[name] = round(100 * total / sum(day.total_eur for day in best), 1)
    for name, shown, least in (
        ("after IDA3, % of the day-ahead's own value, synthetic spreads", of_own, OF_DAY_AHEAD),
        ("after IDA3, % of sequential foresight, synthetic spreads", of_best, OF_FORESIGHT),
    ):
        is_met = all(value >= goal for value, goal in zip(shown.values(), least, strict=True))
        harness.report(name, shown, target=f">= {least}", met=is_met)
    harness.report(
        "each intraday auction against holding, least sum, EUR",
        {stage.value: round(gain, 1) for stage, gain in gains.items()},
        target=">= 0",
        met=min(gains.values()) >= 0,
    )
    worst = min(months, key=lambda name: months[name])
    harness.report(
        "each intraday auction against holding, the worst month, thousand EUR a MW and year",
        {worst: round(months[worst], 3)},
        target=f">= {LEAST_MONTH}",
        met=months[worst] >= LEAST_MONTH,
    )


def _sum_months(earned_eur: list[tuple[date, float]]) -> list[float]:
    """By month, as if all the year were like it: thousand EUR a year."""
    by_month: dict[tuple[int, int], list[float]] = {}
    for day, eur in earned_eur:
        by_month.setdefault((day.year, day.month), []).append(eur)
    return [sum(month) / len(month) * 365 / 1000 for month in by_month.values()]


def _lookahead(harness: Harness, history: MarketHistory, count: int) -> None:
    """Garbage in everything that comes after the gate of a stage moves what was decided before by nothing."""
    rng, largest = np.random.default_rng(2), 0.0
    stages = (*RESERVE_STAGES, *AUCTION_STAGES)
    first = history.table.index_of(SEASON[0])
    for place in rng.integers(first, len(history.table) - 2, count).tolist():
        day = history.table.first + timedelta(days=place)
        span = (day, day + timedelta(days=1))
        [known] = _play(history, _battery(2, 2.0), stages, span)
        for stage in stages:
            [spoilt] = _play(_spoil(history, place, stage, rng), _battery(2, 2.0), stages, span)
            for earlier in stages[: stages.index(stage)]:
                largest = max(largest, abs(spoilt.earned_eur[earlier] - known.earned_eur[earlier]))
    harness.report(
        "garbage after each gate moves what was earned before it by",
        {"EUR": largest},
        target="<= 1e-9",
        met=largest <= 1e-9,
    )


def _spoil(history: MarketHistory, place: int, stage: Stage, rng: np.random.Generator) -> MarketHistory:
    def spoil(values: Floats, own: Stage) -> Floats:
        if own.place < stage.place:
            return values
        spoilt = values.copy()
        spoilt[place:] = rng.normal(0, 1000, spoilt[place:].shape)
        return spoilt

    table = replace(history.table, quarters=spoil(history.table.quarters, Stage.DAY_AHEAD))
    auctions = {own: spoil(values, own) for own, values in history.auctions.items()}
    capacity = {name: spoil(values, STAGE_OF_SERIES[name]) for name, values in history.capacity.items()}
    return MarketHistory(table, auctions, capacity, history.is_weekend)


def _reserves(harness: Harness, history: MarketHistory, *, quick: bool) -> None:
    days = (RESERVE_SEASON[0], RESERVE_SEASON[0] + timedelta(days=6)) if quick else RESERVE_SEASON
    of_best, more, months = {}, {}, []
    for hours, cycles in ((1, 1.0), (2, 1.0), (2, 2.0), (4, 1.0)):
        battery, name = _battery(hours, cycles), f"{hours} h, {cycles:g} a day"
        fcr = _play(history, battery, (Stage.FCR, Stage.DAY_AHEAD), days)
        best = _play(history, battery, (Stage.FCR, Stage.DAY_AHEAD), days, Policy.FORESIGHT)
        both = _play(history, battery, (*RESERVE_STAGES, Stage.DAY_AHEAD), days)
        alone, with_afrr = (sum(day.total_eur for day in played) for played in (fcr, both))
        of_best[name] = round(100 * alone / sum(day.total_eur for day in best), 1)
        more[name] = round(100 * (with_afrr / alone - 1), 1)
        pairs = zip(*(_sum_months([(day.day, day.total_eur) for day in played]) for played in (both, fcr)), strict=True)
        months += [with_it - without for with_it, without in pairs]
    harness.report(
        "FCR co-optimised, % of FCR foresight, synthetic capacity prices",
        of_best,
        target=f">= {OF_FCR_FORESIGHT}",
        met=all(value >= goal for value, goal in zip(of_best.values(), OF_FCR_FORESIGHT, strict=True)),
    )
    harness.report(
        "aFRR beside FCR, %, and the worst month, thousand EUR a MW and year, synthetic capacity prices",
        {**more, "worst month": round(min(months), 2)},
        target=f">= {100 * MORE_BY_AFRR:g} %, no month negative",
        met=min(more.values()) >= 100 * MORE_BY_AFRR and min(months) >= 0,
    )


def _year(harness: Harness, history: MarketHistory, *, quick: bool) -> None:
    days = date(2025, 1, 1), date(2025, 1, 11) if quick else date(2026, 1, 1)
    began = time.process_time()
    for policy in (Policy.FORECAST, Policy.FORESIGHT):
        _play(history, _battery(2, 2.0), AUCTION_STAGES, days, policy)
    took_s = (time.process_time() - began) * 365 / (days[1] - days[0]).days
    harness.report(
        "CPU of a year of four stages, policy and foresight",
        {"s": round(took_s, 1)},
        target="<= 10 s",
        met=took_s <= 10,
    )


def _budgets(harness: Harness, history: MarketHistory) -> None:
    """500 cycles a year, spent by the price of wear, against 1.37 a day."""
    year = (date(2025, 1, 1), date(2026, 1, 1))
    gains, most = {}, 0.0
    for hours, least in BUDGET_TARGETS.items():
        daily = _play(history, _battery(hours, 500 / 365), (Stage.DAY_AHEAD,), year)
        yearly = _play(history, _battery(hours, None, 500.0), (Stage.DAY_AHEAD,), year)
        gain = sum(day.total_eur for day in yearly) / sum(day.total_eur for day in daily) - 1
        most = max(most, sum(day.discharged_kwh for day in yearly) / (1000.0 * hours))
        gains[f"{hours} h"] = round(100 * gain, 2)
        harness.report(
            f"500 cycles of 2025 by the price of wear, {hours} h",
            {"gain %": round(100 * gain, 2)},
            target=f">= {100 * least:g} %",
            met=gain >= least,
        )
    harness.report("cycles used of 500", {"most": round(most, 2)}, target="<= 500", met=most <= 500 + 1e-6)
