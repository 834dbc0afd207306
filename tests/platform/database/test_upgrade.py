"""A database of an earlier release is backed up there, restored here, upgraded, and served."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from contextlib import asynccontextmanager
from dataclasses import replace

import asyncpg
import pytest
from tests.capacity.test_migration import SCENE
from tests.conftest import execute, running, server_url, url_of
from tests.people import PASSWORD, client_of, password_hash

from gridloom.platform.backups.dump import back_up, restore
from gridloom.platform.database.environment import establish_environment
from gridloom.platform.database.migrate import MIGRATIONS, migrate, pending_migrations

OWNER = "00000000-0000-0000-0000-0000000000aa"
PHYSICAL, VIRTUAL = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))

MORE = f"""
insert into member (id, organisation_id, username, display_name, role, password_hash)
values ('00000000-0000-0000-0000-0000000000bb', '{OWNER}', 'ada', 'Ada', 'ADMIN', '{password_hash()}');
insert into physical_asset (asset_key, name, delivery_zone, control_area)
select key, 'Hall 3', 'TenneT', 'TenneT' from asset where kind = 'PHYSICAL';
insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw, rated_discharge_power_kw,
  energy_capacity_kwh, min_state_of_charge, max_state_of_charge, charge_efficiency, discharge_efficiency,
  fcr_limit_ratio, recorded_by)
select key, 1, '2020-01-01T00:00Z', 10000, 10000, 20000, 0, 1, 0.9, 0.9, 1, id from asset where kind = 'PHYSICAL';
insert into wholesale_trade (asset_key, trade_id, period, side, volume_mwh, price_eur_mwh, market, recorded_at,
  recorded_by)
select key, 'T1', '2027-01-01T00:00Z', 'SELL', 0.25, 84.31, 'INTRADAY', now(), id from asset where kind = 'VIRTUAL';
insert into logbook_entry (asset_key, id, title, description, type, impact, starts_at, tags, source)
select key, gen_random_uuid(), 'Filters changed', '', 'MAINTENANCE', 'NEUTRAL', '2026-01-01T00:00Z', '{{}}', 'USER'
from asset where kind = 'PHYSICAL';
"""

# What the release before 0230 let stand: a battery that was retired with promises, more cycles promised than it allows,
# and auctions that name no least availability.
BROKEN = f"""
insert into organisation (id, name, kind) values ('{OWNER}', 'Owner', 'PARTICIPANT');
insert into member (id, organisation_id, username, display_name, role, password_hash)
values ('00000000-0000-0000-0000-0000000000bb', '{OWNER}', 'ada', 'Ada', 'ADMIN', '{password_hash()}');
insert into asset (id, kind, organisation_id) values ('{PHYSICAL}', 'PHYSICAL', '{OWNER}'),
  ('{VIRTUAL}', 'VIRTUAL', '{OWNER}'), ('00000000-0000-0000-0000-000000000009', 'PHYSICAL', '{OWNER}');
insert into physical_asset (asset_key, name, delivery_zone, control_area, status)
select key, 'Hall ' || right(id::text, 1), 'TenneT', 'TenneT', 'DECOMMISSIONED' from asset where kind = 'PHYSICAL';
insert into physical_asset_parameters (asset_key, version, valid_from, rated_charge_power_kw, rated_discharge_power_kw,
  energy_capacity_kwh, min_state_of_charge, max_state_of_charge, charge_efficiency, discharge_efficiency,
  fcr_limit_ratio, daily_cycle_limit, recorded_by)
select key, version, '2020-01-01T00:00Z', 9000 + 1000 * version, 10000, 20000, 0, 1, 0.9, 0.9, 1, 1, id
from asset, generate_series(1, 2) as version where kind = 'PHYSICAL';
insert into virtual_asset (asset_key, organisation_id, name, start_at, end_at, delivery_zone, rated_charge_power_kw,
  rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency, daily_cycle_limit,
  gate_closure_s, initial_soc, final_soc_target, final_soc_tolerance, created_at, version, end_kwh)
select key, organisation_id, 'Loom', '2026-01-01T00:00Z', '2031-01-01T00:00Z', 'TenneT', 1000, 2000, 4000, 0.9, 0.9, 3,
  480, 0.5, 0.5, 0.01, '2026-01-01T00:00Z', 1, 2000 from asset where kind = 'VIRTUAL';
insert into virtual_backing (asset_key, physical_asset_key, position, share, charge_kw, discharge_kw, energy_kwh)
select v.key, p.key, 0, 1, 1000, 2000, 4000 from asset v, asset p where v.kind = 'VIRTUAL' and p.id = '{PHYSICAL}';
insert into virtual_block (asset_key, id, since_version, lane, first_period, end_period, market, charge_kw,
  discharge_kw)
select key, gen_random_uuid(), 1, 0, (extract(epoch from timestamptz '2026-01-01T00:00Z') / 900)::int,
  (extract(epoch from timestamptz '2031-01-01T00:00Z') / 900)::int, 'WHOLESALE', 1000, 2000
