"""Settlements over HTTP: who may, in which formats, what it answers, and how lists go on."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx2
import pytest
from tests.revenue.world import World

from gridloom.kernel.permission import Permission
from gridloom.platform.http import encode_cursor
from gridloom.settlements import recording, routes
from gridloom.settlements.model import Origin
from gridloom.settlements.recording import Recorder

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
KINDS: dict[str, dict[str, Any]] = {
    "wholesale-trades": {
        "tradeID": "T1",
        "time": "2026-03-29T00:00:00Z",
        "side": "BUY",
        "volume": 2.5,
        "price": 12.34,
        "market": "OTC",
    },
    "fcr": {
        "deliveryDay": "2026-03-29",
        "product": "NEGPOS_00_04",
        "capacity": 7,
        "settlementPrice": 22.286667,
    },
    "afrr-capacity": {"deliveryDay": "2026-03-29", "product": "NEG_04_08", "capacity": 5, "price": 4.5},
    "afrr-energy": {"time": "2026-03-29T00:00:00Z", "direction": "POS", "volume": 1.25, "price": 98.76},
    "net-off": {"time": "2026-03-29T00:00:00Z", "volume": -0.5},
    "tolling-contracts": {
        "contractID": "C1",
        "start": "2026-01-01T00:00:00+01:00",
        "end": "2027-01-01T00:00:00+01:00",
        "annualPrice": 120000,
    },
}
CHANGED: dict[str, dict[str, Any]] = {
    "wholesale-trades": {"price": 1},
    "fcr": {"capacity": 8},
    "afrr-capacity": {"deliveryHours": 2},
    "afrr-energy": {"volume": 0},
    "net-off": {"volume": 3},
    "tolling-contracts": {"end": "2026-07-01T00:00:00Z"},
}


@pytest.fixture
async def asset(world: World) -> UUID:
    return await world.bare_asset()


class TestActivations:
    async def test_and_they_alone_are_handed_on_to_the_energy_of_their_assets(
        self, operator: httpx2.AsyncClient, asset: UUID, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        handed_on: list[set[int]] = []

        async def note(db: Any, touched: Any, now: datetime) -> None:
            handed_on.append({change.asset_key for change in touched})

        monkeypatch.setattr(recording, "propagate_activations", note)
        for kind, row in KINDS.items():
            answer = await operator.post(f"/settlements/{kind}", json=[{"assetID": str(asset), **row}])
            assert answer.status_code == 200, answer.text
        again = [{"assetID": str(asset), **KINDS["afrr-energy"]}]
        assert (await operator.post("/settlements/afrr-energy", json=again)).json()["unchanged"] == 1
        assert len(handed_on) == 1, "what says nothing new changes nothing"
        assert len(handed_on[0]) == 1

    async def test_around_midnight_are_stored_on_the_days_of_utc_to_which_they_belong(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        virtual = await world.virtual_asset()
        facts = [("2026-05-01T23:45:00Z", "POS", 0.5), ("2026-05-02T00:00:00Z", "NEG", 0.25)]
        rows = [
            {"assetID": str(virtual), "time": time, "direction": direction, "volume": volume, "price": 90}
            for time, direction, volume in facts
        ]
        answer = await operator.post("/settlements/afrr-energy", json=rows)
        assert answer.status_code == 200, answer.text
        stored = await world.pool.fetch(
            """select to_timestamp(day * 86400::bigint)::date as day, up_kwh[96] as last_up, down_kwh[1] as first_down
               from virtual_activation where asset_key = (select key from asset where id = $1) order by day""",
            virtual,
        )
        assert [tuple(row) for row in stored] == [(date(2026, 5, 1), 500, 0), (date(2026, 5, 2), 0, 250)]

    async def test_are_held_to_the_power_in_force_then_however_late_it_was_recorded(
        self, operator: httpx2.AsyncClient, world: World
    ) -> None:
        """20 MW, 40 MW from the second day on and, recorded last, 10 MW on the first: twice as much in MWh an hour."""
        battery = await world.physical_asset(20)
        await world.rate(battery, 40, datetime(2026, 3, 2, tzinfo=UTC))
        await world.rate(battery, 10, datetime(2026, 3, 1, tzinfo=UTC))
        for day, volume, status in ((1, 20, 200), (1, 21, 422), (2, 80, 200), (2, 81, 422)):
            row = {
                "tradeID": f"{day}-{volume}",
                "assetID": str(battery),
                "time": f"2026-03-0{day}T12:00:00Z",
                "side": "SELL",
                "volume": volume,
                "price": 1,
                "market": "OTC",
            }
            answer = await operator.post("/settlements/wholesale-trades", json=[row])
            assert answer.status_code == status, (day, volume, answer.text)


@pytest.mark.parametrize("kind", KINDS)
class TestEveryKind:
    async def test_is_recorded_corrected_and_listed(self, operator: httpx2.AsyncClient, asset: UUID, kind: str) -> None:
        row = {"assetID": str(asset), **KINDS[kind]}
        path = f"/settlements/{kind}"
        first = await operator.post(path, json=[row])
        assert first.status_code == 200, first.text
        assert first.json() == {"received": 1, "inserted": 1, "replaced": 0, "unchanged": 0}
        assert (await operator.post(path, json=[row])).json()["unchanged"] == 1
        corrected = {**row, **CHANGED[kind]}
        assert (await operator.post(path, json=[corrected])).json()["replaced"] == 1
        listed = (await operator.get(path, params={"asset-id": str(asset)})).json()
        assert len(listed) == 1
        for name, value in CHANGED[kind].items():
            assert listed[0][name] == value
        assert listed[0]["supersededAt"] is None
        versions = (await operator.get(path, params={"asset-id": str(asset), "versions": "true"})).json()
        assert len(versions) == 2
        old, new = versions
        assert old["supersededAt"] == new["recordedAt"]
        assert old["supersededBy"] == new["recordedBy"]
        known = await operator.get(path, params={"asset-id": str(asset), "as-of": old["recordedAt"]})
        assert known.json() == [old]

    async def test_is_the_operators_to_record(self, new_organisation: Any, asset: UUID, kind: str) -> None:
        participant = await new_organisation()
        answer = await participant.admin.post(f"/settlements/{kind}", json=[{"assetID": str(asset), **KINDS[kind]}])
        assert answer.status_code == 403

    async def test_names_faults_and_records_nothing(self, operator: httpx2.AsyncClient, asset: UUID, kind: str) -> None:
        row = {"assetID": str(asset), **KINDS[kind]}
        nobody = {**row, "assetID": "0198f0a4-5b6c-7d8e-9f00-112233445566"}
        answer = await operator.post(f"/settlements/{kind}", json=[row, nobody])
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/unknown-settled-asset"
        assert answer.json()["errors"][0]["pointer"] == "/1/assetID"
        answer = await operator.post(f"/settlements/{kind}", json=[row, {**row, "colour": "red"}, 7])
        assert answer.status_code == 400
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/1/colour", "/2"]
        assert (await operator.get(f"/settlements/{kind}", params={"asset-id": str(asset)})).json() == []

    async def test_repeats_the_answer_to_the_same_key(
        self, operator: httpx2.AsyncClient, asset: UUID, kind: str
    ) -> None:
        row = {"assetID": str(asset), **KINDS[kind]}
        headers = {"Idempotency-Key": f"{kind}-{asset}"}
        first = await operator.post(f"/settlements/{kind}", json=[row], headers=headers)
        again = await operator.post(f"/settlements/{kind}", json=[row], headers=headers)
        assert again.json() == first.json() == {"received": 1, "inserted": 1, "replaced": 0, "unchanged": 0}
        assert again.headers["Idempotency-Replayed"] == "true"


class TestATrader:
    @pytest.mark.parametrize("is_operator", [True, False])
    def test_is_who_may_trade_and_not_settle_whoever_it_belongs_to(self, is_operator: bool) -> None:
        """A key of the operator's that was made for trades alone records for no other organisation."""
        by, own = UUID(int=1), UUID(int=2)
        for permissions, recorder in (
            ({Permission.CREATE_TRADES}, Recorder(by, Origin.TRADER, own)),
            ({Permission.CREATE_TRADES, Permission.CREATE_SETTLEMENTS}, Recorder(by)),
        ):
            caller = SimpleNamespace(id=by, organisation_id=own, is_operator=is_operator, permissions=permissions)
            request: Any = SimpleNamespace(caller=caller)
            assert routes._recorder_of(request) == recorder

    async def test_records_its_own_trades_until_the_operator_settles_them(
        self, operator: httpx2.AsyncClient, new_organisation: Any, world: World
    ) -> None:
        holder = await new_organisation()
        asset = await replace(world, organisation_id=holder.id).virtual_asset()
        path = "/settlements/wholesale-trades"
        row = {"assetID": str(asset), **KINDS["wholesale-trades"]}
        first = await holder.trader.post(path, json=[row])
        assert first.status_code == 200, first.text
        assert first.json()["inserted"] == 1
        assert (await holder.engineer.post(path, json=[row])).status_code == 403
        assert (await operator.post(path, json=[{**row, "price": 1}])).json()["replaced"] == 1
        assert (await holder.trader.post(path, json=[row])).json()["unchanged"] == 1
        listed = (await holder.trader.get(path, params={"asset-id": str(asset), "versions": "true"})).json()
        assert [(one["price"], one["origin"]) for one in listed] == [(12.34, "TRADER"), (1, "OPERATOR")]
        trader, settler = [(await one.get("/auth/me")).json()["id"] for one in (holder.trader, operator)]
        assert [(one["recordedBy"], one["supersededBy"]) for one in listed] == [(trader, settler), (settler, None)]

    async def test_records_nothing_of_others(
        self, operator: httpx2.AsyncClient, new_organisation: Any, world: World
    ) -> None:
        holder, other = await new_organisation(), await new_organisation()
        own = await replace(world, organisation_id=holder.id).virtual_asset()
        battery = await replace(world, organisation_id=holder.id).physical_asset()
        others = await replace(world, organisation_id=other.id).virtual_asset()
        rows = [{"assetID": str(id), **KINDS["wholesale-trades"]} for id in (own, battery, others)]
        answer = await holder.admin.post("/settlements/wholesale-trades", json=rows)
        assert answer.status_code == 403
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/1/assetID", "/2/assetID"]
        assert (await holder.admin.get("/settlements/wholesale-trades")).json() == []
        award = [{"assetID": str(own), **KINDS["fcr"]}]
        assert (await holder.admin.post("/settlements/fcr", json=award)).status_code == 403


