"""Reports against a reference that computes every category slowly, fact by fact, with fractions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.revenue import reference
from tests.revenue.reference import FCR, AFRRCapacity, AFRREnergy, Auction, NetOff, Toll, Trade, utc
from tests.revenue.reports import BUCKETED, CENT, DAYS, agree, of_assets, report
from tests.revenue.world import World

from gridloom.kernel.window import Window
from gridloom.revenue import reporting, store
from gridloom.revenue.earned import read_earned_per_mw
from gridloom.revenue.model import Contribution, Subject

PRICES = st.integers(-50_000, 400_000).map(lambda cents: Fraction(cents, 100))
HOURLY_PRICES = st.integers(0, 100_000_000).map(lambda micros: Fraction(micros, 1_000_000))
VOLUMES = st.integers(0, 100_000).map(lambda kwh: Fraction(kwh, 1000))
CAPACITIES = st.integers(0, 40).map(Fraction)
MOST = {"max_size": 6}


@st.composite
def scenes(draw: st.DrawFn) -> tuple[datetime, datetime, list[reference.Fact], list[Fraction]]:
    """A window somewhere in three market days, and facts of up to three assets in and around it."""
    first = draw(st.sampled_from(DAYS))
    low, high = utc(first, 0), utc(first + timedelta(days=2), 24)
    minutes = (high - low) // timedelta(minutes=1)
    start_minute = draw(st.integers(0, minutes - 1))
    end_minute = draw(st.integers(start_minute + 1, minutes))
    start, end = low + timedelta(minutes=start_minute), low + timedelta(minutes=end_minute)
    if draw(st.booleans()):
        start, end = low, high
    power = draw(st.lists(st.integers(100, 480).map(lambda halves: Fraction(halves, 2)), min_size=1, max_size=3))
    asset = st.integers(0, len(power) - 1)
    periods = st.integers(0, (high - low) // reference.QUARTER - 1).map(lambda n: low + n * reference.QUARTER)
    days = st.integers(0, 2).map(lambda n: first + timedelta(days=n))
    blocks = st.integers(0, 5).map(lambda n: f"{4 * n:02}_{4 * n + 4:02}")
    facts: list[reference.Fact] = []
    for n, (a, period, side, volume, price) in enumerate(
        draw(st.lists(st.tuples(asset, periods, st.sampled_from(["BUY", "SELL"]), VOLUMES, PRICES), max_size=12))
    ):
        facts.append(Trade(a, f"T{n}", period, side, volume, price))
    awards = st.tuples(asset, days, blocks, CAPACITIES, HOURLY_PRICES)
    for a, day, block, capacity, price in draw(st.lists(awards, max_size=8, unique_by=lambda x: x[:3])):
        fact = FCR(a, day, f"NEGPOS_{block}", capacity, price, Fraction(0))
        begin, finish = reference.block_of(fact)
        facts.append(FCR(a, day, fact.product, capacity, price, reference.seconds(finish - begin) / 3600))
    directions = st.sampled_from(["POS", "NEG"])
    awards_afrr = st.tuples(asset, days, blocks, directions, CAPACITIES, HOURLY_PRICES)
    for a, day, block, direction, capacity, price in draw(st.lists(awards_afrr, max_size=6, unique_by=lambda x: x[:4])):
        facts.append(AFRRCapacity(a, day, f"{direction}_{block}", capacity, price, Fraction(5, 2)))
    activations = st.tuples(asset, periods, directions, VOLUMES, PRICES)
    for a, period, direction, volume, price in draw(st.lists(activations, max_size=8, unique_by=lambda x: x[:3])):
        facts.append(AFRREnergy(a, period, direction, volume, price))
    for a, period, volume in draw(st.lists(st.tuples(asset, periods, VOLUMES), max_size=4, unique_by=lambda x: x[:2])):
        facts.append(NetOff(a, period, -volume))
    spans = st.tuples(periods, periods)
    tolls = st.tuples(asset, spans, st.integers(0, 150_000).map(Fraction))
    for n, (a, span, price) in enumerate(draw(st.lists(tolls, max_size=3))):
        begin, finish = min(span), max(span) + timedelta(minutes=7)
        facts.append(Toll(a, f"C{n}", begin - timedelta(days=100 * n), finish, price))
    prices = st.integers(1, 10**6).map(lambda cents: Fraction(cents, 100))
    auctions = st.tuples(asset, spans, prices, st.none() | st.just(Fraction(0)) | prices)
    for a, span, price, hurdle in draw(st.lists(auctions, max_size=2, unique_by=lambda x: x[0])):
        facts.append(Auction(a, min(span), max(span) + reference.QUARTER, price, hurdle))
    return start, end, facts, power


SLOW = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


class TestReport:
    @SLOW
    @given(scene=scenes())
    async def test_is_what_the_facts_say_in_every_category_and_bucket(self, world: World, scene: Any) -> None:
        start, end, facts, power = scene
        ids = [await world.virtual_asset(float(mw)) for mw in power]
        await world.record_facts(facts, ids)
        rated = dict(enumerate(power))
        groups = [[0], list(range(len(power)))] if len(power) > 1 else [[0]]
        for resolution in BUCKETED:
            for group in groups:
                subject = await of_assets(world, [ids[n] for n in group])
                found = await report(world, subject, start, end, resolution)
                of_group = [fact for fact in facts if fact.asset in group]
                buckets = reference.buckets_of(start, end, resolution)
                for name, low, high in buckets:
                    expected = reference.categories_in(of_group, (low, high), {n: rated[n] for n in group})
                    for category, value in expected.items():
                        assert agree(found[category][name], value), (resolution, category, name, value)
                assert all(len(points) == len(buckets) for points in found.values())

    @SLOW
    @given(scene=scenes())
    async def test_adds_up_to_the_same_cent_at_every_resolution(self, world: World, scene: Any) -> None:
        start, end, facts, power = scene
        ids = [await world.virtual_asset(float(mw)) for mw in power]
        await world.record_facts(facts, ids)
        subject = await of_assets(world, ids)
        sums: dict[str, list[float]] = {}
        for resolution in (*BUCKETED, "raw"):
            found = await report(world, subject, start, end, resolution)
            parts = ("wholesale", "fcr", "afrr_capacity", "afrr_energy", "tolling", "vba")
            for time, total in found["revenue_total_revenue"].items():
                values = [found[f"revenue_{name}"].get(time, 0.0) for name in parts]
                assert total == pytest.approx(sum(value or 0.0 for value in values), abs=1e-6)
            for name in ("revenue_total_revenue", *(f"revenue_{part}" for part in parts), "sell_volume_wholesale"):
                sums.setdefault(name, []).append(sum(value or 0.0 for value in found[name].values()))
        for name, each in sums.items():
            assert max(each) - min(each) < CENT, (name, each)
        exact = reference.categories_in(facts, (start, end), dict(enumerate(power)))["revenue_total_revenue"]
        assert exact is not None
        assert sums["revenue_total_revenue"][0] == pytest.approx(float(exact), abs=CENT)

    @SLOW
    @given(scene=scenes(), shares=st.lists(st.sampled_from([0.125, 0.25, 0.5, 1.0]), min_size=3, max_size=3))
    async def test_of_a_physical_asset_is_its_share_in_every_fact(
        self, world: World, scene: Any, shares: list[float]
    ) -> None:
        start, end, facts, power = scene
        ids = [await world.virtual_asset(float(mw)) for mw in power]
        physical = await world.physical_asset(12)
        for n, id in enumerate(ids):
            await world.back(id, physical, shares[n])
        await world.record_facts(facts, ids)
        key = await world.key_of(physical)
        subject = Subject("p", await store.read_backed(world.pool, [key]), (key,))
        parts = [shared(fact, Fraction(shares[fact.asset])) for fact in facts]
        for resolution in ("hourly", "daily"):
            found = await report(world, subject, start, end, resolution)
            for name, low, high in reference.buckets_of(start, end, resolution):
                expected = reference.categories_in(
                    parts, (low, high), {n: mw * Fraction(shares[n]) for n, mw in enumerate(power)}
                )
                for category, value in expected.items():
                    if "normalised" not in category:
                        assert agree(found[category][name], value), (resolution, category, name, value)
                total = found["revenue_total_revenue"][name]
                assert found["revenue_normalised_total"][name] == pytest.approx((total or 0.0) / 12)


def shared(fact: reference.Fact, share: Fraction) -> reference.Fact:
    """The same fact for a part of the asset: prices and hours stay, a toll goes with the rated power."""
    if isinstance(fact, Trade | AFRREnergy | NetOff):
        return replace(fact, volume=fact.volume * share)
    if isinstance(fact, FCR | AFRRCapacity):
        return replace(fact, capacity=fact.capacity * share)
    if isinstance(fact, Auction):
        return replace(fact, price=fact.price * share)
    return fact


class TestBlock:
    async def test_of_three_hours_pays_its_price_per_block_once(self, world: World) -> None:
        """2026-03-29 NEGPOS_00_04 cleared at 66.86 EUR/MW for the block, which lasts three hours."""
        id = await world.virtual_asset()
        day = date(2026, 3, 29)
        await world.record_facts(
            [
                FCR(0, day, "NEGPOS_00_04", Fraction(7), Fraction("22.286667"), Fraction(3)),
                FCR(0, day, "NEGPOS_04_08", Fraction(7), Fraction("5.525"), Fraction(4)),
            ],
            [id],
        )
        subject = await of_assets(world, [id])
        start, end = utc(day, 0), utc(day, 24)
        found = await report(world, subject, start, end, "raw")
        first, second = datetime(2026, 3, 28, 23, tzinfo=UTC), datetime(2026, 3, 29, 2, tzinfo=UTC)
        assert list(found["revenue_fcr"]) == [first, second]
        assert found["revenue_fcr"][first] == pytest.approx(7 * 66.86, abs=CENT)
        assert found["revenue_fcr"][second] == pytest.approx(7 * 22.10, abs=CENT)
        assert found["delivery_hours_fcr"][first] == pytest.approx(3)
        quarters = await report(world, subject, start, end, "15-minute")
        assert len(quarters["revenue_fcr"]) == 92
        assert sum(1 for value in quarters["capacity_fcr"].values() if value == pytest.approx(7)) == 12 + 16
        assert sum(v or 0 for v in quarters["revenue_fcr"].values()) == pytest.approx(7 * (66.86 + 22.10), abs=CENT)

    async def test_of_five_hours_in_autumn_is_spread_over_twenty_periods(self, world: World) -> None:
        id = await world.virtual_asset()
        day = date(2025, 10, 26)
        await world.record_facts([FCR(0, day, "NEGPOS_00_04", Fraction(2), Fraction(10), Fraction(5))], [id])
        found = await report(world, await of_assets(world, [id]), utc(day, 0), utc(day, 24), "15-minute")
        assert len(found["revenue_fcr"]) == 100
        assert sum(1 for value in found["revenue_fcr"].values() if value == pytest.approx(5.0)) == 20


class TestPhysicalAsset:
    async def test_has_its_own_facts_and_its_share_in_the_virtual_ones(self, world: World) -> None:
        virtual, physical = await world.virtual_asset(10), await world.physical_asset(20)
        await world.back(virtual, physical, 0.25)
        day = date(2026, 1, 10)
        await world.record_facts(
            [
                Trade(0, "a", utc(day, 0), "SELL", Fraction(8), Fraction(100)),
                Trade(1, "b", utc(day, 0), "BUY", Fraction(3), Fraction(50)),
                FCR(0, day, "NEGPOS_00_04", Fraction(8), Fraction(25), Fraction(4)),
            ],
            [virtual, physical],
        )
        key = await world.key_of(physical)
        subject = Subject("p", await store.read_backed(world.pool, [key]), (key,))
        for resolution in BUCKETED:
            found = await report(world, subject, utc(day, 0), utc(day, 24), resolution)
            sums = {name: sum(v or 0.0 for v in points.values()) for name, points in found.items()}
            assert sums["revenue_wholesale"] == pytest.approx(0.25 * 800 - 150)
            assert sums["sell_volume_wholesale"] == pytest.approx(2)
            assert sums["revenue_fcr"] == pytest.approx(0.25 * 800)
            assert sums["delivery_hours_fcr"] == pytest.approx(4)
            assert found["capacity_fcr"][utc(day, 0)] == pytest.approx(2)
            assert found["settlement_price_fcr"][utc(day, 0)] == pytest.approx(25)
            assert sums["revenue_normalised_total"] == pytest.approx((200 - 150 + 200) / 20)

    async def test_and_another_behind_the_same_virtual_one_share_its_capacity_but_not_its_hours(
        self, world: World
    ) -> None:
        virtual, batteries = await world.virtual_asset(10), [await world.physical_asset(20) for _ in range(2)]
        for battery, share in zip(batteries, (0.25, 0.5), strict=True):
            await world.back(virtual, battery, share)
        day = date(2026, 1, 11)
        await world.record_facts([FCR(0, day, "NEGPOS_00_04", Fraction(8), Fraction(25), Fraction(4))], [virtual])
        keys = tuple([await world.key_of(battery) for battery in batteries])
        subject = Subject("f", await store.read_backed(world.pool, keys), keys)
        names = ["revenue_fcr", "delivery_hours_fcr", "capacity_fcr", "settlement_price_fcr"]
        found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", names=names)
        values = [found[name][utc(day, 0)] for name in names]
        assert values == pytest.approx([0.75 * 800, 2 * 4, 0.75 * 8, 25]), "each battery delivers for four hours"

    async def test_earns_per_mw_of_the_mean_power_of_the_window(self, world: World) -> None:
        """20 MW for three quarters of two days, then 40 MW."""
        physical, day = await world.physical_asset(20), date(2026, 1, 13)
        following = day + timedelta(days=1)
        await world.rate(physical, 40, utc(following, 12))
        trades = [Trade(0, "t", utc(of, 6), "SELL", Fraction(2), Fraction(125)) for of in (day, following)]
        await world.record_facts(trades, [physical])
        key, window = await world.key_of(physical), Window(utc(day, 0), utc(following, 24))
        assert await read_earned_per_mw(world.pool, key, window, None) == pytest.approx(500 / 25)
        known = await world.pool.fetchval("select date_trunc('milliseconds', platform_now())")
        await world.pool.execute("select pg_sleep(0.002)")
        await world.record_facts([Trade(0, "t", utc(day, 6), "SELL", Fraction(2), Fraction(225))], [physical])
        assert await read_earned_per_mw(world.pool, key, window, None) == pytest.approx(700 / 25)
        assert await read_earned_per_mw(world.pool, key, window, known) == pytest.approx(500 / 25)

    async def test_is_normalised_by_the_power_in_force(self, world: World) -> None:
        physical = await world.physical_asset(10)
        day = date(2026, 1, 12)
        await world.rate(physical, 30, utc(day, 12))
        await world.record_facts([Toll(0, "c", utc(day, 0), utc(day, 24), Fraction(365_000))], [physical])
        key = await world.key_of(physical)
        found = await report(world, Subject("p", (Contribution(key),), (key,)), utc(day, 0), utc(day, 24), "daily")
        assert found["revenue_tolling"][utc(day, 0)] == pytest.approx(1000 * 20)
        assert found["revenue_normalised_tolling"][utc(day, 0)] == pytest.approx(1000)
        assert found["revenue_normalised_per_year_tolling"][utc(day, 0)] == pytest.approx(365_000)
        assert found["annual_price_tolling"][utc(day, 0)] == pytest.approx(365_000)

    async def test_has_a_toll_whose_price_is_the_mean_over_time_whatever_the_power(self, world: World) -> None:
        physical, other = await world.physical_asset(20), await world.physical_asset(20)
        day = date(2026, 7, 1)
        await world.rate(physical, 40, utc(day, 12))
        tolls = [
            Toll(0, "a", utc(day, 0), utc(day, 12), Fraction(8_760)),
            Toll(0, "b", utc(day, 12), utc(day, 24), Fraction(17_520)),
            Toll(1, "c", utc(day, 0), utc(day, 24), Fraction(4_380)),
        ]
        await world.record_facts(tolls, [physical, other])
        key, other_key = await world.key_of(physical), await world.key_of(other)
        alone = Subject("p", (Contribution(key),), (key,))
        together = Subject("p", (Contribution(key), Contribution(other_key)), (key, other_key))
        for subject, price in ((alone, 13_140), (together, (13_140 * 30 + 4_380 * 20) / 50)):
            found = await report(world, subject, utc(day, 0), utc(day, 24), "daily")
            assert found["annual_price_tolling"] == {utc(day, 0): pytest.approx(price)}
        found = await report(world, alone, utc(day, 0), utc(day, 24), "daily")
        assert found["revenue_tolling"][utc(day, 0)] == pytest.approx(12 * 20 * 1 + 12 * 40 * 2)


class TestRaw:
    async def test_has_a_point_for_every_fact_also_for_one_worth_nothing(self, world: World) -> None:
        id = await world.virtual_asset()
        day = date(2026, 3, 29)
        none = Fraction(0)
        facts: list[reference.Fact] = [
            Trade(0, "a", utc(day, 9), "SELL", none, Fraction(50)),
            FCR(0, day, "NEGPOS_20_24", Fraction(1), Fraction(5), none),
            AFRRCapacity(0, day, "POS_00_04", Fraction(5), none, Fraction(3)),
            AFRRCapacity(0, day, "POS_08_12", Fraction(5), Fraction(3), Fraction(4)),
            AFRRCapacity(0, day, "NEG_08_12", Fraction(5), Fraction(-3), Fraction(4)),
            AFRREnergy(0, utc(day, 10), "NEG", none, Fraction(5)),
            NetOff(0, utc(day, 11), none),
        ]
        await world.record_facts(facts, [id])
        known = await world.pool.fetchval("select platform_now()")
        for as_of in (None, known):
            subject = await of_assets(world, [id])
            found = await report(world, subject, utc(day, 0), utc(day, 24), "raw", as_of=as_of)
            assert found["revenue_wholesale"] == {utc(day, 9): 0.0}
            assert found["revenue_fcr"] == {utc(day, 20): 0.0}
            assert found["revenue_afrr_capacity"] == {utc(day, 0): 0.0, utc(day, 8): 0.0}
            assert found["revenue_afrr_energy"] == {utc(day, 10): 0.0}
            assert found["net_off_volume_wholesale"] == {utc(day, 11): 0.0}
            assert len(found["revenue_total_revenue"]) == 5  # netting earns nothing

    async def test_is_normalised_by_the_power_over_the_facts_own_time(self, world: World) -> None:
        physical = await world.physical_asset(10)
        day = date(2026, 1, 12)
        await world.rate(physical, 30, utc(day, 2))
        facts: list[reference.Fact] = [
            Toll(0, "c", utc(day, 0), utc(day, 8), Fraction(8760)),
            FCR(0, day, "NEGPOS_00_04", Fraction(1), Fraction(10), Fraction(4)),
            Trade(0, "a", utc(day, 0), "SELL", Fraction(1), Fraction(100)),
        ]
        await world.record_facts(facts, [physical])
        key = await world.key_of(physical)
        subject = Subject("p", (Contribution(key),), (key,))
        for start, hours_of_10 in ((0, 2), (1, 1)):
            found = await report(world, subject, utc(day, start), utc(day, 8), "raw")
            toll = {utc(day, 0): pytest.approx(8 - start)}
            assert found["revenue_normalised_tolling"] == toll
            block_mw = (10 * hours_of_10 + 30 * 2) / (hours_of_10 + 2)
            assert found["revenue_normalised_fcr"] == {utc(day, 0): pytest.approx(10 * (4 - start) / block_mw)}
        found = await report(world, subject, utc(day, 0), utc(day, 8), "raw")
        assert found["revenue_normalised_wholesale"] == {utc(day, 0): pytest.approx(100 / 10)}
        total = (20 + 180) + 40 + 100
        assert found["revenue_normalised_total"] == {utc(day, 0): pytest.approx(total / 25)}

    async def test_is_normalised_by_the_power_of_the_reported_battery_not_by_that_of_what_it_backs(
        self, world: World
    ) -> None:
        virtual, physical, day = await world.virtual_asset(10), await world.physical_asset(40), date(2026, 1, 12)
        await world.record_facts([Toll(0, "c", utc(day, 0), utc(day, 8), Fraction(8760))], [virtual])
        await world.back(virtual, physical, 1.0)
        key = await world.key_of(physical)
        subject = Subject("p", await store.read_backed(world.pool, [key]), (key,))
        for resolution in ("raw", "daily"):
            found = await report(world, subject, utc(day, 0), utc(day, 24), resolution)
            assert found["revenue_normalised_tolling"] == {utc(day, 0): pytest.approx(10 * 8 / 40)}, resolution

    async def test_has_no_point_of_what_ends_where_the_window_starts_or_starts_where_it_ends(
        self, world: World
    ) -> None:
        id, day = await world.virtual_asset(), date(2026, 5, 12)
        start, end = utc(day, 4), utc(day, 8)
        facts: list[reference.Fact] = []
        for name, low, high in (
            ("before", utc(day, 0), start),
            ("within", start, end),
            ("after", end, utc(day, 12)),
        ):
            facts += [Toll(0, name, low, high, Fraction(8760)), Auction(0, low, high, Fraction(100), None)]
            facts += [Trade(0, name, low, "SELL", Fraction(1), Fraction(10))]
        await world.record_facts(facts, [id])
        known = await world.pool.fetchval("select platform_now()")
        for as_of in (None, known):
            subject = await of_assets(world, [id])
            found = await report(world, subject, start, end, "raw", as_of=as_of)
            for name, value in (("tolling", 10 * 4), ("vba", 100), ("wholesale", 10)):
                assert found[f"revenue_{name}"] == {start: pytest.approx(value)}, (name, as_of)

    async def test_is_the_same_however_few_days_are_read_at_a_time(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Contracts and auctions that begin before the window, at its start, on a day in the middle and on the last."""
        ids, first = [await world.virtual_asset(10), await world.virtual_asset(30)], date(2026, 5, 12)
        start, end = utc(first, 0), utc(first + timedelta(days=3), 24)
        facts: list[reference.Fact] = []
        for n, begins in enumerate((-1, 0, 2, 3)):
            low, high = utc(first + timedelta(days=begins), 6 * (n % 2)), utc(first + timedelta(days=begins + 2), 7)
            facts += [
                Toll(n % 2, f"c{n}", low, high, Fraction(8760 * (n + 1))),
                Auction(n % 2, low, high, Fraction(100 + n), Fraction(40 + n)),
                Trade(n % 2, f"t{n}", low, "SELL", Fraction(n + 1), Fraction(10)),
                FCR(n % 2, low.date(), "NEGPOS_08_12", Fraction(n + 1), Fraction(5), Fraction(4)),
            ]
        await world.record_facts(facts, ids)
        subject = await of_assets(world, ids)
        at_once = {each: await report(world, subject, start, end, each) for each in (*BUCKETED, "raw")}
        assert len(at_once["raw"]["revenue_tolling"]) == len(at_once["raw"]["revenue_vba"]) == 4
        monkeypatch.setattr(reporting, "DAYS_IN_A_PART", 1)
        for batch in (1, 2, 3):
            monkeypatch.setattr(reporting, "DAY_BATCH_SIZE", batch)
            for each, expected in at_once.items():
                found = await report(world, subject, start, end, each)
                for category, points in expected.items():
                    assert list(found[category]) == list(points), (batch, each, category)
                    assert found[category] == pytest.approx(points, abs=1e-9), (batch, each, category)


