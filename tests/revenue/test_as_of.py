"""Reports as of an earlier moment: what was known then, and nothing since."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest
from tests.revenue import reference
from tests.revenue.reference import FCR, AFRRCapacity, AFRREnergy, NetOff, Toll, Trade, utc
from tests.revenue.reports import BUCKETED, of_assets, report
from tests.revenue.world import World

from gridloom.kernel.market_time import period_number
from gridloom.revenue.model import Contribution, Subject
from gridloom.revenue.statement.store import read_awards, read_drift_eur


class TestAsOf:
    async def test_shows_what_was_known_then(self, world: World) -> None:
        id = await world.virtual_asset()
        day, later = date(2026, 2, 1), date(2026, 2, 2)
        moments = []
        for facts in (
            [Trade(0, "a", utc(day, 0), "SELL", Fraction(1), Fraction(100))],
            [
                Trade(0, "a", utc(day, 0), "SELL", Fraction(0), Fraction(100)),
                Trade(0, "a", utc(later, 0), "SELL", Fraction(2), Fraction(100)),
            ],
            [FCR(0, day, "NEGPOS_00_04", Fraction(1), Fraction(10), Fraction(4))],
            [Toll(0, "c", utc(day, 0), utc(later, 0), Fraction(365))],
            [Toll(0, "c", utc(day, 0), utc(later, 0), Fraction(730))],
        ):
            await world.record_facts(facts, [id])
            moments.append(await world.pool.fetchval("select date_trunc('milliseconds', platform_now())"))
            await world.pool.execute("select pg_sleep(0.002)")
        subject = await of_assets(world, [id])
        known = []
        for moment in (*moments, None):
            found = await report(world, subject, utc(day, 0), utc(later, 24), "daily", as_of=moment)
            known.append([round(value or 0.0, 2) for value in found["revenue_total_revenue"].values()])
        assert known == [[100, 0], [0, 200], [40, 200], [50, 200], [60, 200], [60, 200]]
        recorded_at = await world.pool.fetchval(
            "select max(recorded_at) from tolling_contract_version where asset_key = $1", await world.key_of(id)
        )
        for moment, total in ((recorded_at, 60), (recorded_at - timedelta(milliseconds=1), 50)):
            found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", as_of=moment)
            assert found["revenue_total_revenue"][utc(day, 0)] == pytest.approx(total), "at the very instant"

    async def test_knows_awards_from_the_very_instant_they_were_recorded(self, world: World) -> None:
        id, day = await world.virtual_asset(), date(2026, 2, 1)
        for price in (10, 12):
            fcr = FCR(0, day, "NEGPOS_00_04", Fraction(1), Fraction(price), Fraction(4))
            afrr = AFRRCapacity(0, day, "POS_04_08", Fraction(1), Fraction(price), Fraction(4))
            await world.record_facts([fcr, afrr], [id])
            await world.pool.execute("select pg_sleep(0.002)")
        key = await world.key_of(id)
        for product in ("NEGPOS_00_04", "POS_04_08"):
            table = "fcr_award_version" if product == "NEGPOS_00_04" else "afrr_capacity_award_version"
            rows = await world.pool.fetch(f"select recorded_at from {table} where asset_key = $1 order by 1", key)
            first, second = (row["recorded_at"] for row in rows)
            instant = timedelta(milliseconds=1)
            for moment, prices in (
                (first - instant, []),
                (first, [10]),
                (second - instant, [10]),
                (second, [12]),
                (None, [12]),
            ):
                found = await read_awards(world.pool, key, day, day, moment)
                assert [one.price_eur_mw_h for one in found if one.product == product] == prices

    async def test_counts_all_drift_of_each_period_and_nothing_else(self, world: World) -> None:
        id, start = await world.physical_asset(), utc(date(2026, 2, 1), 6)
        quarter = timedelta(minutes=15)
        trades = [
            (name, start + n * quarter, side, Fraction(mwh), Fraction(price))
            for name, n, side, mwh, price in (
                ("drift-before", -1, "SELL", 1, 1000),
                ("drift-a", 0, "SELL", 2, 10),
                ("drift-b", 0, "BUY", 1, 100),
                ("no-drift-c", 0, "SELL", 1, 1000),
                ("drift-d", 1, "SELL", 1, 30),
                ("drift-after", 2, "SELL", 1, 1000),
            )
        ]
        await world.record_facts([Trade(0, *one) for one in trades], [id])
        key, first = await world.key_of(id), period_number(start)
        assert (await read_drift_eur(world.pool, key, first, first + 2, None)).tolist() == [-80.0, 30.0]

    async def test_knows_only_the_ratings_recorded_until_then(self, world: World) -> None:
        physical = await world.physical_asset(10)
        day = date(2026, 2, 1)
        await world.record_facts([Toll(0, "c", utc(day, 0), utc(day, 24), Fraction(8760))], [physical])
        before = await world.pool.fetchval("select date_trunc('milliseconds', platform_now())")
        await world.pool.execute("select pg_sleep(0.002)")
        await world.rate(physical, 30, utc(day, 12))  # reaches back
        key = await world.key_of(physical)
        # The last key is of a virtual asset that was deleted since the subject was read.
        subject = Subject("p", (Contribution(key),), (key, key + 1000))
        rated_at = await world.pool.fetchval(
            "select recorded_at from physical_asset_parameters where asset_key = $1 and version = 2", key
        )
        for as_of, revenue, power_mw in (
            (before, 240, 10),
            (rated_at, 12 * 10 + 12 * 30, 20),
            (None, 12 * 10 + 12 * 30, 20),
        ):
            found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", as_of=as_of)
            assert found["revenue_tolling"][utc(day, 0)] == pytest.approx(revenue)
            assert found["revenue_normalised_tolling"][utc(day, 0)] == pytest.approx(revenue / power_mw)
        found = await report(world, subject, utc(day, 0), utc(day, 24), "daily", as_of=before - timedelta(days=1))
        assert found["revenue_normalised_tolling"] == {utc(day, 0): 0.0}, "before the battery was registered"
        await world.rate(physical, 40, utc(day, 12))  # corrected: what was recorded last from an instant on counts
        found = await report(world, subject, utc(day, 0), utc(day, 24), "daily")
        assert found["revenue_tolling"][utc(day, 0)] == pytest.approx(12 * 10 + 12 * 40)

    async def test_equals_the_report_that_was_made_then(self, world: World) -> None:
        """Random batches that record, correct, cancel and move facts; every resolution, all categories."""
        chance = random.Random(46)
        ids = [await world.virtual_asset(), await world.virtual_asset(5)]
        subject = await of_assets(world, ids)
        first = date(2026, 10, 24)
        start, end = utc(first, 5), utc(date(2026, 10, 26), 17)
        made: list[tuple[datetime, dict[str, Any]]] = []
        for _ in range(8):
            await world.record_facts(_unique([_any_fact(chance, first) for _ in range(12)]), ids)
            moment = await world.pool.fetchval("select date_trunc('milliseconds', platform_now())")
            made.append((moment, {each: await report(world, subject, start, end, each) for each in (*BUCKETED, "raw")}))
            await world.pool.execute("select pg_sleep(0.002)")
        for moment, then in made:
            for each, expected in then.items():
                found = await report(world, subject, start, end, each, as_of=moment)
                for category, points in expected.items():
                    assert found[category] == pytest.approx(points, abs=1e-7), (moment, each, category)


def _any_fact(chance: random.Random, first: date) -> reference.Fact:
    """One of few keys, so that most facts correct an earlier one."""
    asset, day = chance.randrange(2), first + timedelta(days=chance.randrange(3))
    block = 4 * chance.randrange(6)
    product = f"{block:02}_{block + 4:02}"
    period = utc(day, 0) + chance.randrange(92) * timedelta(minutes=15)
    volume, price = Fraction(chance.randrange(5)), Fraction(chance.randrange(-900, 900), 100)
    return chance.choice(
        (
            Trade(asset, f"t{chance.randrange(4)}", period, chance.choice(("BUY", "SELL")), volume, price),
            FCR(asset, day, f"NEGPOS_{product}", volume, price, Fraction(chance.randrange(4))),
            AFRRCapacity(asset, day, f"{chance.choice(('POS', 'NEG'))}_{product}", volume, price, Fraction(3)),
            AFRREnergy(asset, utc(day, 7), chance.choice(("POS", "NEG")), volume, price),
            NetOff(asset, utc(day, 7), volume - 2),
            Toll(asset, f"c{chance.randrange(2)}", utc(day, 0), utc(day, 24), volume * 1000),
        )
    )


def _unique(facts: Sequence[reference.Fact]) -> list[reference.Fact]:
    """One per natural key: a moment has one version of each."""
    by_key: dict[Any, reference.Fact] = {}
    for fact in facts:
        period = None if isinstance(fact, Toll) else reference.period_of(fact)[0]
        names = ("trade_id", "contract_id", "product", "direction", "side")
        by_key[type(fact), fact.asset, period, *(getattr(fact, name, None) for name in names)] = fact
    return list(by_key.values())
