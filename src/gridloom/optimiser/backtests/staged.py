"""Past days played again stage by stage: capacity first, then the day-ahead and the intraday auctions after it.

At each stage only what was known at its gate counts. Foresight knows the true prices of each stage, one after the
other: bets on the difference between two of them are none of its earnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

import numpy as np

from gridloom.kernel.market_stages import INTRADAY_STAGES, Stage
from gridloom.optimiser.backtests.market_history import HALF_DAY, MarketHistory, block_starts
from gridloom.optimiser.backtests.planner import BatterySpec
from gridloom.optimiser.backtests.rolling import Expectation
from gridloom.optimiser.day_table import DayTable, from_96_quarters, quarters_of
from gridloom.optimiser.solving.linear import Deadline
from gridloom.optimiser.solving.polishing import polish
from gridloom.optimiser.solving.programme import BatteryProgramme, CycleLimit, Floats
from gridloom.optimiser.solving.reserves import ReserveSlot, spot_programme_beside
from gridloom.optimiser.trading.kept_model import FIRM_POWERS, HYPOTHETICAL, DayPlanner
from gridloom.optimiser.trading.replanning import HURDLE_EUR_MWH, Replanner
from gridloom.optimiser.trading.reserve_bids import FCR_POWER_SHARE, bid_price, make_slots, offer_capacity
from gridloom.optimiser.trading.wear import MAX_CYCLES_A_DAY, WEAR_DAYS, find_wear_price

FEE_EUR_MWH: Final = 0.1
FCR_RESERVE_H: Final = 0.25
AFRR_RESERVE_H: Final = 1.0
WEAR_FOR_DAYS: Final = 28
"""A price of wear serves so many days: it comes from a year."""
_SOLVING_S: Final = 60.0
_AFRR: Final = (("AFRR_CAPACITY_POS_DE_MARGINAL", True), ("AFRR_CAPACITY_NEG_DE_MARGINAL", False))


@dataclass(frozen=True, slots=True, eq=False)
class StagedDay:
    """`earned_eur` by stage; a stage that is missing was held."""

    day: date
    earned_eur: Mapping[Stage, float]
    charged_kwh: float
    discharged_kwh: float
    end_kwh: float

    @property
    def total_eur(self) -> float:
        return sum(self.earned_eur.values())


@dataclass(slots=True)
class CycleAccount:
    """The cycles of a year: what is left of them, for the days that are left in it."""

    year: int
    left_kwh: float
    until: date

    def share_kwh(self, day: date) -> float:
        return max(self.left_kwh, 0.0) / max((self.until - day).days, 1)


class StagedReplay:
    """One battery and one policy, or foresight, day after day."""

    def __init__(
        self,
        history: MarketHistory,
        battery: BatterySpec,
        stages: frozenset[Stage],
        expect: Expectation,
        *,
        has_foresight: bool,
        fee_eur_mwh: float = FEE_EUR_MWH,
        known: DayTable | None = None,
    ) -> None:
        """`known` is the table as it was known day by day, by which wear is priced."""
        self._history, self._battery, self._stages = history, battery, stages
        self._expect, self._has_foresight = expect, has_foresight
        self._known = known or history.table
        self._fee, self._hurdle = fee_eur_mwh, fee_eur_mwh if has_foresight else HURDLE_EUR_MWH
        mode = HYPOTHETICAL if has_foresight else FIRM_POWERS
        self._replanner, self._planner = Replanner(None, mode), DayPlanner(mode)
        self._wear_eur_mwh, self._wear_from = 0.0, -WEAR_FOR_DAYS
        self._has_wear = False

    def play(
        self, first: date, end: date, energy_kwh: float, spent_kwh: float = 0.0, until: date | None = None
    ) -> Iterator[StagedDay]:
        """The days from `first` up to but not `end`. `spent_kwh` was discharged in the year of the first day before it,
        `until` is the end of the battery's life."""
        table, account = self._history.table, None
        for index in range(table.index_of(first), table.index_of(end)):
            day = table.first + timedelta(days=index)
            account = self._find_account(account, day, spent_kwh, until or end)
            spent_kwh = 0.0
            found = self._play_day(index, energy_kwh, account)
            if account is not None:
                account.left_kwh -= found.discharged_kwh
            energy_kwh = found.end_kwh
            yield found

    def _find_account(
        self, account: CycleAccount | None, day: date, spent_kwh: float, until: date
    ) -> CycleAccount | None:
        limit = self._battery.annual_cycle_limit
        if limit is None or (account is not None and account.year == day.year):
            return account
        ends = min(date(day.year + 1, 1, 1), until)
        return CycleAccount(day.year, limit * self._battery.energy_kwh - spent_kwh, ends)

    def _play_day(self, index: int, energy_kwh: float, account: CycleAccount | None) -> StagedDay:
        day = self._history.table.first + timedelta(days=index)
        programme = self._frame_days(index, energy_kwh, account)
        earned: dict[Stage, float] = {}
        programme = self._offer_reserves(index, programme, earned)
        count = quarters_of(day)
        position = np.zeros(count)
        if Stage.DAY_AHEAD in self._stages:
            position = polish(programme, self._planner.plan(programme))[:count]
            earned[Stage.DAY_AHEAD] = _find_cash(self._history.table.true_day(index), position, self._fee)
        today = _first_day(programme, count)
        end_kwh = float(today.energy_kwh(position)[-1])
        for stage in INTRADAY_STAGES:
            prices = self._history.auction_day(stage, index) if stage in self._stages else None
            if prices is None:
                continue
            guessed = prices if self._has_foresight else self._history.last_cleared(stage, index)
            changed = self._trade_again(stage, today, position, guessed, end_kwh)
            traded = len(prices)
            earned[stage] = _find_cash(prices, (changed - position)[-traded:], self._fee)
            position = changed
        charged_kwh = float(-np.minimum(position, 0.0).sum()) / 4
        discharged_kwh = float(np.maximum(position, 0.0).sum()) / 4
        ends_kwh = float(np.clip(today.energy_kwh(position)[-1], 0.0, self._battery.energy_kwh))
        return StagedDay(day, earned, charged_kwh, discharged_kwh, ends_kwh)

    def _frame_days(self, index: int, energy_kwh: float, account: CycleAccount | None) -> BatteryProgramme:
        """The programme of the day and the next at the prices that are expected."""
        battery, table = self._battery, self._history.table
        day = table.first + timedelta(days=index)
        today, tomorrow = self._expect(table, index)
        prices = [from_96_quarters(today, day)]
        if len(tomorrow):
            prices.append(from_96_quarters(tomorrow, day + timedelta(days=1)))
        count = sum(len(one) for one in prices)
        return BatteryProgramme(
            np.concatenate(prices),
            np.full(count, -battery.charge_kw),
            np.full(count, battery.discharge_kw),
            np.zeros(count),
            np.full(count, battery.energy_kwh),
            energy_kwh,
            battery.charge_efficiency,
            battery.discharge_efficiency,
            self._limit_cycles(index, [len(one) for one in prices], account),
            wear_eur_mwh=self._wear_eur_mwh,
        )

    def _limit_cycles(self, index: int, counts: Sequence[int], account: CycleAccount | None) -> tuple[CycleLimit, ...]:
        """A day's cycles and, where a year's are limited, what is left of them at most."""
        battery, by_day = self._battery, np.repeat(np.arange(len(counts)), counts)
        daily = battery.daily_cycle_limit
        if account is None:
            if daily is None:
                return ()
            return (CycleLimit(by_day, np.full(len(counts), daily * battery.energy_kwh)),)
        self._price_wear(index, account)
        most = MAX_CYCLES_A_DAY if daily is None else min(daily, MAX_CYCLES_A_DAY)
        day_kwh = most * battery.energy_kwh
        if not self._has_wear:
            day_kwh = min(day_kwh, account.share_kwh(self._history.table.first + timedelta(days=index)))
        in_all = np.zeros(int(sum(counts)), dtype=np.int64)
        return (
            CycleLimit(by_day, np.full(len(counts), day_kwh)),
            CycleLimit(in_all, np.array([max(account.left_kwh, 0.0)])),
        )

    def _price_wear(self, index: int, account: CycleAccount) -> None:
        if index - self._wear_from < WEAR_FOR_DAYS:
            return
        battery, table = self._battery, self._known
        day = table.first + timedelta(days=index)
        self._wear_from = index
        found = find_wear_price(
            table.until(day).last(WEAR_DAYS).hours,
            (battery.charge_kw, battery.discharge_kw),
            battery.energy_kwh,
            (battery.charge_efficiency, battery.discharge_efficiency),
            account.share_kwh(day) / battery.energy_kwh,
        )
        self._has_wear, self._wear_eur_mwh = found is not None, found or 0.0

    def _trade_again(
        self, stage: Stage, today: BatteryProgramme, position: Floats, prices: Floats, end_kwh: float
    ) -> Floats:
        """The position after an intraday auction; the third one leaves the first half of the day as it is."""
        if stage is not Stage.IDA3:
            programme = replace(today, price_eur_mwh=prices)
            return self._replanner.replan(programme, position, self._hurdle, end_kwh).power_kw
        part = _second_half(today, position, prices[-HALF_DAY:])
        changed = self._replanner.replan(part, position[-HALF_DAY:], self._hurdle, end_kwh).power_kw
        return np.concatenate([position[:-HALF_DAY], changed])

    # --- capacity ----------------------------------------------------------------------------------------------------

    def _offer_reserves(self, index: int, programme: BatteryProgramme, earned: dict[Stage, float]) -> BatteryProgramme:
        """The programme beside the capacity that is sold, and what it earns."""
        spans = self._list_spans(index, len(programme))
        if Stage.FCR in self._stages and self._history.capacity_day("FCR_DE", index) is not None:
            programme = self._sell_fcr(index, programme, spans, earned)
        if Stage.AFRR in self._stages:
            programme = self._sell_afrr(index, programme, spans, earned)
        return programme

    def _list_spans(self, index: int, count: int) -> list[tuple[int, int]]:
        """The periods of each block of the day and, where it is planned too, of the next."""
        first = self._history.table.first + timedelta(days=index)
        spans, begins = [], 0
        for day in (first, first + timedelta(days=1)):
            if begins < count:
                starts = [begins + start for start in block_starts(day)]
                begins += quarters_of(day)
                spans += list(zip(starts, [*starts[1:], begins], strict=True))
        return spans

    def _sell_fcr(
        self, index: int, programme: BatteryProgramme, spans: list[tuple[int, int]], earned: dict[Stage, float]
    ) -> BatteryProgramme:
        paid = self._history.capacity_day("FCR_DE", index)
        expected = self._expect_blocks("FCR_DE", index, len(spans))
        if paid is None or expected is None:
            return programme
        most_kw = FCR_POWER_SHARE * min(self._battery.charge_kw, self._battery.discharge_kw)
        slots = make_slots(programme, spans, expected, up=True, down=True, reserve_h=FCR_RESERVE_H, most_kw=most_kw)
        power_kw = offer_capacity(programme, slots, Deadline(_SOLVING_S))
        hours = _hours_of(slots)
        earned[Stage.FCR] = float((power_kw * hours)[:6] @ paid) / 1000
        return spot_programme_beside(programme, slots, power_kw)

    def _sell_afrr(
        self, index: int, programme: BatteryProgramme, spans: list[tuple[int, int]], earned: dict[Stage, float]
    ) -> BatteryProgramme:
        slots: list[ReserveSlot] = []
        bids, marginals = [], []
        for series, is_up in _AFRR:
            # What was awarded stays so whatever is corrected later.
            marginal = self._history.capacity_day(series, index, as_known=not self._has_foresight)
            expected = self._expect_blocks(series, index, len(spans))
            if marginal is None or expected is None:
                continue
            bid = expected if self._has_foresight else bid_price(expected)
            counted = bid if self._has_foresight else bid_price(bid)
            slots += make_slots(
                programme,
                spans,
                np.maximum(counted, 0.0),
                up=is_up,
                down=not is_up,
                reserve_h=AFRR_RESERVE_H,
                most_kw=self._battery.discharge_kw if is_up else self._battery.charge_kw,
            )
            bids.append(bid)
            # The second day's are planned with and not sold yet.
            marginals.append(np.concatenate([marginal, np.full(len(spans) - 6, np.inf)]))
        if not slots:
            return programme
        power_kw = offer_capacity(programme, slots, Deadline(_SOLVING_S))
        bid, marginal = np.concatenate(bids), np.concatenate(marginals)
        power_kw = np.where(bid <= marginal, power_kw, 0.0)
        sold = np.isfinite(marginal)
        earned[Stage.AFRR] = float((power_kw * _hours_of(slots))[sold] @ bid[sold]) / 1000
        return spot_programme_beside(programme, slots, power_kw)

    def _expect_blocks(self, series: str, index: int, count: int) -> Floats | None:
        """The prices of the blocks of the day and the next: true ones with foresight."""
        days: list[Floats] = []
        for ahead in range(count // 6):
            if self._has_foresight and index + ahead < len(self._history.table):
                found = self._history.capacity_day(series, index + ahead)
            else:
                found = self._history.expect_capacity(series, index, ahead)
            if found is None:
                found = days[0] if days else None
            if found is None:
                return None
            days.append(found)
        return np.concatenate(days)


def _hours_of(slots: Sequence[ReserveSlot]) -> Floats:
    return np.array([(slot.end - slot.first) / 4 for slot in slots])


def _find_cash(prices: Floats, traded_kw: Floats, fee_eur_mwh: float) -> float:
    """Sales less purchases and fees, EUR."""
    return (float(prices @ traded_kw) - fee_eur_mwh * float(np.abs(traded_kw).sum())) / 4000


def _first_day(programme: BatteryProgramme, count: int) -> BatteryProgramme:
    return _cut_periods(programme, slice(0, count), programme.initial_kwh)


def _second_half(today: BatteryProgramme, position: Floats, prices: Floats) -> BatteryProgramme:
    """From noon on, with the energy and the cycles that the first half leaves."""
    noon = len(today) - HALF_DAY
    used_kwh = float(np.maximum(position[:noon], 0.0).sum()) / 4
    part = _cut_periods(today, slice(noon, len(today)), float(today.energy_kwh(position)[noon - 1]))
    cycles = tuple(CycleLimit(limit.groups, limit.left_kwh - used_kwh) for limit in part.cycles)
    return replace(part, price_eur_mwh=prices, cycles=cycles)


def _cut_periods(programme: BatteryProgramme, span: slice, initial_kwh: float) -> BatteryProgramme:
    cycles = []
    for limit in programme.cycles:
        groups = limit.groups[span]
        cycles.append(CycleLimit(groups - groups[0], limit.left_kwh[groups[0] : groups[-1] + 1]))
    return replace(
        programme,
        price_eur_mwh=programme.price_eur_mwh[span],
        min_kw=programme.min_kw[span],
        max_kw=programme.max_kw[span],
        lowest_kwh=programme.lowest_kwh[span],
        highest_kwh=programme.highest_kwh[span],
        initial_kwh=initial_kwh,
        cycles=tuple(cycles),
    )
