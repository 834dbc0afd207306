"""Reports against a reference that computes every category slowly, fact by fact, with fractions."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
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
from gridloom.revenue import store
from gridloom.revenue.earned import read_earned_per_mw
from gridloom.revenue.model import Subject

PRICES = st.integers(-50_000, 400_000).map(lambda cents: Fraction(cents, 100))
HOURLY_PRICES = st.integers(0, 100_000_000).map(lambda micros: Fraction(micros, 1_000_000))
VOLUMES = st.integers(0, 100_000).map(lambda kwh: Fraction(kwh, 1000))
CAPACITIES = st.integers(0, 40).map(Fraction)


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
    async def test_of_five_hours_in_autumn_is_spread_over_twenty_periods(self, world: World) -> None:
        id = await world.virtual_asset()
        day = date(2025, 10, 26)
        await world.record_facts([FCR(0, day, "NEGPOS_00_04", Fraction(2), Fraction(10), Fraction(5))], [id])
        found = await report(world, await of_assets(world, [id]), utc(day, 0), utc(day, 24), "15-minute")
        assert len(found["revenue_fcr"]) == 100
        assert sum(1 for value in found["revenue_fcr"].values() if value == pytest.approx(5.0)) == 20


class TestPhysicalAsset:
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
