"""What the lookup of waiting bids costs: an index lookup per key, however many bids there are."""

from datetime import UTC, date, datetime, timedelta

import pytest
from tests.assets import register_asset
from tests.costs import rows_read

from gridloom.ancillary.products import PRODUCTS, product_key
from gridloom.ancillary.store import PENDING, read_pending_bids
from gridloom.kernel.window import Window
from gridloom.physical_assets.precheck_store import read_precheck


@pytest.fixture(scope="module")
async def crowded(app, new_organisation):
    """An asset with 40,000 bids, half of them waiting, among 20 others with 1,000 each; its key."""
    owner = await new_organisation()
    asset = await register_asset(owner)
    key = await app.pool.fetchval("select key from asset where id = $1", asset.id)
    others = [
        await app.pool.fetchval("select key from asset where id = $1", (await register_asset(owner)).id)
        for _ in range(20)
    ]
    rows = [
        (day, code)
        for day in (date(2030, 1, 1) + timedelta(days=n) for n in range(200))
        for code, product in PRODUCTS.items()
        if product.is_traded_on(day)
    ]
    statement = """
        insert into ancillary_bid (asset_key, id, delivery_day, product, delivery_start, delivery_end,
          capacity_price_eur, offered_capacity_kw, energy_price_eur, status, placed_at, placed_by)
        select $1, gen_random_uuid(), day, product, day, day + 1, 1, 1000, 1,
               case when n % 2 = 0 then 'OFFERED' else 'ACCEPTED' end, now(), gen_random_uuid()
        from unnest($2::date[], $3::text[]) with ordinality as given (day, product, n)
    """
    await app.pool.execute(statement, key, [row[0] for row in rows], [row[1] for row in rows])
    for other in others:
        few = rows[:1000]
        await app.pool.execute(statement, other, [row[0] for row in few], [row[1] for row in few])
    await app.pool.execute(
        """
        insert into capacity_holding (asset_key, holder_id, kind, first_period, end_period, charge_kw, discharge_kw,
          energy_kwh, is_firm)
        select asset_key, id, 'AFRR_ENERGY', extract(epoch from delivery_start)::int / 900,
               extract(epoch from delivery_end)::int / 900, 0, 1000, 250, true
        from ancillary_bid where asset_key = $1
        """,
        key,
    )
    await app.pool.execute("vacuum analyze ancillary_bid")
    return key


def some_keys(count=200):
    codes = [code for code, product in PRODUCTS.items() if product.first <= 92]
    return [product_key(date(2030, 1, 1) + timedelta(days=n % 400), codes[n % len(codes)]) for n in range(count)]


class TestLookupOfWaitingBids:
    async def test_reads_the_index_and_never_the_table_from_end_to_end(self, app, crowded):
        keys = some_keys()
        days, codes = [key.delivery_day for key in keys], [key.product.code for key in keys]
        for mode in ("force_generic_plan", "force_custom_plan"):
            async with app.pool.acquire() as connection, connection.transaction():
                await connection.execute(f"set local plan_cache_mode = {mode}")
                await connection.execute(f"prepare waiting (int, date[], text[]) as {PENDING}")
                listed = ",".join(f"'{day}'" for day in days)
                coded = ",".join(f"'{code}'" for code in codes)
                plan = await connection.fetch(
                    f"explain (analyze, buffers) execute waiting ({crowded}, array[{listed}]::date[], array[{coded}])"
                )
                await connection.execute("deallocate waiting")
            text = "\n".join(row[0] for row in plan)
            assert "Seq Scan" not in text, text
            assert "Index Only Scan using ancillary_bid_waiting" in text, text

    async def test_of_200_keys_touches_no_more_than_their_bids(self, app, crowded):
        keys = some_keys()
        async with app.pool.acquire() as connection, connection.transaction():
            before = await rows_read(connection, "ancillary_bid")
            found = await read_pending_bids(connection, crowded, keys)
            after = await rows_read(connection, "ancillary_bid")
        assert 0 < len(found) < 200
        assert len(found) <= after - before <= 2 * len(keys)


class TestLookAhead:
    async def test_of_an_asset_without_bids_never_walks_those_of_others(self, app, crowded, new_organisation):
        asset = await register_asset(await new_organisation())
        key = await app.pool.fetchval("select key from asset where id = $1", asset.id)
        window = Window(datetime(2030, 6, 1, tzinfo=UTC), datetime(2030, 7, 1, tzinfo=UTC))
        async with app.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            # As if one asset had them all: the planner then expects to find some wherever it looks.
            await connection.execute("alter table capacity_holding alter asset_key set (n_distinct = 1)")
            await connection.execute("analyze capacity_holding")
            await connection.execute("set local plan_cache_mode = force_generic_plan")
            before = await rows_read(connection, "capacity_holding")
            await read_precheck(connection, key, window, window.start)
            after = await rows_read(connection, "capacity_holding")
            await transaction.rollback()
        assert after - before == 0
