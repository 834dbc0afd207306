"""The book's arithmetic against a plain reckoning, quarter-hour by quarter-hour."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gridloom.capacity.availability import CHARGE, DISCHARGE, ENERGY, CapacityOutage, Rating, RatingsAndOutages
from gridloom.capacity.book import BookLine
from gridloom.capacity.loss_order import (
    firm_coverage,
    precheck_covered,
    shortfall,
)
from gridloom.capacity.model import (
    TOLERANCE,
    Holding,
    HoldingGroup,
    HoldingKind,
    OneWayEfficiency,
    OwnSchedule,
    ReserveMinutes,
)
from gridloom.capacity.rules import (
    BatteryCapacity,
    OwnChange,
    Shortage,
    find_own_schedule_shortage,
    find_shortage,
    shortage_problem,
)
from gridloom.kernel.market_time import (
    block_window,
    market_day_of,
    market_day_window,
    period_number,
    period_start,
)

pytestmark = pytest.mark.pure

MINUTES = ReserveMinutes()
DAYS = (date(2027, 1, 14), date(2027, 3, 28), date(2027, 10, 31))
BEGINNING = period_start(0)


def periods_of(day: date) -> tuple[int, int]:
    window = market_day_window(day)
    return period_number(window.start), period_number(window.end)


def battery(
    charge: float = 10_000, discharge: float = 10_000, energy: float = 20_000, *outages: CapacityOutage, **means: float
) -> RatingsAndOutages:
    return RatingsAndOutages([Rating(BEGINNING, charge, discharge, energy, 0.8, **means)], list(outages))


def reserve(kind: HoldingKind, first: int, end: int, charge: float, discharge: float, is_firm: bool = False) -> Holding:
    energy = MINUTES.energy_kwh(kind, charge, discharge)
    return Holding(kind, uuid4(), first, end, charge, discharge, energy, is_firm)


def promise(first: int, end: int, power: float, energy: float) -> Holding:
    kind = HoldingKind.VIRTUAL_ASSET
    return Holding(kind, uuid4(), first, end, power, power, energy, losses=OneWayEfficiency(1.0, 1.0))


# --- random books --------------------------------------------------------------------------------------------------


@st.composite
def blocks(draw: st.DrawFn, day: date) -> tuple[int, int]:
    hour = draw(st.sampled_from(range(0, 24, 4)))
    window = block_window(day, hour, hour + 4)
    return period_number(window.start), period_number(window.end)


@st.composite
def holdings(draw: st.DrawFn, day: date) -> Holding:
    kind = draw(st.sampled_from([kind for kind in HoldingKind if kind is not HoldingKind.OWN_SCHEDULE]))
    first, end = periods_of(day)
    is_firm = draw(st.booleans())
    power = 1000.0 * draw(st.integers(1, 6))
    if kind in (HoldingKind.VIRTUAL_ASSET, HoldingKind.AUCTION):
        low = draw(st.integers(first - 40, end - 1))
        high = draw(st.integers(low + 1, end + 40))
        losses = OneWayEfficiency(draw(st.sampled_from([0.9, 1.0])), draw(st.sampled_from([0.9, 1.0])))
        return Holding(kind, uuid4(), low, high, power, power, draw(st.floats(0, 9000)), losses=losses)
    if kind is HoldingKind.AFRR_ENERGY:
        low = draw(st.integers(first, end - 1))
        high = low + 1
    else:
        low, high = draw(blocks(day))
    both = kind is HoldingKind.FCR
    exports = draw(st.booleans())
    return reserve(kind, low, high, power if both or not exports else 0.0, power if both or exports else 0.0, is_firm)


@st.composite
def standings(draw: st.DrawFn) -> tuple[date, BatteryCapacity]:
    day = draw(st.sampled_from(DAYS))
    first, end = periods_of(day)
    start = market_day_window(day).start
    outages = [
        CapacityOutage(start + timedelta(minutes=low), start + timedelta(minutes=low + length), power, power / 2, power)
        for low, length, power in draw(
            st.lists(st.tuples(st.integers(-60, 1400), st.integers(1, 300), st.floats(0, 9000)), max_size=3)
        )
    ]
    ratings_and_outages = battery(10_000, 12_000, 20_000, *outages, charge_efficiency=0.95, usable_share=0.8)
    if draw(st.booleans()):
        later = start + timedelta(minutes=draw(st.integers(0, 1300)))
        ratings_and_outages.ratings.append(Rating(later, 8_000, 9_000, 15_000, 0.5, 0.9, 0.85, 0.9))
    busy = draw(st.dictionaries(st.integers(first, end - 1), st.floats(-6000, 6000), max_size=12))
    own = OwnSchedule(np.array(sorted(busy), dtype=np.int64), np.array([busy[period] for period in sorted(busy)]))
    return day, BatteryCapacity(ratings_and_outages, draw(st.lists(holdings(day), max_size=8)), own)


def reckoned(standing: BatteryCapacity, period: int) -> dict[BookLine, list[float]]:
    """The lines of one quarter-hour, from the rules and nothing else."""
    start, end = period_start(period), period_start(period + 1)
    ratings = sorted(standing.ratings_and_outages.ratings, key=lambda rating: rating.valid_from)
    in_force = [
        rating
        for place, rating in enumerate(ratings)
        if rating.valid_from < end and not any(later.valid_from <= start for later in ratings[place + 1 :])
    ]
    usable = min(rating.usable_share for rating in in_force)
    lines = {line: [0.0, 0.0, 0.0] for line in BookLine}
    standing_now = [one for one in standing.holdings if one.first <= period < one.end]
    for one in standing_now:
        if one.losses is None:
            continue
        line = BookLine.PROMISED if one.kind is HoldingKind.VIRTUAL_ASSET else BookLine.AUCTIONED
        factor = max(1.0, one.losses.charge / min(rating.charge_efficiency for rating in in_force))
        store = max(1.0, one.losses.discharge / min(rating.discharge_efficiency for rating in in_force)) / usable
        for column, amount in enumerate((one.charge_kw * factor, one.discharge_kw, one.energy_kwh * store)):
            lines[line][column] += amount
    for kind, firm_line, waiting_line in (
        (HoldingKind.FCR, BookLine.FCR, BookLine.FCR_BID),
        (HoldingKind.AFRR_CAPACITY, BookLine.AFRR_CAPACITY, BookLine.AFRR_CAPACITY_BID),
    ):
        for one in standing_now:
            if one.kind is kind:
                line = firm_line if one.is_firm else waiting_line
                for column, amount in enumerate((one.charge_kw, one.discharge_kw, one.energy_kwh / usable)):
                    lines[line][column] += amount
    for column in (CHARGE, DISCHARGE):
        way = [one for one in standing_now if one.kind is HoldingKind.AFRR_ENERGY]
        firm = sum((one.charge_kw, one.discharge_kw)[column] for one in way if one.is_firm)
        every = sum((one.charge_kw, one.discharge_kw)[column] for one in way)
        drawn = lines[BookLine.AFRR_CAPACITY][column]
        excess_firm, excess = max(0.0, firm - drawn), max(0.0, every - drawn)
        for line, power in ((BookLine.AFRR_ENERGY, excess_firm), (BookLine.AFRR_ENERGY_BID, excess - excess_firm)):
            lines[line][column] += power
            lines[line][ENERGY] += power * MINUTES.afrr_energy / 60 / usable
    own = dict(zip(standing.own.periods.tolist(), standing.own.power_kw.tolist(), strict=True))
    power = own.get(period, 0.0)
    lines[BookLine.OWN][DISCHARGE if power > 0 else CHARGE] = abs(power)
    first, last = periods_of(market_day_of(start))
    running, low, high = 0.0, 0.0, 0.0
    for each in range(first, last):
        running += own.get(each, 0.0) / 4
        low, high = min(low, running), max(high, running)
    lines[BookLine.OWN][ENERGY] = (high - low) / usable
    return lines


class TestAShortageOfSeveralBatteries:
    def test_is_one_of_the_battery_that_has_not_got_it_where_there_is_one(self) -> None:
        ids = [uuid4(), uuid4()]
        taken = Shortage(4, 8, (300.0, 0.0, 50.0), (200.0, 0.0, 10.0), (HoldingKind.FCR,), True, ("/a",))
        lacking = Shortage(0, 2, (0.0, 100.0, 0.0), (0.0, 90.0, 0.0), (), False, ("/b", ""))
        found = shortage_problem([(ids[0], taken), (ids[1], lacking)]).document()
        assert (found["type"], found["physicalAssetID"]) == ("/docs/problems/capacity-not-available", str(ids[1]))
        assert (found["start"], found["end"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:30:00Z")
        assert found["asked"] == {"charge": 0, "discharge": 100, "energy": 0}
        assert found["available"] == {"charge": 0, "discharge": 90, "energy": 0}
        assert [error["pointer"] for error in found["errors"]] == ["/b"]  # type: ignore[attr-defined]
        both = shortage_problem([(ids[0], lacking), (ids[1], replace(lacking, pointers=("/c",)))]).document()
        assert both["physicalAssetID"] == str(ids[0])
        assert [error["pointer"] for error in both["errors"]] == ["/b", "/c"]  # type: ignore[attr-defined]


class TestBook:
    @settings(max_examples=40)  # each reckons some hundred quarter-hours one by one
    @given(standings())
    def test_has_in_every_quarter_hour_what_a_plain_reckoning_has(self, scene: tuple[date, BatteryCapacity]) -> None:
        day, standing = scene
        first, end = periods_of(day)
        book = standing.book(first, end)
        lines = book.by_period(book.lines)
        for place in range(0, end - first):
            for line, amounts in reckoned(standing, first + place).items():
                assert np.allclose(lines[line, place], amounts, atol=1e-5), (line, place)

    def test_adds_up_promises_of_the_same_time_and_losses_and_those_of_others_apart(self) -> None:
        first, end = periods_of(DAYS[0])
        losses = OneWayEfficiency(0.9, 0.95)
        alike = [
            Holding(HoldingKind.VIRTUAL_ASSET, uuid4(), first, end, charge, discharge, energy, losses=losses)
            for charge, discharge, energy in ((1000.0, 2000.0, 300.0), (500.0, 700.0, 40.0))
        ]
        other = Holding(
            HoldingKind.VIRTUAL_ASSET, uuid4(), first, end, 10.0, 20.0, 5.0, losses=OneWayEfficiency(1.0, 1.0)
        )
        shorter, auctioned = replace(alike[1], end=first + 1), replace(alike[1], kind=HoldingKind.AUCTION)
        later = replace(alike[0], first=end - 1)
        held = [*alike, other, shorter, auctioned, later]
        lossy = battery(charge_efficiency=0.75, discharge_efficiency=0.5)  # what is promised weighs 1.2 and 1.9 times
        book = BatteryCapacity(lossy, held, OwnSchedule.nothing()).book(first, end)
        lines = book.by_period(book.lines)
        other_kw = 10 / 0.75  # it admits no losses
        assert lines[BookLine.PROMISED, 0].tolist() == pytest.approx([2400 + other_kw, 3420, 722 + 10])
        assert lines[BookLine.PROMISED, 1].tolist() == pytest.approx([1800 + other_kw, 2720, 646 + 10])
        assert lines[BookLine.PROMISED, -1].tolist() == pytest.approx([3000 + other_kw, 4720, 1216 + 10])
        assert lines[BookLine.AUCTIONED, -1].tolist() == pytest.approx([600, 700, 76])

    @given(standings())
    def test_divides_what_is_there_into_free_taken_and_missing(self, scene: tuple[date, BatteryCapacity]) -> None:
        day, standing = scene
        book = standing.book(*periods_of(day))
        assert (book.free >= 0).all()
        assert (book.missing >= 0).all()
        assert np.allclose(book.available - book.taken, book.free - book.missing, atol=2 * TOLERANCE)

    @given(standings())
    def test_loses_the_own_schedule_first_then_waiting_bids_then_the_rest_alike(
        self, scene: tuple[date, BatteryCapacity]
    ) -> None:
        day, standing = scene
        book = standing.book(*periods_of(day))
        lost = shortfall(book)
        assert np.allclose(lost.own + lost.waiting + lost.firm, book.missing)
        assert (lost.waiting[lost.own < book.own - TOLERANCE] == 0).all()
        assert (lost.firm[lost.waiting < book.waiting - TOLERANCE] == 0).all()
        assert np.allclose(book.firm * firm_coverage(book), book.firm - lost.firm, atol=1e-4)

    def test_takes_from_waiting_bids_only_what_the_own_schedule_does_not_cover(self) -> None:
        first, _ = block = periods_of(DAYS[0])[0], periods_of(DAYS[0])[0] + 16
        outage = CapacityOutage(period_start(first), period_start(first + 1), 3_000, 3_000, 0)
        waiting, firm = reserve(HoldingKind.FCR, *block, 5_000, 5_000), promise(*block, 3_000, 0)
        own = OwnSchedule(np.array([first], dtype=np.int64), np.array([4_000.0]))
        book = BatteryCapacity(battery(10_000, 10_000, 20_000, outage), [waiting, firm], own).book(first, first + 1)
        lost = shortfall(book)
        assert [part[:, DISCHARGE].max() for part in (lost.own, lost.waiting, lost.firm)] == [4_000, 1_000, 0]
        assert [part[:, DISCHARGE].min() for part in (lost.own, lost.waiting, lost.firm)] == [4_000, 1_000, 0]


_AUCTIONED = Holding(
    HoldingKind.AUCTION, uuid4(), 0, 96, 8_000.0, 7_000.0, 5_000.0, losses=OneWayEfficiency(0.75, 0.78125)
)


class TestPlenty:
    @given(st.sampled_from(DAYS).flatmap(lambda day: st.tuples(st.just(day), st.lists(holdings(day), max_size=4))))
    def test_is_seen_at_a_glance_only_where_the_book_agrees(self, drawn: tuple[date, list[Holding]]) -> None:
        day, held = drawn
        first, end = periods_of(day)
        firm = [one for one in held if one.is_firm]
        means = {"charge_efficiency": 0.95, "discharge_efficiency": 0.92, "usable_share": 0.8}
        ratings_and_outages = battery(10_000, 12_000, 20_000, **means)
        if precheck_covered(ratings_and_outages, firm, first):
            book = BatteryCapacity(ratings_and_outages, firm, OwnSchedule.nothing()).book(first, end)
            assert (firm_coverage(book) == 1.0).all()

    @pytest.mark.parametrize(
        ("held", "charge_kw", "discharge_kw", "energy_kwh"),
        [
            pytest.param([_AUCTIONED], 12_000, 7_000, 12_500, id="with its losses made up for"),
            pytest.param(
                [replace(_AUCTIONED, losses=OneWayEfficiency(0.25, 0.5))], 8_000, 7_000, 10_000, id="that admits more"
            ),
            pytest.param(
                [reserve(HoldingKind.AFRR_CAPACITY, 0, 16, 0, 5_000)], 0, 5_000, 10_000, id="as it stands for a reserve"
            ),
            pytest.param(
                [_AUCTIONED, promise(0, 4, 100, 30), reserve(HoldingKind.FCR, 8, 16, 600, 600)],
                *(12_000 + 200 + 600, 7_000 + 100 + 600, 12_500 + 96 + 600),
                id="with others",
            ),
        ],
    )
    def test_is_there_up_to_what_a_holding_takes(
        self, held: list[Holding], charge_kw: float, discharge_kw: float, energy_kwh: float
    ) -> None:
        """A battery of which half of the energy is usable, and that loses half of what it takes in and three eighths
        of what it gives."""
        means = {"charge_efficiency": 0.5, "discharge_efficiency": 0.625, "usable_share": 0.5}
        assert precheck_covered(battery(charge_kw, discharge_kw, energy_kwh, **means), held, 0)
        assert not precheck_covered(battery(charge_kw, discharge_kw, energy_kwh - 1, **means), held, 0)
        assert not precheck_covered(battery(charge_kw, discharge_kw - 1, energy_kwh, **means), held, 0)
        if charge_kw:
            assert not precheck_covered(battery(charge_kw - 1, discharge_kw, energy_kwh, **means), held, 0)

    def test_is_not_validated_where_something_is_out_or_rated_anew(self) -> None:
        first, _ = periods_of(DAYS[0])
        start = period_start(first)
        assert not precheck_covered(
            battery(10_000, 10_000, 20_000, CapacityOutage(start, start + timedelta(hours=1), 1, 1, 1)), [], first
        )
        late = RatingsAndOutages([Rating(start + timedelta(hours=1), 10_000, 10_000, 20_000)], [])
        assert not precheck_covered(late, [], first)
        again = battery()
        again.ratings.append(Rating(start + timedelta(hours=1), 5000, 5000, 9000))
        assert not precheck_covered(again, [], first)


# --- what may be taken ---------------------------------------------------------------------------------------------


class TestTaking:
    @given(standings(), st.data())
    def test_is_right_whether_it_is_refused_or_not(
        self, scene: tuple[date, BatteryCapacity], data: st.DataObject
    ) -> None:
        day, standing = scene
        group = HoldingGroup((data.draw(holdings(day)),))
        first, end = group.first, group.end
        before = standing.book(first, end)
        after = BatteryCapacity(standing.ratings_and_outages, [*standing.holdings, *group.holdings], standing.own).book(
            first, end
        )
        shortage = find_shortage(standing, [group])
        added = after.by_period(after.taken) - before.by_period(before.taken)
        free, available = before.by_period(before.free), before.by_period(before.available)
        if shortage is None:
            assert ((added <= TOLERANCE) | (added <= free + 2 * TOLERANCE)).all()
            return
        place = shortage.first - first
        assert any(asked > there for asked, there in zip(shortage.asked, shortage.there, strict=True))
        if shortage.is_held_by_others:
            assert (added[place] > free[place]).any()
            assert shortage.held_by or (added[place] > available[place]).any()
        else:
            assert shortage.held_by == ()

    @given(standings(), st.data())
    def test_leaves_what_stood_once_it_is_given_back(
        self, scene: tuple[date, BatteryCapacity], data: st.DataObject
    ) -> None:
        day, standing = scene
        added = data.draw(holdings(day))
        with_it = BatteryCapacity(standing.ratings_and_outages, [*standing.holdings, added], standing.own)
        span = periods_of(day)
        before, after = standing.book(*span), with_it.without({added.holder_id}).book(*span)
        assert (before.by_period(before.lines) == after.by_period(after.lines)).all()


def judged(ratings_and_outages: RatingsAndOutages, stood: list[Holding], *asked: Holding) -> Shortage | None:
    return find_shortage(
        BatteryCapacity(ratings_and_outages, stood, OwnSchedule.nothing()), [HoldingGroup(tuple(asked))]
    )


class TestReserve:
    first, end = periods_of(DAYS[0])

    def test_of_afrr_holds_an_hour(self) -> None:
        up = reserve(HoldingKind.AFRR_CAPACITY, self.first, self.first + 16, 0, 5000)
        assert judged(battery(energy=5000), [], up) is None
        assert judged(battery(energy=4999), [], up) is not None

    def test_of_balancing_energy_needs_no_more_energy_than_the_capacity_that_it_draws_on(self) -> None:
        """Of which the battery has lost some: 10 MW for a quarter of an hour are 2,500 kWh."""
        capacity = reserve(HoldingKind.AFRR_CAPACITY, self.first, self.first + 16, 0, 10_000, is_firm=True)
        energy = reserve(HoldingKind.AFRR_ENERGY, self.first, self.first + 1, 0, 10_000)
        assert judged(battery(energy=2000), [capacity], energy) is None
        shortage = judged(battery(energy=2000), [], energy)
        assert shortage is not None
        assert (shortage.asked, shortage.there) == ((0, 10_000, 2500), (10_000, 10_000, 2000))


class TestOwnSchedule:
    first, end = periods_of(DAYS[1])

    def change(self, *power: float, place: int = 0) -> OwnChange:
        first = self.first + place
        return OwnChange(np.arange(first, first + len(power)), np.array(power), self.first)

    def test_takes_its_swing_of_each_day_in_hours_without_it_too(self) -> None:
        """In the last quarter-hour of one day, and in the first of the next."""
        own = OwnSchedule(np.array([self.end - 1, self.end]), np.array([4000.0, -8000.0]))
        standing = BatteryCapacity(battery(), [], own)
        for first, energy_kwh in ((self.first + 9, 1000), (self.end - 5, 1000), (self.end + 9, 2000)):
            assert standing.book(first, first + 2).taken.tolist() == [[0, 0, energy_kwh]]
        whole = standing.book(self.first, self.end + 96)
        assert whole.by_period(whole.own)[[0, 91, 92, -1]].tolist() == [
            *([0, 0, 1000], [0, 4000, 1000]),
            *([8000, 0, 2000], [0, 0, 2000]),
        ]

    def test_swings_no_further_where_it_takes_back_part_of_what_held_the_rest_within_bounds(self) -> None:
        stood = OwnSchedule(np.arange(self.first, self.first + 12), np.repeat([4000.0, -4000.0, 4000.0], 4))
        standing = BatteryCapacity(battery(), [promise(self.first, self.end, 1000, 15_000)], stood)
        assert find_own_schedule_shortage(standing, self.change(*[-3000.0] * 4, place=4)) is None
        shortage = find_own_schedule_shortage(standing, self.change(*[-2000.0] * 4, place=4))
        assert shortage is not None
        assert (shortage.asked[2], shortage.there[2]) == (6000, 5000)

    def test_is_validated_as_if_what_it_replaces_were_gone(self) -> None:
        stood = OwnSchedule(np.arange(self.first, self.first + 4), np.array([9000.0] * 4))
        standing = BatteryCapacity(battery(), [promise(self.first, self.end, 1000, 11_000)], stood)
        assert find_own_schedule_shortage(standing, self.change(-9000.0)) is None

    def test_that_takes_less_energy_than_before_is_not_held_up_by_a_loss(self) -> None:
        stood = OwnSchedule(np.arange(self.first, self.first + 8), np.array([8000.0] * 8))
        lost = CapacityOutage(period_start(self.first), period_start(self.end), 0, 0, 15_000)
        standing = BatteryCapacity(battery(10_000, 10_000, 20_000, lost), [], stood)
        assert find_own_schedule_shortage(standing, self.change(0.0)) is None
        assert find_own_schedule_shortage(standing, self.change(0.0, place=20)) is None, "nor one that takes as much"

    def test_leaves_other_days_alone(self) -> None:
        day_after = self.end
        stood = OwnSchedule(np.arange(day_after, day_after + 8), np.array([10_000.0] * 8))
        lost = CapacityOutage(period_start(self.first), period_start(day_after + 96), 0, 0, 15_000)
        standing = BatteryCapacity(battery(10_000, 10_000, 20_000, lost), [], stood)
        assert find_own_schedule_shortage(standing, self.change(1000.0)) is None
        around = np.array([self.first, day_after + 96])
        assert find_own_schedule_shortage(standing, OwnChange(around, np.full(2, 1000.0), self.first)) is None


class TestStepsBetween:
    @given(st.integers(90, 215), st.integers(0, 30))
    def test_are_those_that_the_periods_touch_and_none_outside_the_book(self, first, length):
        book = BatteryCapacity(battery(), [promise(110, 150, 1_000, 1_000)], OwnSchedule.nothing()).book(100, 200)
        end = first + length
        steps = book.steps_between(first, end)
        touched = [
            step for step in range(len(book.edges) - 1) if book.edges[step] < end and first < book.edges[step + 1]
        ]
        if length:
            assert list(range(len(book.edges) - 1))[steps] == touched
        assert 0 <= steps.start <= steps.stop <= len(book.edges) - 1
