"""What each command asks of the service, and what it shows of the answer; the service itself is played."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.client.played import BATTERY, ETAG, OTHERS, OURS, SECOND, THING, VIRTUAL, Run

pytestmark = pytest.mark.pure

MISSING = {"energyCapacity": 30.0, "powerCapacity": {"charge": 10.0, "discharge": 20.0}}
UNAVAILABILITY = json.dumps(
    {"description": "Inverter", "end": "2026-07-02T10:00:00Z", "start": "2026-07-02T04:00:00Z"}
    | {"type": "MAINTENANCE", "volume": MISSING},
    sort_keys=True,
)
PARAMETERS = {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.9, "energyCapacity": 40.0}
PARAMETERS |= {"ratedChargePower": 10.0, "ratedDischargePower": 20.0}
EFFICIENCIES = ("chargeEfficiency", "dischargeEfficiency")
CHANGES = {
    f"unavailability withdraw Husum {THING[-8:]} --yes": (
        f"DELETE /physical-assets/{BATTERY}/unavailability/{THING} if {ETAG}"
    ),
    "unavailability add Husum 2026-07-02T06:00 2026-07-02T12:00 --type MAINTENANCE --description Inverter"
    " --charge 10 --discharge 20 --energy 30 --yes -o json": (
        f"POST /physical-assets/{BATTERY}/unavailability {UNAVAILABILITY}"
    ),
    f"markets cancel {THING[-8:]}": f"DELETE /organisations/{OURS}/orders/{THING}",
    "markets order Elbe AFRR --reserve POS_08_12:1000:12.5:180 --yes": (
        f'POST /organisations/{OURS}/orders [{{"deliveryDay": "2026-11-19", "ifMatch": "\\"seen-before\\"", '
        '"reserves": [{"capacity": 1000.0, "capacityPrice": 12.5, "energyPrice": 180.0, "product": "POS_08_12"}], '
        f'"stage": "AFRR", "virtualAssetID": "{VIRTUAL}"}}]'
    ),
    f"webhooks delete {THING[-8:]}": f"DELETE /webhooks/{THING} if {ETAG}",
    f"webhooks rotate {THING[-8:]}": f"POST /webhooks/{THING}/secret {{}}",
    "webhooks create https://example.org/in": 'POST /webhooks {"types": [], "url": "https://example.org/in"}',
    "webhooks create https://example.org/in bid.placed --description Desk": (
        'POST /webhooks {"description": "Desk", "types": ["bid.placed"], "url": "https://example.org/in"}'
    ),
    "grants revoke Husum Südwind": f"DELETE /physical-assets/{BATTERY}/grants/{OTHERS} if {ETAG}",
    "grants set Husum Südwind Read:monitoring": (
        f'PUT /physical-assets/{BATTERY}/grants/{OTHERS} {{"permissions": ["Read:monitoring"]}}'
    ),
    f"keys revoke {THING}": f"DELETE /auth/api-keys/{THING}",
    f"keys revoke {THING} --organisation {OTHERS}": f"DELETE /organisations/{OTHERS}/api-keys/{THING}",
    f"keys create Gateway Create:monitoring --asset {BATTERY} --network 203.0.113.0/24"
    " --expires-at 2027-01-01T00:00:00Z": (
        'POST /auth/api-keys {"allowedNetworks": ["203.0.113.0/24"], "expiresAt": "2027-01-01T00:00:00Z", '
        f'"name": "Gateway", "permissions": ["Create:monitoring"], "physicalAssetIDs": ["{BATTERY}"]}}'
    ),
    "keys create Gateway Create:monitoring": (
        'POST /auth/api-keys {"name": "Gateway", "permissions": ["Create:monitoring"]}'
    ),
    "sessions end --others": "DELETE /auth/sessions",
    f"sessions end {THING}": f"DELETE /auth/sessions/{THING}",
    "portfolios create West Elbe": (
        f'POST /organisations/{OURS}/portfolios {{"name": "West", "virtualAssetIDs": ["{VIRTUAL}"]}}'
    ),
    "portfolios change North --name South": (
        f'PATCH /organisations/{OURS}/portfolios/{THING} if {ETAG} {{"name": "South"}}'
    ),
    f"portfolios change North --assets Elbe --assets {SECOND}": (
        f'PATCH /organisations/{OURS}/portfolios/{THING} if {ETAG} {{"virtualAssetIDs": ["{VIRTUAL}", "{SECOND}"]}}'
    ),
    "sandbox simulator --speed 96": 'PUT /sandbox/simulator {"speed": 96.0}',
    "sandbox simulator --no-running": 'PUT /sandbox/simulator {"running": false}',
    "sandbox simulator --seed 9": 'PUT /sandbox/simulator {"seed": 9}',
    "sandbox reset --yes": "POST /sandbox/reset",
    "clock --advance 1d90m": 'PUT /sandbox/clock {"advance": "P1DT0H90M0S"}',
    "clock --to 2026-07-01T12:00": 'PUT /sandbox/clock {"now": "2026-07-01T12:00:00+02:00"}',
    "clock --stop": "DELETE /sandbox/clock/walk",
    f"auctions bid {THING[-8:]} 1250.50": f'POST /auctions/{THING}/bids {{"price": 1250.5}}',
    f"auctions withdraw {THING[-8:]}": f"DELETE /auctions/{THING}/bids/{SECOND}",
    "assets create New --organisation Südwind --zone TenneT --power 20 --charge-power 10 --energy 40"
    " --efficiency 0.9": (
        "POST /physical-assets "
        + json.dumps(
            {"deliveryZone": "TenneT", "name": "New", "organisationID": OTHERS, "parameters": PARAMETERS},
            sort_keys=True,
        )
    ),
    "assets create New --organisation Südwind --zone TenneT --power 20 --charge-power 0 --energy 40": (
        "POST /physical-assets "
        + json.dumps(
            {"deliveryZone": "TenneT", "name": "New", "organisationID": OTHERS}
            | {"parameters": PARAMETERS | dict.fromkeys(EFFICIENCIES, 0.95) | {"ratedChargePower": 0.0}},
            sort_keys=True,
        )
    ),
    f"auctions value {THING[-8:]} --basis FORESIGHT": f'POST /auctions/{THING}/valuations {{"basis": "FORESIGHT"}}',
    "organisations create Ostwind --kind OPERATOR": 'POST /organisations {"kind": "OPERATOR", "name": "Ostwind"}',
    "invite ada@example.com --role VIEWER": (
        f'POST /organisations/{OURS}/invitations {{"email": "ada@example.com", "role": "VIEWER"}}'
    ),
    "invite ada@example.com --organisation Südwind": (
        f'POST /organisations/{OTHERS}/invitations {{"email": "ada@example.com", "role": "TRADER"}}'
    ),
}
READS = {
    "audit --start 2026-07-01 --end 2026-07-02 --action placeBid --resource /auctions --limit 20": (
        "GET /audit-log?resource=%2Fauctions&action=placeBid"
        "&start=2026-06-30T22:00:00Z&end=2026-07-01T22:00:00Z&limit=20"
    ),
    "unavailability list Husum --start 2026-07-01 --end 2026-07-02": (
        f"GET /physical-assets/{BATTERY}/unavailability?start=2026-06-30T22:00:00Z&end=2026-07-01T22:00:00Z"
    ),
    "availability Husum --day 2026-03-29": (
        f"GET /physical-assets/{BATTERY}/availability?start=2026-03-28T23:00:00Z&end=2026-03-29T22:00:00Z"
    ),
    f"webhooks deliveries {THING[-8:]} --state FAILED": f"GET /webhooks/{THING}/deliveries?state=FAILED",
    "keys list": "GET /auth/api-keys",
    f"keys list --organisation {OTHERS}": f"GET /organisations/{OTHERS}/api-keys",
    "grants list Husum": f"GET /physical-assets/{BATTERY}/grants",
    "organisations usage Südwind": f"GET /organisations/{OTHERS}/usage",
    "organisations members": f"GET /organisations/{OURS}/invitations",
    "prices --day 2026-10-25 --series REBAP_DE": (
        "GET /reference-prices?series=REBAP_DE&start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z"
    ),
    "schedule show Elbe --day 2026-10-25": (
        f"GET /organisations/{OURS}/virtual-assets/{VIRTUAL}/schedule"
        "?start=2026-10-24T22:00:00Z&end=2026-10-25T23:00:00Z"
    ),
    "schedule show Rhein --day 2026-03-29 --organisation Südwind": (
        f"GET /organisations/{OTHERS}/virtual-assets/{SECOND}/state-of-charge"
        "?start=2026-03-28T23:00:00Z&end=2026-03-29T22:00:00Z"
    ),
    "virtual show Rhein --organisation Südwind": f"GET /organisations/{OTHERS}/virtual-assets/{SECOND}",
    "statements show 2026-09": f"GET /organisations/{OURS}/statements/{THING}",
    "statements show 2026-09 --organisation Südwind": f"GET /organisations/{OTHERS}/statements/{BATTERY}",
    "statements missing 2026-09": "GET /statements/missing?month=2026-09",
    "auctions list --status WON": "GET /auctions?status=WON",
}


class TestACommand:
    @pytest.mark.parametrize("command", CHANGES)
    def test_changes_what_was_seen_and_nothing_else(self, run: Run, command: str):
        shown = run(command)
        assert (shown.code, shown.service.changes) == (0, [CHANGES[command]]), shown.err

    @pytest.mark.parametrize("command", READS)
    def test_asks_for_what_was_typed(self, run: Run, command: str):
        shown = run(command)
        assert shown.code == 0, shown.err
        assert READS[command] in shown.service.lines
        assert not shown.service.changes

    def test_exports_each_market_day_as_much_of_it_as_is_asked_for(self, run: Run, tmp_path: Path):
        window = "--start 2026-10-24T12:00 --end 2026-10-26T06:00 --resolution 15-minute --aggregation max"
        shown = run(f"monitoring export Husum {tmp_path / 'out.csv'} {window} --signals active_power")
        asked = [line.partition("?")[2] for line in shown.service.lines if "/datapoints" in line]
        assert [re.findall(r"(?:start|end)=([^&]+)", query) for query in asked] == [
            ["2026-10-24T10:00:00Z", "2026-10-24T22:00:00Z"],
            ["2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"],
            ["2026-10-25T23:00:00Z", "2026-10-26T05:00:00Z"],
        ], shown.err
        assert all("datapoints=active_power" in query and "aggregation=max" in query for query in asked)


class TestAnAnswer:
    def test_of_a_preview_names_those_who_lose_and_no_others(self, run: Run):
        holders = [
            {"kind": "VIRTUAL_ASSET", "virtualAssetID": VIRTUAL, "before": 50, "after": 45},
            {"kind": "VIRTUAL_ASSET", "virtualAssetID": SECOND, "before": 70, "after": 70},
        ]
        words = "unavailability add Husum 2026-07-02 2026-07-03 --type MAINTENANCE --description Inverter --yes"
        preview = {"free": 12, "cut": 5, "holders": holders}
        shown = run(words, {f"POST /physical-assets/{BATTERY}/unavailability-previews": preview})
        out = shown.out
        assert not shown.err
        assert "12 kW of free capacity are lost, and 5 kW that are held" in out
        assert VIRTUAL[-8:] in out
        assert SECOND[-8:] not in out
        preview["holders"] = holders[1:]
        out = run(words, {f"POST /physical-assets/{BATTERY}/unavailability-previews": preview}).out
        assert "No promise is broken; 12 kW" in out

    def test_of_auctions_leaves_out_those_that_closed_more_than_a_day_ago(self, run: Run):
        ends = {"11-17T11:59": THING, "11-17T12:01": SECOND, "11-19T12:00": BATTERY}
        known = [{"id": id, "end": f"2026-{end}:00Z", "status": "LOST"} for end, id in ends.items()]
        listed = run("auctions list", {"/auctions": known})
        assert [id[-8:] in listed.out for id in (THING, SECOND, BATTERY)] == [False, True, True]
        assert "1 that closed earlier" in listed.out
        for words in ("auctions list --all", "auctions list --status LOST"):
            assert THING[-8:] in run(words, {"/auctions": known}).out
        listed = run("auctions list -o csv", {"/auctions": known})
        assert (len(listed.out.splitlines()), listed.err) == (1 + 3, ""), "scripts get all of them"

    def test_of_prices_covers_every_quarter_hour_and_shows_the_forecast_beside(self, run: Run):
        hour = {"start": "2026-07-01T10:00:00Z", "end": "2026-07-01T11:00:00Z", "price": 42.5}
        forecast = [{"time": "2026-07-01T10:15:00Z", "p10": 10, "p50": 50, "p90": 90}]
        shown = run(
            "prices --day 2026-07-01 --utc",
            {"/reference-prices": [hour], "/forecasts/day-ahead": {"forecast": forecast}},
        )
        lines, none = [line.split()[1:] for line in shown.out.splitlines()[2:]], ["42.50", "–", "–", "–"]
        assert [line[1:] for line in lines] == [none, ["42.50", "50.00", "10.00", "90.00"], none, none]
        assert [line[0] for line in lines] == ["10:00Z", "10:15Z", "10:30Z", "10:45Z"]

    def test_of_shares_says_what_is_used_of_which_limit(self, run: Run):
        share = {"share": "jobs", "used": 3, "limit": 20, "waiting": 5, "unit": "COUNT", "counted": "PLATFORM"}
        shown = run("organisations usage", {f"/organisations/{OURS}/usage": {"shares": [share]}})
        assert shown.out.splitlines()[-1].split() == ["jobs", "3", "20", "5", "COUNT", "PLATFORM"]

    def test_of_virtual_assets_leaves_out_those_that_are_over(self, run: Run):
        path = f"/organisations/{OURS}/virtual-assets"
        ends = {"Elbe": "2026-11-18T12:00:00Z", "Weser": "2026-11-18T12:15:00Z"}
        assets = [{"id": THING, "name": name, "end": end} for name, end in ends.items()]
        out = run("virtual list", {path: assets}).out
        assert ("Elbe" in out, "Weser" in out, "1 that are over" in out) == (False, True, True)
        for words, is_said in (("--all", False), ("-o csv", False)):
            out = run(f"virtual list {words}", {path: assets}).out
            assert ("Elbe" in out, "Weser" in out, "that are over" in out) == (True, True, is_said)


class TestAThing:
    def test_that_several_ids_end_like_is_asked_for_again(self, run: Run):
        refused = run("grants list 1")
        assert (refused.code, "type more of the id" in refused.err) == (2, True)
        assert not any("/grants" in line for line in refused.service.lines)

    def test_is_granted_anew_on_the_condition_that_was_seen(self, run: Run):
        granted = [{"organisationID": OTHERS}]
        shown = run("grants set Husum Südwind Read:monitoring", {f"/physical-assets/{BATTERY}/grants": granted})
        assert [f"if {ETAG}" in line for line in shown.service.changes] == [True]
        granted = [{"organisationID": OURS}]
        shown = run("grants set Husum Südwind Read:monitoring", {f"/physical-assets/{BATTERY}/grants": granted})
        assert [f"if {ETAG}" in line for line in shown.service.changes] == [False], "what another has is no condition"