class TestPlausibility:
    async def test_is_validated_row_by_row(self, operator: httpx2.AsyncClient, world: World) -> None:
        asset = await world.virtual_asset(10.0, end=datetime(2026, 3, 29, 22, tzinfo=UTC))
        row = {"assetID": str(asset), **KINDS["fcr"]}
        rows = [row, {**row, "product": "NEGPOS_04_08", "capacity": 50}, {**row, "deliveryDay": "2026-03-30"}]
        answer = await operator.post("/settlements/fcr", json=rows)
        assert answer.status_code == 422
        assert answer.json()["type"] == "/docs/problems/implausible-settlement"
        assert [error["pointer"] for error in answer.json()["errors"]] == ["/1/capacity", "/2/product"]
        trade = {"assetID": str(asset), **KINDS["wholesale-trades"], "volume": 500}
        assert (await operator.post("/settlements/wholesale-trades", json=[trade])).status_code == 422
        twice = [{**trade, "volume": 1}, {**trade, "volume": 2}]
        answer = await operator.post("/settlements/wholesale-trades", json=twice)
        assert (answer.status_code, answer.json()["type"]) == (422, "/docs/problems/contradicting-rows")


class TestFormats:
    async def test_are_json_ndjson_csv_and_parquet(self, operator: httpx2.AsyncClient, asset: UUID) -> None:
        row = {"assetID": str(asset), **KINDS["net-off"]}
        csv = f"assetID,time,volume\n{asset},2026-03-29T00:15:00Z,1\n"
        for media_type, body in (("application/x-ndjson", json.dumps(row) + "\n"), ("text/csv", csv)):
            answer = await operator.post("/settlements/net-off", content=body, headers={"Content-Type": media_type})
            assert answer.json()["inserted"] == 1, answer.text
        answer = await operator.post("/settlements/net-off", content="x", headers={"Content-Type": "text/plain"})
        assert answer.status_code == 415

    @pytest.mark.parametrize(
        ("cell", "recorded"),
        [("1,5", 1.5), ("-2", -2), ('"1,25"', 1.25), ("1e-1", 0.1), ("1.5", None), ("1.000,5", None), ("1,5,5", None)],
    )
    async def test_take_back_what_excel_saves(
        self, operator: httpx2.AsyncClient, asset: UUID, cell: str, recorded: float | None
    ) -> None:
        """A point in a file with decimal commas may stand between thousands: it is refused."""
        table = f"\ufeffassetID;time;volume\r\n{asset};2026-03-29T00:15:00Z;{cell}\r\n"
        headers = {"Content-Type": "text/csv"}
        answer = await operator.post("/settlements/net-off", content=table.encode(), headers=headers)
        if recorded is None:
            assert answer.status_code == 400
            assert answer.json()["errors"] == [{"pointer": "/0/volume", "detail": "is not a number, such as 84,31"}]
            return
        assert answer.status_code == 200, answer.text
        listed = (await operator.get("/settlements/net-off", params={"asset-id": str(asset)})).json()
        assert [row["volume"] for row in listed] == [recorded]


