"""What a list of assets costs: as much as there is to show, however many assets and grants others have."""

import pytest
from tests.assets import register_asset
from tests.costs import rows_read

from gridloom.physical_assets.store import list_assets

CROWD = """
with registered as (
  insert into asset (id, kind, organisation_id) select gen_random_uuid(), 'PHYSICAL', $1 from generate_series(1, 3000)
  returning key
), described as (
  insert into physical_asset (asset_key, name, delivery_zone, control_area)
  select key, 'Crowd', 'TenneT', 'TenneT' from registered
)
insert into asset_grant (asset_key, organisation_id, permissions, granted_by)
select key, $2, array['Read:physical-assets'], gen_random_uuid() from registered
"""


class TestListOfAssets:
    @pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
    async def test_never_walks_what_others_own_or_were_granted(self, app, new_organisation, mode):
        reader, crowd, grantee = [await new_organisation() for _ in range(3)]
        asset = await register_asset(reader)
        async with app.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            await connection.execute(CROWD, crowd.id, grantee.id)
            # As if one organisation had them all: the planner then expects as many wherever it looks.
            for table in ("asset", "asset_grant"):
                await connection.execute(f"alter table {table} alter organisation_id set (n_distinct = 1)")
            await connection.execute("analyze asset, physical_asset, asset_grant")
            await connection.execute(f"set local plan_cache_mode = {mode}")
            before = await rows_read(connection, "asset", "physical_asset", "asset_grant")
            found = await list_assets(connection, reader.id, organisation_id=None, fleet_id=None, after=None, limit=101)
            after = await rows_read(connection, "asset", "physical_asset", "asset_grant")
            await transaction.rollback()
        assert [str(each.id) for each in found] == [asset.id]
        assert 0 < after - before < 15
