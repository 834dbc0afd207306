"""Reading by keys, of which there is mostly one."""

from __future__ import annotations

from tests.assets import register_asset

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