class TestList:
    async def test_of_a_battery_is_its_owners_and_of_nobody_else(
        self, operator: httpx2.AsyncClient, new_organisation: Any, world: World
    ) -> None:
        owner, stranger = await new_organisation(), await new_organisation()
        battery = await replace(world, organisation_id=owner.id).physical_asset()
        row = {"assetID": str(battery), **KINDS["net-off"]}
        assert (await operator.post("/settlements/net-off", json=[row])).status_code == 200
        params = {"asset-id": str(battery)}
        listed = await owner.viewer.get("/settlements/net-off", params=params)
        assert [one["volume"] for one in listed.json()] == [-0.5]
        assert [one["volume"] for one in (await owner.viewer.get("/settlements/net-off")).json()] == [-0.5]
        refused = await stranger.admin.get("/settlements/net-off", params=params)
        assert refused.status_code == 403
        assert (await stranger.admin.get("/settlements/net-off")).json() == []
        for permission, status in (("Read:revenue", 200), ("Read:schedules", 403), ("Read:physical-assets", 403)):
            friend = await new_organisation()
            await world.pool.execute(
                "insert into asset_grant values ($1, $2, $3, $2)", await world.key_of(battery), friend.id, [permission]
            )
            granted = await friend.admin.get("/settlements/net-off", params=params)
            assert granted.status_code == status, permission

    async def test_of_versions_goes_on_page_by_page(self, operator: httpx2.AsyncClient, asset: UUID) -> None:
        """Those of one fact by the instants at which they were recorded."""
        rows = [{"assetID": str(asset), "time": f"2026-03-29T0{hour}:00:00Z"} for hour in (1, 2)]
        for volume in (1, 2, 30):
            answer = await operator.post("/settlements/net-off", json=[{**row, "volume": volume} for row in rows])
            assert answer.status_code == 200, answer.text
        url, seen = f"/settlements/net-off?asset-id={asset}&versions=true&limit=2", []
        while url:
            page = await operator.get(url)
            assert "E+" not in page.text, "30 is written as a person would"
            seen.append([(one["time"][12], one["volume"]) for one in page.json()])
            url = page.links["next"]["url"] if "next" in page.links else ""
        assert seen == [[("1", 1), ("1", 2)], [("1", 30), ("2", 1)], [("2", 2), ("2", 30)]]

    async def test_goes_on_page_by_page(self, operator: httpx2.AsyncClient, asset: UUID) -> None:
        rows = [{"assetID": str(asset), "time": f"2026-03-29T{hour:02}:00:00Z", "volume": hour} for hour in range(20)]
        await operator.post("/settlements/net-off", json=rows)
        url: str | None = f"/settlements/net-off?asset-id={asset}&limit=7&start=2026-03-29T02:00:00Z"
        seen = []
        while url is not None:
            answer = await operator.get(url)
            seen += [row["volume"] for row in answer.json()]
            link = answer.headers.get("Link")
            url = link.split(">")[0].lstrip("<") if link else None
        assert seen == list(range(2, 20))

    async def test_of_all_assets_goes_on_page_by_page(self, operator: httpx2.AsyncClient, world: World) -> None:
        """Asset by asset, in the order of their time."""
        assets = [str(await world.bare_asset()) for _ in range(2)]
        rows = [
            {"assetID": asset, "time": f"2037-03-29T{hour:02}:00:00Z", "volume": hour}
            for hour in (2, 1)
            for asset in assets[::-1]
        ]
        await operator.post("/settlements/net-off", json=rows)
        window = "start=2037-03-29T00:00:00Z&end=2037-03-29T09:00:00Z"
        first = await operator.get(f"/settlements/net-off?limit=3&{window}")
        rest = await operator.get(first.links["next"]["url"])
        assert len(first.json()) == 3
        listed = [(row["assetID"], row["volume"]) for row in first.json() + rest.json()]
        assert listed == [(asset, hour) for asset in assets for hour in (1, 2)]

    async def test_selects_blocks_by_the_wall_clock(self, operator: httpx2.AsyncClient, asset: UUID) -> None:
        row = {"assetID": str(asset), **KINDS["fcr"]}
        await operator.post("/settlements/fcr", json=[row, {**row, "product": "NEGPOS_04_08"}])

        async def products(start: str, end: str) -> list[str]:
            answer = await operator.get("/settlements/fcr", params={"asset-id": str(asset), "start": start, "end": end})
            return [row["product"] for row in answer.json()]

        assert await products("2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z") == ["NEGPOS_00_04"]
        assert await products("2026-03-29T02:00:00Z", "2026-03-29T06:00:00Z") == ["NEGPOS_04_08"]
        assert await products("2026-03-29T01:00:00Z", "2026-03-29T02:15:00Z") == ["NEGPOS_00_04", "NEGPOS_04_08"]

    async def test_selects_what_overlaps_the_window_to_the_edge(
        self, operator: httpx2.AsyncClient, asset: UUID
    ) -> None:
        """A quarter-hour, a block and a contract, each from its start up to its end; before and after it is none."""
        spans = {
            "wholesale-trades": ("2026-03-29T00:00:00Z", "2026-03-29T00:15:00Z"),
            "afrr-capacity": ("2026-03-29T02:00:00Z", "2026-03-29T06:00:00Z"),
            "afrr-energy": ("2026-03-29T00:00:00Z", "2026-03-29T00:15:00Z"),
            "net-off": ("2026-03-29T00:00:00Z", "2026-03-29T00:15:00Z"),
            "tolling-contracts": ("2025-12-31T23:00:00Z", "2026-12-31T23:00:00Z"),
        }
        for kind, edges in spans.items():
            row = {"assetID": str(asset), **KINDS[kind]}
            assert (await operator.post(f"/settlements/{kind}", json=[row])).status_code == 200
            start, end = (datetime.fromisoformat(edge) for edge in edges)
            for low, high, count in (
                (start - DAY, start, 0),
                (start - DAY, start + SECOND, 1),
                (end - SECOND, end + DAY, 1),
                (end, end + DAY, 0),
            ):
                window = {"start": low.isoformat(), "end": high.isoformat(), "asset-id": str(asset)}
                listed = (await operator.get(f"/settlements/{kind}", params=window)).json()
                assert len(listed) == count, (kind, low, high)

    async def test_refuses_what_makes_no_sense(self, operator: httpx2.AsyncClient) -> None:
        for query in (
            "start=2026-01-02T00:00:00Z&end=2026-01-01T00:00:00Z",
            "versions=true&as-of=2026-01-01T00:00:00Z",
            "cursor=abc",
            "as-of=yesterday",
        ):
            assert (await operator.get(f"/settlements/fcr?{query}")).status_code == 400, query
        unknown = "0198f0a4-5b6c-7d8e-9f00-112233445566"
        assert (await operator.get(f"/settlements/fcr?asset-id={unknown}")).status_code == 404