class TestFleet:
    async def test_counts_a_virtual_asset_by_the_shares_of_its_members(self, world: World) -> None:
        fleet = await world.fleet()
        one, two = await world.physical_asset(10, fleet_id=fleet), await world.physical_asset(30, fleet_id=fleet)
        virtual = await world.virtual_asset()
        await world.back(virtual, one, 0.5)
        await world.back(virtual, two, 0.25)
        day = date(2026, 1, 10)
        await world.record_facts([Trade(0, "a", utc(day, 0), "SELL", Fraction(8), Fraction(100))], [virtual])
        group = await store.read_fleet(world.pool, fleet)
        assert group is not None
        subject = Subject("f", await store.read_backed(world.pool, group.asset_keys), group.asset_keys)
        found = await report(world, subject, utc(day, 0), utc(day, 24), "daily")
        assert found["revenue_wholesale"][utc(day, 0)] == pytest.approx(600)
        assert found["revenue_normalised_wholesale"][utc(day, 0)] == pytest.approx(15)


class TestPortfolio:
    async def test_is_normalised_by_the_assets_alive_in_a_bucket(self, world: World) -> None:
        portfolio = await world.portfolio()
        first, second = date(2026, 1, 1), date(2026, 1, 2)
        january_1 = await world.virtual_asset(10, start=utc(first, 0), end=utc(second, 0), portfolio_id=portfolio)
        await world.virtual_asset(40, start=utc(second, 0), end=utc(second, 24), portfolio_id=portfolio)
        await world.record_facts([Trade(0, "a", utc(first, 0), "SELL", Fraction(1), Fraction(100))], [january_1])
        group = await store.read_portfolio(world.pool, portfolio)
        assert group is not None
        subject = Subject("p", tuple(Contribution(key) for key in group.asset_keys), group.asset_keys)
        found = await report(world, subject, utc(first, 0), utc(second, 24), "daily")
        assert found["revenue_normalised_total"] == {utc(first, 0): pytest.approx(10), utc(second, 0): 0.0}

    async def test_counts_each_asset_for_the_time_of_its_life_in_the_bucket(self, world: World) -> None:
        day = date(2026, 1, 1)
        morning = await world.virtual_asset(10, start=utc(day, 0), end=utc(day, 12))
        evening = await world.virtual_asset(40, start=utc(day, 18), end=utc(day, 24))
        trades = [
            Trade(0, "a", utc(day, 0), "SELL", Fraction(1), Fraction(100)),
            Trade(1, "b", utc(day, 20), "SELL", Fraction(1), Fraction(200)),
        ]
        await world.record_facts(trades, [morning, evening])
        subject = await of_assets(world, [morning, evening])
        daily = await report(world, subject, utc(day, 0), utc(day, 24), "daily", names=["revenue_normalised_total"])
        assert daily["revenue_normalised_total"] == {utc(day, 0): pytest.approx(300 / (10 * 12 / 24 + 40 * 6 / 24))}
        hourly = await report(world, subject, utc(day, 0), utc(day, 24), "hourly", names=["revenue_normalised_total"])
        assert hourly["revenue_normalised_total"][utc(day, 0)] == pytest.approx(100 / 10)
        assert hourly["revenue_normalised_total"][utc(day, 20)] == pytest.approx(200 / 40)
        alone = await report(
            world,
            await of_assets(world, [morning]),
            utc(day, 0),
            utc(day, 24),
            "daily",
            names=["revenue_normalised_total"],
        )
        assert alone["revenue_normalised_total"] == {utc(day, 0): pytest.approx(100 / 10)}
