"""What stood before there was a book is in it afterwards."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import asyncpg
from tests.conftest import execute, server_url, url_of

from gridloom.platform.database.migrate import MIGRATIONS, migrate

SCENE = """
insert into organisation (id, name, kind) values ('00000000-0000-0000-0000-0000000000aa', 'Owner', 'PARTICIPANT');
insert into asset (id, kind, organisation_id) values
  ('00000000-0000-0000-0000-000000000001', 'PHYSICAL', '00000000-0000-0000-0000-0000000000aa'),
  ('00000000-0000-0000-0000-000000000002', 'VIRTUAL', '00000000-0000-0000-0000-0000000000aa');
insert into virtual_asset (asset_key, organisation_id, name, start_at, end_at, delivery_zone, rated_charge_power_kw,
  rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency, gate_closure_s, initial_soc,
  final_soc_target, final_soc_tolerance, created_at, version, end_kwh)
select key, organisation_id, 'Loom', '2027-01-01T00:00Z', '2027-01-01T01:00Z', 'TenneT', 1000, 2000, 4000, 0.9, 0.8,
  480, 0.5, 0.5, 0.01, now(), 1, 2000 from asset where kind = 'VIRTUAL';
insert into virtual_backing (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw, energy_kwh)
select v.key, p.key, 0, 0.5, 500, 1000, 2000 from asset v, asset p where v.kind = 'VIRTUAL' and p.kind = 'PHYSICAL';
insert into auction (id, opens_at, closes_at, item_id, delivery_start, delivery_end, delivery_zone,
  rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency,
  initial_soc, last_soc_target, final_soc_tolerance, state)
values
  ('00000000-0000-0000-0000-000000000003', '2027-01-01T00:00Z', '2027-01-01T01:00Z', gen_random_uuid(),
   '2027-01-02T00:00Z', '2027-01-02T00:30Z', 'TenneT', 100, 200, 300, 1, 1, 0.5, 0.5, 0.01, 'SCHEDULED'),
  ('00000000-0000-0000-0000-000000000004', '2027-01-01T00:00Z', '2027-01-01T01:00Z', gen_random_uuid(),
   '2027-01-02T00:00Z', '2027-01-02T00:30Z', 'TenneT', 100, 200, 300, 1, 1, 0.5, 0.5, 0.01, 'CANCELLED');
insert into auction_backing select id, '00000000-0000-0000-0000-000000000001', 1 from auction;
insert into ancillary_bid (asset_key, id, delivery_day, product, delivery_start, delivery_end, capacity_price_eur,
  offered_capacity_kw, status, placed_at, placed_by)
select p.key, b.id::uuid, '2027-01-01', b.product, '2027-01-01T00:00Z', '2027-01-01T04:00Z', 1, 5000, b.status,
  now(), p.id
from asset p, (values
  ('00000000-0000-0000-0000-000000000005', 'NEGPOS_00_04', 'OFFERED'),
  ('00000000-0000-0000-0000-000000000006', 'POS_00_04', 'ACCEPTED'),
  ('00000000-0000-0000-0000-000000000007', 'NEG_001', 'OFFERED'),
  ('00000000-0000-0000-0000-000000000008', 'NEG_00_04', 'REJECTED')) as b (id, product, status)
where p.kind = 'PHYSICAL';
insert into ancillary_result (asset_key, bid_id, delivery_day, product, revision, accepted, accepted_capacity_kw,
  recorded_at, recorded_by)
select asset_key, id, delivery_day, product, revision, true, revision * 1000, now(), id
from ancillary_bid, generate_series(1, 3) as revision where status = 'ACCEPTED';
"""


async def test_the_book_takes_over_promises_auctions_and_bids(tmp_path: Path) -> None:
    server, name = server_url(), f"test_{uuid.uuid4().hex}"
    earlier = tmp_path / "migrations"
    earlier.mkdir()
    for path in MIGRATIONS.glob("*.sql"):
        if path.stem < "0100":
            shutil.copy(path, earlier)
    await execute(server, f"create database {name}")
    try:
        connection = await asyncpg.connect(url_of(server, name))
        await migrate(connection, earlier)
        await connection.execute(SCENE)
        await migrate(connection)
        rows = await connection.fetch(
            """select right(holder_id::text, 1) as holder, kind, end_period - first_period as periods, charge_kw,
                      discharge_kw, energy_kwh, is_firm, charge_efficiency from capacity_holding order by holder_id"""
        )
        accepted = await connection.fetchval("select accepted_capacity_kw from ancillary_bid where status = 'ACCEPTED'")
        await connection.close()
    finally:
        await execute(server, f"drop database {name} with (force)")
    assert [tuple(row) for row in rows] == [
        ("2", "VIRTUAL_ASSET", 4, 500, 1000, 2000, True, 0.9),
        ("3", "AUCTION", 2, 100, 200, 300, True, 1),
        ("5", "FCR", 16, 5000, 5000, 2500, False, None),
        ("6", "AFRR_CAPACITY", 16, 0, 3000, 3000, True, None),
        ("7", "AFRR_ENERGY", 16, 5000, 0, 1250, False, None),
    ]
    assert accepted == 3000
