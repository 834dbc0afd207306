"""What the firm lines of books are made of, as one text and as rows."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from gridloom.capacity.capacity_json_store import BATTERY_CAPACITY_JSON, decode_battery_capacity
from gridloom.capacity.model import Holding, HoldingKind, OneWayEfficiency
from gridloom.capacity.rules import BatteryCapacity
from gridloom.capacity.store import load_firm_capacity, load_ratings_and_outages, write_holdings
from gridloom.kernel.ids import uuid7
from gridloom.kernel.market_time import PERIOD, period_start
from gridloom.kernel.window import Window
from gridloom.platform.database.pool import server_settings
from gridloom.platform.database.statement import NamedStatement

FIRST, END = 1_990_000, 1_990_400
_TEXT = NamedStatement(f"with asked as (select {BATTERY_CAPACITY_JSON} as standing) select standing from asked")


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database_url, server_settings=server_settings())
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def new_batteries(db: Any, count: int) -> list[int]:
    owner = uuid7()
    await db.execute("insert into organisation (id, name, kind) values ($1, $2, 'PARTICIPANT')", owner, str(owner))
    return [
        await db.fetchval(
            "insert into asset (id, kind, organisation_id) values ($1, 'PHYSICAL', $2) returning key", uuid7(), owner
        )
        for _ in range(count)
    ]


async def rate(db: Any, key: int, version: int, from_period: int, power_kw: float) -> None:
    await db.execute(
        """insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw,
             rated_discharge_power_kw, energy_capacity_kwh, min_state_of_charge, max_state_of_charge, charge_efficiency,
             discharge_efficiency, fcr_limit_ratio, recorded_by)
           values ($1, $2, $3, $4::float8, $4::float8 / 3, 2 * $4::float8, 0.1, 0.95, 0.9, 0.92, 0.8, $5)""",
        key, version, period_start(from_period), power_kw, uuid7(),
    )  # fmt: skip


async def lose(db: Any, key: int, first: int, end: int, power_kw: float) -> UUID:
    lost = uuid7()
    await db.execute(
        """insert into unavailability (asset_key, id, description, type, starts_at, ends_at, energy_kwh,
             charge_power_kw, discharge_power_kw, created_by)
           values ($1, $2, '', 'OUTAGE', $3, $4, 3 * $5::float8, $5::float8, 2 * $5::float8, $2)""",
        key, lost, period_start(first) + timedelta(minutes=3), period_start(end), power_kw,
    )  # fmt: skip
    return lost


def holding(dice: random.Random, first: int, end: int, *, is_firm: bool = True) -> Holding:
    kind = dice.choice([HoldingKind.VIRTUAL_ASSET, HoldingKind.FCR, HoldingKind.AFRR_CAPACITY])
    is_virtual = kind is HoldingKind.VIRTUAL_ASSET
    return Holding(
        kind,
        uuid7(),
        first,
        end,
        dice.uniform(0, 1000),
        dice.uniform(0, 1000),
        dice.uniform(0, 2000),
        is_firm,
        OneWayEfficiency(dice.uniform(0.8, 1), 0.9) if is_virtual else None,
        uuid7() if is_virtual else None,
        None if is_virtual else "NEGPOS_00_04",
    )


async def read_text(db: Any, keys: list[int], first: int = FIRST, end: int = END) -> str | None:
    row = await _TEXT.fetchrow(
        db,
        batteries=keys,
        from_instant=period_start(first),
        to_instant=period_start(end),
        from_period=first,
        to_period=end,
    )
    text: str | None = row["standing"]
    return text


def in_order(capacity: dict[int, BatteryCapacity]) -> Any:
    return {
        key: (
            sorted(one.ratings_and_outages.ratings, key=lambda rating: rating.valid_from),
            sorted(one.ratings_and_outages.outages, key=lambda outage: (outage.start, outage.charge_power_kw)),
            sorted(one.holdings, key=lambda held: held.holder_id),
        )
        for key, one in capacity.items()
    }


class TestTheTextOfAStanding:
    @pytest.mark.parametrize("seed", range(12))
    async def test_says_what_the_rows_say(self, db: Any, seed: int) -> None:
        dice = random.Random(seed)
        keys = await new_batteries(db, 3)
        for key in keys:
            for version in range(1, dice.randrange(1, 5)):
                await rate(db, key, version, dice.choice([FIRST - 500, FIRST, FIRST + 96, END]), dice.uniform(1, 9999))
            for _ in range(dice.randrange(4)):
                start = dice.randrange(FIRST - 200, END + 100)
                await lose(db, key, start, start + dice.randrange(1, 200), dice.uniform(0, 500))
            spans = [(start, start + dice.randrange(1, 300)) for start in dice.sample(range(FIRST - 300, END + 50), 4)]
            held = [holding(dice, *span, is_firm=dice.random() < 0.7) for span in spans]
            await write_holdings(db, [], [(key, one) for one in held])
        text = await read_text(db, keys)
        expected = await load_firm_capacity(db, keys, FIRST, END)
        assert in_order(decode_battery_capacity(text or "[]", *keys)) == in_order(expected)

    async def test_has_what_is_alike_as_often_as_it_is_there(self, db: Any) -> None:
        """Two outages of a kind at the same time are both missing."""
        [key] = await new_batteries(db, 1)
        await rate(db, key, 1, FIRST, 1000)
        for _ in range(2):
            await lose(db, key, FIRST, END, 10)
        for found in (
            decode_battery_capacity(await read_text(db, [key]) or "", key),
            await load_firm_capacity(db, [key], FIRST, END),
        ):
            assert [one.charge_power_kw for one in found[key].ratings_and_outages.outages] == [10, 10]
        window = Window(period_start(FIRST), period_start(END))
        loaded = await load_ratings_and_outages(db, [key], window)
        assert [one.charge_power_kw for one in loaded[key].outages] == [10, 10]

    async def test_is_another_after_whatever_changes_a_book_in_its_periods(self, db: Any) -> None:
        dice = random.Random(7)
        [key] = await new_batteries(db, 1)
        await rate(db, key, 1, FIRST - 1, 1000)
        kept, other = holding(dice, FIRST, END), holding(dice, FIRST + 4, FIRST + 8)
        await write_holdings(db, [], [(key, kept)])
        texts = [await read_text(db, [key])]

        async def note_change() -> None:
            texts.append(await read_text(db, [key]))

        await rate(db, key, 2, FIRST - 1, 999)
        await note_change()
        lost = await lose(db, key, END - 4, END + 4, 10)
        await note_change()
        await db.execute("update unavailability set charge_power_kw = 11 where id = $1", lost)
        await note_change()
        await db.execute("update unavailability set ends_at = ends_at - $2::interval where id = $1", lost, PERIOD)
        await note_change()
        await write_holdings(db, [], [(key, other)])
        await note_change()
        await write_holdings(db, [(key, kept.holder_id)], [])
        await note_change()
        assert len(set(texts)) == len(texts)