class TestEvent:
    async def test_tells_whose_figures_changed_and_when(
        self, operator: httpx2.AsyncClient, asset: UUID, world: World
    ) -> None:
        row = {"assetID": str(asset), **KINDS["fcr"]}
        for request_id, changed in (("first", 1), ("again", 0)):
            headers = {"X-Request-ID": f"{request_id}-{asset}"}
            answer = await operator.post("/settlements/fcr", json=[row], headers=headers)
            kept = await world.pool.fetchval(
                "select details from audit_log where request_id = $1", answer.headers["X-Request-ID"]
            )
            assert kept == {"received": 1, "inserted": changed, "replaced": 0, "unchanged": 1 - changed}
        events = await world.pool.fetch(
            """
            select event_id, data from event_outbox where subject = $1
            union select id, data from event where subject = $1
            """,
            f"virtual-assets/{asset}",
        )
        assert len(events) == 1
        data = events[0]["data"]
        assert data == {"start": "2026-03-28T23:00:00Z", "end": "2026-03-29T02:00:00Z"}

    async def test_spans_all_that_changed_of_an_asset(
        self, operator: httpx2.AsyncClient, asset: UUID, world: World
    ) -> None:
        """Also of what changed of its first and of its last day."""
        days = (("2026-03-29", 8), ("2026-03-29", 4), ("2026-04-02", 4), ("2026-04-02", 0), ("2026-03-31", 4))
        rows = [
            {
                "assetID": str(asset),
                **KINDS["fcr"],
                "deliveryDay": day,
                "product": f"NEGPOS_{hour:02}_{hour + 4:02}",
                "deliveryHours": 1,
            }
            for day, hour in days
        ]
        assert (await operator.post("/settlements/fcr", json=rows)).status_code == 200
        told = await world.pool.fetch(
            """
            select event_id, data from event_outbox where subject = $1
            union select id, data from event where subject = $1
            """,
            f"virtual-assets/{asset}",
        )
        assert [event["data"] for event in told] == [{"start": "2026-03-29T02:00:00Z", "end": "2026-04-02T06:00:00Z"}]


class TestACursor:
    @pytest.mark.parametrize("key", [2**31, 2**62, -1])
    async def test_that_the_service_did_not_give_out_is_refused(self, operator: httpx2.AsyncClient, key: int) -> None:
        moment = "2026-01-01T00:00:00Z"
        cursors = {
            "/settlements/wholesale-trades?": [key, moment, "T", "BUY", moment],
            "/settlements/fcr?": [key, "2026-01-01", "NEGPOS_00_04", moment],
            "/settlements/net-off?": [key, moment, moment],
            "/settlements/tolling-contracts?": [key, "C", moment],
            "/reference-prices/deviations?kind=fcr&": [key, moment, "T", ""],
        }
        for path, place in cursors.items():
            answer = await operator.get(f"{path}cursor={encode_cursor(place)}")
            assert answer.status_code == 400, path
            assert answer.json()["errors"][0]["pointer"] == "query:cursor"
