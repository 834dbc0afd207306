"""Reading by keys, of which there is mostly one."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.assets import register_asset

from gridloom.capacity.store import load_ratings_and_outages
from gridloom.kernel.window import Window
from gridloom.platform.database.keyed import fetch_by_keys

STATEMENT = "select key from asset where key = any($1::int[]) and kind = $2 order by key"


class TestKeys:
    async def test_are_found_alone_as_among_others(self, app, new_organisation):
        owner = await new_organisation()
        ids = [(await register_asset(owner)).id for _ in range(2)]
        keys = [row["key"] for row in await app.pool.fetch("select key from asset where id = any($1::uuid[])", ids)]
        for asked in ([], keys[:1], sorted(keys)):
            found = await fetch_by_keys(app.pool, STATEMENT, asked, "PHYSICAL")
            assert [row["key"] for row in found] == asked
        assert await fetch_by_keys(app.pool, STATEMENT, keys[:1], "VIRTUAL") == []

    async def test_of_one_battery_are_looked_up_by_a_statement_whose_plan_can_be_cached(self, app, new_organisation):
        """Whether it is kept, PostgreSQL decides anew by its statistics; over a list it never would."""
        asset = await register_asset(await new_organisation())
        window = Window(datetime(2030, 6, 1, tzinfo=UTC), datetime(2030, 6, 2, tzinfo=UTC))
        async with app.pool.acquire() as connection:
            key = await connection.fetchval("select key from asset where id = $1", asset.id)
            for _ in range(10):
                assert len((await load_ratings_and_outages(connection, [key], window))[key].ratings) == 1
            made = await connection.fetch(
                """
                select generic_plans + custom_plans as plans from pg_prepared_statements
                where statement like '%parameters_in_force where asset_key = $1%'
                  and parameter_types[1] = 'integer'::regtype
                """
            )
        assert any(row["plans"] >= 10 for row in made), "one statement is asked all ten times"