from asset where kind = 'VIRTUAL';
insert into auction (id, opens_at, closes_at, item_id, delivery_start, delivery_end, delivery_zone,
  rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency,
  initial_soc, last_soc_target, final_soc_tolerance, state)
select ('00000000-0000-0000-0000-00000000000' || number)::uuid, '2026-01-01T00:00Z', closes, gen_random_uuid(),
  '2031-01-02T00:00Z', '2031-01-03T00:00Z', 'TenneT', 100, 200, 300, 0.9, 0.9, 0.5, 0.5, 0.01, state
from (values (3, timestamptz '2031-01-01T00:00Z', 'SCHEDULED'), (4, '2026-02-01T00:00Z', 'CANCELLED'))
  as a (number, closes, state);
insert into auction_order (auction_id) select id from auction;
insert into auction_participant (auction_id, organisation_id) select id, '{OWNER}' from auction;
insert into auction_backing select id, '{PHYSICAL}', 1 from auction;
insert into capacity_holding (asset_key, holder_id, kind, first_period, end_period, charge_kw, discharge_kw, energy_kwh,
  is_firm, charge_efficiency, discharge_efficiency, organisation_id)
select p.key, h.id::uuid, h.kind, (extract(epoch from h.starts) / 900)::int, (extract(epoch from h.ends) / 900)::int,
  1000, 2000, 4000, true, 0.9, 0.9, null
from asset p, (values
  ('{VIRTUAL}', 'VIRTUAL_ASSET', timestamptz '2026-01-01T00:00Z', timestamptz '2031-01-01T00:00Z'),
  ('00000000-0000-0000-0000-000000000003', 'AUCTION', '2031-01-02T00:00Z', '2031-01-03T00:00Z'))
  as h (id, kind, starts, ends) where p.id = '{PHYSICAL}';
"""


@asynccontextmanager
async def empty_database():
    server, name = server_url(), f"test_{uuid.uuid4().hex}"
    await execute(server, f"create database {name}")
    try:
        yield url_of(server, name)
    finally:
        await execute(server, f"drop database {name} with (force)")


async def fill_as_of(url, first_missing, directory, rows=SCENE + MORE):
    """The schema before a migration, with rows in it."""
    directory.mkdir()
    for path in MIGRATIONS.glob("*.sql"):
        if path.stem < first_missing:
            shutil.copy(path, directory)
    connection = await asyncpg.connect(url)
    await migrate(connection, directory)
    await connection.execute(rows)
    await connection.close()


@pytest.mark.parametrize("first_missing", ["0061", "0100"])
class TestADatabaseOfAnEarlierRelease:
    async def test_is_carried_over_and_served(self, settings, tmp_path, first_missing):
        async with empty_database() as old, empty_database() as new:
            await fill_as_of(old, first_missing, tmp_path / "migrations")
            dump = tmp_path / "dump"
            await asyncio.to_thread(back_up, replace(settings, database_url=old), dump)
            await asyncio.to_thread(restore, replace(settings, database_url=new), dump)
            connection = await asyncpg.connect(new)
            applied = await migrate(connection)
            assert applied == sorted(path.stem for path in MIGRATIONS.glob("*.sql") if path.stem >= first_missing)
            assert await pending_migrations(connection) == []
            await establish_environment(connection, "sandbox")
            await connection.close()
            async with running(replace(settings, database_url=new)) as edge:
                await self.see_everything(edge)

    async def see_everything(self, edge):
        async with client_of(edge) as anonymous:
            login = {"username": "ada", "password": PASSWORD}
            signed_in = await anonymous.post("/auth/public/authenticate", json=login)
            assert signed_in.status_code == 200, signed_in.text
        async with client_of(edge, signed_in.json()["access_token"]) as ada:

            async def read(path, **params):
                answer = await ada.get(path, params=params)
                assert answer.status_code == 200, answer.text
                return answer.json()

            assert (await read(f"/physical-assets/{PHYSICAL}"))["name"] == "Hall 3"
            assert (await read(f"/physical-assets/{PHYSICAL}/logbook"))[0]["title"] == "Filters changed"
            assert (await read(f"/organisations/{OWNER}/virtual-assets"))[0]["name"] == "Loom"
            (trade,) = await read("/settlements/wholesale-trades", **{"asset-id": VIRTUAL})
            assert (trade["tradeID"], trade["volume"], trade["price"]) == ("T1", 0.25, 84.31)
            named = {"name": "Hall 4"}
            etag = (await ada.get(f"/physical-assets/{PHYSICAL}")).headers["etag"]
            changed = await ada.patch(f"/physical-assets/{PHYSICAL}", json=named, headers={"If-Match": etag})
            assert changed.status_code == 200, changed.text


KEYS = f"""
insert into api_key (id, member_id, name, permissions, secret_hash, expires_at) values
  (gen_random_uuid(), '00000000-0000-0000-0000-0000000000bb', 'endless', '{{Read:monitoring}}', sha256('a'), null),
  (gen_random_uuid(), '00000000-0000-0000-0000-0000000000bb', 'short', '{{Read:monitoring}}', sha256('b'),
   now() + interval '3 days');
insert into invitation (id, organisation_id, email, role, token_hash, invited_by, expires_at, accepted_at)
values ('00000000-0000-0000-0000-0000000000cc', '{OWNER}', 'ada@example.org', 'ADMIN', sha256('c'),
        gen_random_uuid(), now(), now());
insert into audit_log (organisation_id, id, actor_kind, action, method, resource, status, details)
values ('{OWNER}', gen_random_uuid(), 'USER', 'acceptInvitation', 'POST', '/auth/public/invitations/accept', 201,
        '{{"userID": "00000000-0000-0000-0000-0000000000bb", "invitationID": "00000000-0000-0000-0000-0000000000cc"}}');
insert into session (id, member_id, created_at, expires_at) values
  ('00000000-0000-0000-0000-0000000000dd', '00000000-0000-0000-0000-0000000000bb', now() - interval '1 hour',
   now() + interval '30 days');
insert into console_session (cookie_hash, session_id) values (sha256('d'), '00000000-0000-0000-0000-0000000000dd');
"""


class TestAccountsOfAnEarlierRelease:
    async def test_get_an_end_of_their_keys_and_sessions_and_their_address(self, settings, tmp_path):
        async with empty_database() as old, empty_database() as new:
            await fill_as_of(old, "0230", tmp_path / "migrations")
            await execute(old, KEYS)
            dump = tmp_path / "dump"
            await asyncio.to_thread(back_up, replace(settings, database_url=old), dump)
            await asyncio.to_thread(restore, replace(settings, database_url=new), dump)
            connection = await asyncpg.connect(new)
            await migrate(connection)
            days = await connection.fetch(
                "select name, round(extract(epoch from expires_at - now()) / 86400)::int as days from api_key"
            )
            assert {row["name"]: row["days"] for row in days} == {"endless": 365, "short": 3}
            assert await connection.fetchval("select email from member") == "ada@example.org"
            assert await connection.fetchval(
                "select expires_at - created_at < interval '12 hours 1 second' from session"
            )
            await connection.close()


class TestADatabaseThatBreaksNewerRules:
    async def test_is_carried_over_as_the_rules_say(self, settings, tmp_path):
        async with empty_database() as old, empty_database() as new:
            await fill_as_of(old, "0230", tmp_path / "migrations", BROKEN)
            dump = tmp_path / "dump"
            await asyncio.to_thread(back_up, replace(settings, database_url=old), dump)
            await asyncio.to_thread(restore, replace(settings, database_url=new), dump)
            connection = await asyncpg.connect(new)
            await migrate(connection)
            await establish_environment(connection, "sandbox")
            waiting = await connection.fetch(
                "select kind from job where kind in ('delivery.dispatch', 'physical-assets.availability-changed')"
            )
            assert len(waiting) == 2
            await connection.close()
            async with running(replace(settings, database_url=new)) as edge:
                await self.see_what_became_of_it(edge)

    async def see_what_became_of_it(self, edge):
        async with client_of(edge) as anonymous:
            login = {"username": "ada", "password": PASSWORD}
            signed_in = await anonymous.post("/auth/public/authenticate", json=login)
            assert signed_in.status_code == 200, signed_in.text
        async with client_of(edge, signed_in.json()["access_token"]) as ada:

            async def read(path, **params):
                answer = await ada.get(path, params=params)
                assert answer.status_code == 200, answer.text
                return answer.json()

            [outage] = await read(f"/physical-assets/{PHYSICAL}/unavailability")
            assert outage["end"] == "2031-01-03T00:00:00Z", "until the last of what stands"
            assert outage["volume"] == {
                "energyCapacity": 20_000,
                "powerCapacity": {"charge": 11_000, "discharge": 10_000},
            }
            assert await read("/physical-assets/00000000-0000-0000-0000-000000000009/unavailability") == []
            health = await read(f"/physical-assets/{PHYSICAL}/health")
            assert {"VIRTUAL_ASSET"} <= {conflict["kind"] for conflict in health["conflicts"]}
            kept = await read(f"/organisations/{OWNER}/virtual-assets/{VIRTUAL}")
            assert kept["dailyCycleLimit"] == 3, "what was promised keeps its limit"
            running_one, cancelled = await read("/auctions")
            if "cancelled" in running_one:
                running_one, cancelled = cancelled, running_one
            assert running_one["minimumAvailability"] == 0
            assert running_one["item"]["availability"] == {"power": 0, "energy": 0}
            assert cancelled["cancelled"] == {"at": "2026-02-01T00:00:00Z", "reason": "BY_OPERATOR"}
            refused = await ada.delete(f"/physical-assets/{PHYSICAL}/unavailability/{outage['id']}")
            assert refused.status_code == 409, refused.text
