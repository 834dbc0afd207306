"""What each command shows a person, word by word; the service itself is played."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.client.played import BATTERY, OTHERS, OURS, SECOND, THING, VIRTUAL, Run

pytestmark = pytest.mark.pure

SHORT, MORNING, LATER = THING[-8:], "2026-07-01T10:30:00Z", "2026-07-01T11:00:00Z"
DAY = {"start": "2026-06-30T22:00:00Z", "end": "2026-07-01T22:00:00Z"}
VIRTUAL_PATH = f"/organisations/{OURS}/virtual-assets/{VIRTUAL}"
RATED: dict[str, float] = {"ratedChargePower": 10, "ratedDischargePower": 20, "energyCapacity": 40}
RATED |= {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.8}
LIFE = {
    **{"id": VIRTUAL, "name": "Elbe", "deliveryZone": "TenneT", "start": DAY["start"], "end": "2026-07-02T22:00:00Z"},
    **RATED,
    **{"energyCapacity": 4000, "availableEnergyCapacity": 3900, "finalSoCTolerance": 0.01},
    **{"endStateOfChargePercentage": 50, "feedback": "It is balanced.", "dispatchGateClosureSeconds": 300},
    "blockMetadata": [{"id": SECOND, "market": "OTC", **DAY}],
}
SCHEDULE = [{"time": "2026-07-01T10:00:00Z", "power": 1500}, {"time": "2026-07-01T10:15:00Z", "power": -5}]
AUCTION = {
    **{"id": THING, "status": "WON", "start": "2026-06-29T08:00:00Z", "end": "2026-06-29T14:00:00Z"},
    "item": {**DAY, "deliveryZone": "TenneT", **RATED, "dailyCycleLimit": 1.5}
    | {"availability": {"power": 0.75, "energy": 0.5}},
    "currentBid": {"id": SECOND, "price": 1250.5, "timestamp": MORNING},
    **{"virtualAssetID": VIRTUAL, "hurdlePrice": 900, "outcome": "ALLOCATED", "winnerID": OURS, "price": 1300.5},
    "backing": [{"physicalAssetID": BATTERY, "share": 0.6}, {"physicalAssetID": SECOND, "share": 0.4}],
    "participants": [OURS, OTHERS],
}
OUTAGE = {"start": "2026-07-02T04:00:00Z", "end": "2026-07-02T10:00:00Z"}
BATTERIES = {
    "/physical-assets": [
        {"id": id, "name": name, "deliveryZone": "TenneT", "status": "OPERATIONAL", "parameters": RATED}
        for id, name in ((BATTERY, "Husum"), (SECOND, "Heide"))
    ]
}
SHOWN: dict[str, tuple[dict[str, Any], str]] = {
    "webhooks list": (
        {
            "/webhooks": [
                {"id": SECOND, "url": "https://a.example", "types": ["bid.placed", "auction.opened"], "enabled": True},
                {"id": THING, "url": "https://b.example", "enabled": False, "disabledBecause": "it answered 500"},
            ]
        },
        """
        Webhooks
        ID        State  Address            Types                       Off because
        00000051  on     https://a.example  bid.placed, auction.opened  –
        00000061  off    https://b.example                              it answered 500
        """,
    ),
    f"webhooks deliveries {SHORT} --utc": (
        {
            f"/webhooks/{THING}/deliveries": [
                {"id": SECOND, "state": "PENDING", "type": "bid.placed", "attempts": [{}, {}]}
                | {"createdAt": MORNING, "nextAttemptAt": LATER}
            ]
        },
        """
        Deliveries
        ID        State    Event       Made               Attempts  Next
        00000051  PENDING  bid.placed  2026-07-01 10:30Z         2  2026-07-01 11:00Z
        """,
    ),
    f"webhooks delete {SHORT}": ({}, "Deleted."),
    "portfolios list": (
        {
            f"/organisations/{OURS}/portfolios": [
                {"id": THING, "name": "North", "virtualAssetIDs": [VIRTUAL, SECOND], "createdAt": MORNING}
            ]
        },
        """
        Portfolios
        ID        Name   Virtual assets  Made
        00000061  North               2  2026-07-01 12:30
        """,
    ),
    "portfolios create West Elbe": (
        {f"POST /organisations/{OURS}/portfolios": {"id": THING, "name": "West", "virtualAssetIDs": [VIRTUAL, SECOND]}},
        f"West has 2 virtual assets; its id is {THING}.",
    ),
    "portfolios change North --name South": (
        {f"PATCH /organisations/{OURS}/portfolios/{THING}": {"name": "South", "virtualAssetIDs": [VIRTUAL, SECOND]}},
        "South has 2 virtual assets.",
    ),
    "grants list Husum": (
        {
            f"/physical-assets/{BATTERY}/grants": [
                {"organisationID": OTHERS, "organisationName": "Südwind", "updatedAt": MORNING}
                | {"permissions": ["Read:monitoring", "Read:schedules"]}
            ]
        },
        """
        Grants
        Organisation  Permissions                      Since
        Südwind       Read:monitoring, Read:schedules  2026-07-01 12:30
        """,
    ),
    "grants set Husum Südwind Read:monitoring Read:schedules": (
        {
            f"PUT /physical-assets/{BATTERY}/grants/{OTHERS}": {
                "organisationName": "Südwind",
                "permissions": ["Read:monitoring", "Read:schedules"],
            }
        },
        "Südwind may now: Read:monitoring, Read:schedules.",
    ),
    "grants revoke Husum Südwind": ({}, "Revoked."),
    "sessions list --utc": (
        {
            "/auth/sessions": [
                {"id": id, "current": current, "kind": "TERMINAL", "lastUsedAt": MORNING, "network": "203.0.113.0/24"}
                | {"userAgent": agent}
                for id, current, agent in ((THING, True, "gridloom"), (SECOND, False, "Firefox"))
            ]
        },
        f"""
        Sessions
        ID                                    Kind      Last used          Network         Program
        {THING}  this one  2026-07-01 10:30Z  203.0.113.0/24  gridloom
        {SECOND}  TERMINAL  2026-07-01 10:30Z  203.0.113.0/24  Firefox
        """,
    ),
    "sessions end --others": ({}, "Ended."),
    f"keys revoke {THING}": ({}, "Revoked."),
    "keys list --utc": (
        {
            "/auth/api-keys": [
                {"id": THING, "name": "Gateway", "expiresAt": MORNING, "permissions": ["Create:monitoring"]}
            ]
        },
        f"""
        API keys
        ID                                    Name     Ends               Permissions
        {THING}  Gateway  2026-07-01 10:30Z  Create:monitoring
        """,
    ),
    f"keys list --utc --organisation {OTHERS}": (
        {
            f"/organisations/{OTHERS}/api-keys": [
                {"id": THING, "name": "Gateway", "username": "ada", "expiresAt": MORNING}
                | {"permissions": ["Create:monitoring"]}
            ]
        },
        f"""
        API keys
        ID                                    Name     Member  Ends               Permissions
        {THING}  Gateway  ada     2026-07-01 10:30Z  Create:monitoring
        """,
    ),
    f"auctions bid {SHORT} 1250.50": (
        {f"POST /auctions/{THING}/bids": {"id": SECOND, "price": 1250.5, "timestamp": MORNING}},
        f"""
        The bid is placed.
        ID         {SECOND}
        Price EUR  1,250.50
        At         2026-07-01 12:30
        """,
    ),
    f"auctions withdraw {SHORT}": ({f"/auctions/{THING}": AUCTION}, "The bid of 1,250.50 EUR is withdrawn."),
    "auctions list --all --utc": (
        {"/auctions": [AUCTION]},
        """
        Auctions
        ID        Status  Closes             Delivery                 Your bid EUR  Zone    Discharge kW  Energy kWh  Opens
        00000061  WON     2026-06-29 14:00Z  06-30 22:00–07-01 22:00      1,250.50  TenneT            20          40  2026-06-29 08:00Z
        """,  # noqa: E501
    ),
    f"auctions show {SHORT}": (
        {f"/auctions/{THING}": AUCTION},
        f"""
        Auction {THING}
        Status                WON
        Opens                 2026-06-29 10:00
        Closes                2026-06-29 16:00
        Delivery              2026-07-01
        Delivery zone         TenneT
        Rated charge kW       10
        Rated discharge kW    20
        Energy kWh            40
        Charge efficiency     0.9
        Discharge efficiency  0.8
        Daily cycle limit     1.5
        Deliverable power     0.75
        Deliverable energy    0.5
        Your bid EUR          1,250.50
        Virtual asset         {VIRTUAL}
        Hurdle EUR            900.00
        Outcome               ALLOCATED
        Winner                {OURS}
        Price EUR             1,300.50
        Batteries             00000031 60%, 00000051 40%
        Invited               00000011, 00000021
        """,
    ),
    f"auctions value {SHORT}": (
        {
            f"POST /auctions/{THING}/valuations": {"p10": 100, "p50": 200.5, "p90": 300, "mean": 210}
            | {"perMWPerYear": 54321.5, "calibration": {"windows": 52, "coverage": 0.79}}
        },
        """
        What it may be worth
        P10 EUR                      100.00
        P50 EUR                      200.50
        P90 EUR                      300.00
        Mean EUR                     210.00
        EUR per MW and year          54,321.50
        Past windows                 52
        Of them between P10 and P90  0.79
        """,
    ),
    f"auctions watch {SHORT}": (
        {f"/auctions/{THING}": AUCTION},
        f"""
        Auction {THING}
        Status         WON
        Virtual asset  {VIRTUAL}
        """,
    ),
    "organisations list": (
        {"/organisations": [{"id": OURS, "name": "Nordlicht", "kind": "OPERATOR"}]},
        """
        Organisations
        ID        Name       Kind
        00000011  Nordlicht  OPERATOR
        """,
    ),
    "organisations members --utc": (
        {
            f"/organisations/{OURS}/members": [{"username": "ada", "role": "TRADER", "displayName": "Ada L."}],
            f"/organisations/{OURS}/invitations": [
                {"email": "bo@example.com", "role": "VIEWER", "status": "PENDING", "expiresAt": MORNING}
            ],
        },
        """
        Members
        Username  Role    Name
        ada       TRADER  Ada L.
        Invitations
        Email           Role    Until
        bo@example.com  VIEWER  2026-07-01 10:30Z
        """,
    ),
    "invite ada@example.com --role VIEWER": (
        {f"POST /organisations/{OURS}/invitations": {"token": "gli_1", "expiresAt": MORNING}},
        """
        ada@example.com may join as VIEWER until 2026-07-01 12:30. gridloom join asks for this token:

        gli_1
        """,
    ),
    "assets list": (
        BATTERIES,
        """
        Physical assets
        ID        Name   Zone    Status       Discharge kW  Energy kWh  Charge kW
        00000031  Husum  TenneT  OPERATIONAL            20          40         10
        00000051  Heide  TenneT  OPERATIONAL            20          40         10
        """,
    ),
    "assets show Husum": (
        {
            f"/physical-assets/{BATTERY}": {"id": BATTERY, "name": "Husum", "organisationID": OURS, "eicCode": "11W"}
            | {"deliveryZone": "TenneT", "controlArea": "50Hertz", "commissionedOn": "2025-05-01"}
            | {"status": "OPERATIONAL", "parameters": {**RATED, "dailyCycleLimit": 2, "fcrLimitRatio": 0.75}},
            f"/physical-assets/{BATTERY}/health": {"status": "OK", "stateOfCharge": 61.5},
        },
        f"""
        Husum
        ID                    {BATTERY}
        Organisation          {OURS}
        Delivery zone         TenneT
        Control area          50Hertz
        EIC                   11W
        Commissioned on       2025-05-01
        Status                OPERATIONAL
        Health                OK
        State of charge %     61.5
        Rated charge kW       10
        Rated discharge kW    20
        Energy kWh            40
        Charge efficiency     0.9
        Discharge efficiency  0.8
        Daily cycle limit     2
        FCR limit ratio       0.75
        """,
    ),
    "assets create New --organisation Südwind --zone TenneT --power 20 --energy 40": (
        {"POST /physical-assets": {"id": THING, "name": "New", "deliveryZone": "TenneT"}},
        f"""
        New
        ID             {THING}
        Delivery zone  TenneT
        """,
    ),
    "organisations create Ostwind": (
        {"POST /organisations": {"id": THING, "name": "Ostwind", "kind": "PARTICIPANT"}},
        f"""
        Ostwind
        ID    {THING}
        Kind  PARTICIPANT
        """,
    ),
    "virtual list --all --utc": (
        {f"/organisations/{OURS}/virtual-assets": [LIFE | {"endStateOfChargePercentage": 48.26}]},
        """
        Virtual assets
        ID        Name  Delivery                 Ends at %  Discharge kW  Energy kWh  Zone    Charge kW
        00000041  Elbe  06-30 22:00–07-02 22:00       48.3            20       4,000  TenneT         10
        """,
    ),
    "virtual show Elbe": (
        {VIRTUAL_PATH: LIFE},
        f"""
        Elbe
        ID                    {VIRTUAL}
        Delivery              2026-07-01 +2 d
        Delivery zone         TenneT
        Rated charge kW       10
        Rated discharge kW    20
        Energy kWh            4,000
        Available energy kWh  3,900
        Ends at %             50
        Gate closes before    5 min
        Balance               It is balanced.
        Blocks
        ID        Market  Delivery
        00000051  OTC     2026-07-01
        """,
    ),
    "schedule show Elbe --day 2026-07-01 --utc": (
        {
            VIRTUAL_PATH: LIFE,
            f"{VIRTUAL_PATH}/schedule": {
                "schedule": [*SCHEDULE, {"time": "2026-07-01T22:00:00Z", "power": 7}],
            },
            f"{VIRTUAL_PATH}/state-of-charge": [{"time": SCHEDULE[0]["time"], "stateOfChargePercentage": 42.5}],
        },
        """
        Schedule
        Time               Power kW  State of charge %
        2026-07-01 10:00Z     1,500               42.5
        2026-07-01 10:15Z        -5                  –
        It is balanced.
        """,
    ),
    "monitoring signals Husum --utc": (
        {
            f"/monitoring/{BATTERY}/signals": [
                {"name": "active_power", "unit": "kW", "kind": "GAUGE", "first": MORNING, "last": LATER}
            ]
        },
        """
        Signals
        Name          Unit  Kind   First              Last
        active_power  kW    GAUGE  2026-07-01 10:30Z  2026-07-01 11:00Z
        """,
    ),
    "unavailability list Husum --utc": (
        {
            f"/physical-assets/{BATTERY}/unavailability": [
                {"id": THING, "type": "MAINTENANCE", **OUTAGE, "description": "Inverter"}
                | {"volume": {"energyCapacity": 30, "powerCapacity": {"charge": 10, "discharge": 20}}}
            ]
        },
        """
        Unavailabilities
        ID        Type         When                    Charge kW  Discharge kW  Energy kWh  Description
        00000061  MAINTENANCE  2026-07-02 04:00–10:00         10            20          30  Inverter
        """,
    ),
    "unavailability add Husum 2026-07-02T06:00 2026-07-02T12:00 --type MAINTENANCE --description x --yes --utc": (
        {
            f"POST /physical-assets/{BATTERY}/unavailability-previews": {
                **{"free": 12, "cut": 5, "expectedCuts": [{}, {}]},
                "holders": [{"kind": "AUCTION", "auctionID": THING, "before": 50, "after": 45}],
            },
            f"POST /physical-assets/{BATTERY}/unavailability": {
                **{"id": THING, **OUTAGE},
                "conflicts": [{"kind": "VIRTUAL_ASSET", "start": MORNING, "end": LATER, "power": 50, "available": 45}],
            },
        },
        f"""
        12 kW of free capacity are lost, and 5 kW that are held:
        Holders
        What           ID  Before kW  After kW
        AUCTION  00000061         50        45
        2 scheduled quarter-hours would be cut.
        Reported
        ID    {THING}
        When  2026-07-02 04:00–10:00
        No longer fits
        What           When                    Power kW  Available kW
        VIRTUAL_ASSET  2026-07-01 10:30–11:00        50            45
        """,
    ),
    f"unavailability withdraw Husum {SHORT} --yes": ({}, "Withdrawn."),
    "audit --utc": (
        {
            "/audit-log": [
                {
                    "time": MORNING,
                    "actorKind": "SYSTEM",
                    "action": "placeBid",
                    "status": 201,
                    "resource": "/auctions/1",
                },
                {"time": LATER, "actorKind": "USER", "actorName": "ada", "action": "placeBid", "status": 409}
                | {"resource": "/auctions/2"},
            ]
        },
        """
        Audit log
        When               Who     Action    Status  Resource
        2026-07-01 10:30Z  SYSTEM  placeBid     201  /auctions/1
        2026-07-01 11:00Z  ada     placeBid     409  /auctions/2
        """,
    ),
    "statement Elbe --start 2026-06-01 --end 2026-08-01": (
        {
            f"/revenue-reporting/virtual-assets/{VIRTUAL}/statement": {
                "total": 1234.5,
                "lines": [
                    {"time": MORNING, "line": "TRADING", "amount": 1240, "counterparty": "MARKET"},
                    {"time": MORNING, "line": "TOLLING", "amount": -4, "counterparty": OTHERS},
                    {"time": MORNING, "line": "TOLLING", "amount": -1.5, "counterparty": OTHERS},
                    {"time": MORNING, "line": "TOLLING", "amount": 0, "counterparty": THING},
                ],
            }
        },
        """
        Statement of Elbe
        Time              Line          EUR  With
        2026-07-01 12:30  TRADING  1,240.00  MARKET
        2026-07-01 12:30  TOLLING     -5.50  Südwind
        2026-07-01 12:30  TOLLING      0.00  00000061
        Total 1,234.50 EUR
        """,
    ),
    "statements list --utc": (
        {
            f"/organisations/{OURS}/statements": [
                {"id": THING, "month": "2026-09", "number": "2026-0009", "status": "ISSUED", "issuedAt": MORNING}
                | {"total": 1234.5}
            ]
        },
        """
        Statements
        Month    Number     Status  Issued                  EUR
        2026-09  2026-0009  ISSUED  2026-07-01 10:30Z  1,234.50
        """,
    ),
    "statements show 2026-09": (
        {
            f"/organisations/{OURS}/statements/{THING}": {
                **{"month": "2026-09", "number": "2026-0009", "organisationName": "Nordlicht", "total": -5.5},
                "lines": [
                    {"day": "2026-09-03", "line": "TRADING", "amount": 1234.5, "counterparty": "MARKET"},
                    {"day": "2026-09-04", "line": "CORRECTION", "amount": -1240, "counterparty": OTHERS}
                    | {"counterpartyName": "Südwind", "corrects": {"month": "2026-08", "line": "TOLLING"}},
                ],
            }
        },
        """
        Statement 2026-0009 of Nordlicht
        Day         Line                                 EUR  With
        2026-09-03  TRADING                         1,234.50  MARKET
        2026-09-04  CORRECTION of 2026-08 TOLLING  -1,240.00  Südwind
        Total -5.50 EUR
        """,
    ),
    "statements missing 2026-09": (
        {
            "/statements/missing": [
                {"kind": "METER", "day": "2026-09-03", "periods": 4, "deliveryZone": "TenneT"}
                | {"physicalAssetID": BATTERY},
                {"kind": "PRICE", "day": "2026-09-04", "periods": 96, "product": "FCR"},
            ]
        },
        f"""
        Missing facts
        Kind   Day         Quarter-hours  Zone or product  Asset
        METER  2026-09-03              4  TenneT           {BATTERY}
        PRICE  2026-09-04             96  FCR
        """,
    ),
    "statements missing 2026-08": ({}, "2026-08 lacks nothing."),
    "backtest list": (
        {
            "/backtests": [
                {"id": THING, "status": "DONE", "policy": "FORECAST", "start": "2026-09-01", "end": "2026-09-03"}
                | {"earned": 1234.5, "share": 0.755}
            ]
        },
        """
        Back-tests
        ID        Status  Policy    From        Until       Earned EUR  Of foresight
        00000061  DONE    FORECAST  2026-09-01  2026-09-03    1,234.50  75.5%
        """,
    ),
    f"backtest show {SHORT}": (
        {
            "/backtests": [{"id": THING}],
            f"/backtests/{THING}": {"id": THING, "status": "DONE", "policy": "FORECAST"}
            | {"earned": 30, "foresight": 40, "share": 0.75},
            f"/backtests/{THING}/days": [
                {"deliveryDay": day, "earned": earned, "foresight": best}
                for day, earned, best in (("2026-09-29", 10, 10), ("2026-09-30", 5, 15), ("2026-10-01", 15, 15))
            ],
        },
        f"""
        Months
        Month    Days  Earned EUR  Foresight EUR  Share
        2026-09     2       15.00          25.00  60.0%
        2026-10     1       15.00          15.00  100.0%
        Altogether
        ID                  {THING}
        Policy              FORECAST
        Earned EUR          30.00
        With foresight EUR  40.00
        Share               75.0%
        """,
    ),
    "whoami": (
        {
            "/auth/me": {"organisationID": OURS, "id": THING, "username": "ada", "role": "TRADER"}
            | {"permissions": ["Read:auctions", "Create:bids"]},
            f"/organisations/{OURS}": {"name": "Nordlicht"},
        },
        f"""
        ada
        ID            {THING}
        Organisation  Nordlicht
        Role          TRADER
        Permissions   Read:auctions, Create:bids
        """,
    ),
    "clock --utc": (
        {"/sandbox/clock": {"now": "2026-11-18T12:00:05Z", "walk": {"target": "2026-11-19T12:00:00Z"}}},
        """
        2026-11-18 12:00:05 UTC
        on its way to 2026-11-19 12:00:00 UTC
        """,
    ),
    "sandbox simulator": (
        {"/sandbox/simulator": {"running": False, "now": MORNING, "speed": 96, "seed": 7, "historyComplete": True}},
        """
        The simulated world
        Running  no
        Time     2026-07-01 12:30
        Speed    96
        Seed     7
        History  complete
        """,
    ),
    "sandbox simulator --running --speed 1 --utc": (
        {
            "PUT /sandbox/simulator": {"running": True, "now": MORNING, "speed": 1, "seed": 8}
            | {"historyComplete": False, "progress": 0.314, "historySecondsLeft": 80}
        },
        """
        The simulated world
        Running  yes
        Time     2026-07-01 10:30Z
        Speed    1
        Seed     8
        History  31 %, about 80 s left
        """,
    ),
    "sandbox wait": ({"/sandbox/simulator": {"historyComplete": True}}, "The history is complete."),
    "sandbox reset --yes": ({}, "The sandbox starts over."),
    "auctions create --backing Husum=0.6 --backing Heide=0.4 --invite Südwind --power 20 --charge-power 10 --energy 40"
    " --day 2026-11-25 --hurdle 900 --opens 2026-11-20T08:00 --closes 2026-11-20T10:00 --yes": (
        {**BATTERIES, "/auctions": [], "POST /auctions": AUCTION},
        f"""
        The auction
        Opens          2026-11-20 08:00
        Closes         2026-11-20 10:00
        Delivery       2026-11-25
        Delivery zone  TenneT
        Charge kW      10
        Discharge kW   20
        Energy kWh     40
        Hurdle EUR     900.00
        Batteries      Husum 60%, Heide 40%
        Invited        Südwind
        The auction is created.
        ID      {THING}
        Opens   2026-06-29 10:00
        Closes  2026-06-29 16:00
        """,
    ),
}
SECRETS: dict[str, tuple[dict[str, Any], str, str]] = {
    f"webhooks rotate {SHORT}": (
        {f"POST /webhooks/{THING}/secret": {"secret": "whsec_new"}},
        "whsec_new",
        "This is the new secret, shown this once:",
    ),
    "webhooks create https://example.org/in": (
        {"POST /webhooks": {"url": "https://example.org/in", "secret": "whsec_first"}},
        "whsec_first",
        "Events go to https://example.org/in. This secret signs them, shown this once:",
    ),
    "keys create Gateway Create:monitoring": (
        {"POST /auth/api-keys": {"name": "Gateway", "expiresAt": MORNING, "secret": "gl_key"}},
        "gl_key",
        "Gateway ends 2026-07-01. This is its secret, shown this once:",
    ),
}
MISUNDERSTOOD = {
    "portfolios change North": "Say what to change: --name, --assets or both.",
    "sessions end": "Name a session, or say --others.",
    f"sessions end {THING} --others": "Name a session, or say --others.",
    "keys create G Create:monitoring --expires-at 2027-01-01T00:00": "--expires-at needs an offset",
    "clock --advance 1h --stop": "Give one of --advance, --to and --stop.",
    "clock --advance 1h --to 2026-07-01": "Give one of --advance, --to and --stop.",
    "second-factor disable": "Expected a code on standard input.",
    "auctions create --backing Husum --backing Heide=0.4 --invite Südwind --power 2 --energy 4 --yes": "not sum to 1",
    "auctions create --backing Husum=much --invite Südwind --power 2 --energy 4 --yes": "much is no share of Husum",
    "statements show 2026-01": "There is no statement 2026-01",
    f"auctions bid {SHORT} much": "much is not a price; expected a number such as 1250.50",
    f"auctions bid {SHORT} NaN": "a price is finite",
}


class TestACommand:
    @pytest.mark.parametrize("command", SHOWN)
    def test_shows(self, run: Run, command: str):
        known, text = SHOWN[command]
        shown = run(command, known)
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.splitlines() == dedent(text).strip().splitlines()

    @pytest.mark.parametrize("command", SECRETS)
    def test_prints_a_secret_alone_where_a_script_may_catch_it(self, run: Run, command: str):
        known, secret, said = SECRETS[command]
        shown = run(command, known)
        assert (shown.code, shown.out, shown.err) == (0, f"{secret}\n", f"{said}\n")

    @pytest.mark.parametrize("command", MISUNDERSTOOD)
    def test_that_cannot_be_meant_changes_nothing(self, run: Run, command: str):
        shown = run(command, BATTERIES)
        assert (shown.code, shown.out, shown.service.changes) == (2, "", [])
        assert MISUNDERSTOOD[command] in shown.err

    @pytest.mark.parametrize(
        ("command", "said"),
        [
            (f"webhooks delete {SHORT}", "Deleted."),
            ("grants revoke Husum Südwind", "Revoked."),
            ("sessions end --others", "Ended."),
            (f"keys revoke {THING}", "Revoked."),
            (f"unavailability withdraw Husum {SHORT} --yes", "Withdrawn."),
        ],
    )
    def test_of_a_script_keeps_sentences_out_of_the_data(self, run: Run, command: str, said: str):
        shown = run(f"{command} -o csv")
        assert (shown.code, shown.out, shown.err) == (0, "", f"{said}\n")

    @pytest.mark.parametrize(
        "command",
        [
            *("webhooks list", "grants list Husum", "portfolios list", "sessions list", "keys list", "auctions list"),
            *("organisations list", "organisations members", "organisations usage", "assets list", "virtual list"),
            *("monitoring signals Husum", "unavailability list Husum", "audit", "statements list", "backtest list"),
            *(f"webhooks deliveries {SHORT}", "statements missing 2026-09", "statements show 2026-09", "profile list"),
        ],
    )
    def test_that_lists_gives_a_script_json_and_nothing_else(self, run: Run, command: str):
        shown = run(f"{command} -o json")
        assert (shown.code, shown.err, type(json.loads(shown.out))) == (0, "", list)

    @pytest.mark.parametrize(
        "command",
        [
            *(f"auctions show {SHORT}", f"auctions value {SHORT}", f"auctions bid {SHORT} 5", "assets show Husum"),
            *(f"auctions withdraw {SHORT}", "portfolios create West", "portfolios change North --name South"),
            *("virtual show Elbe", "whoami", "clock", "sandbox simulator", "invite ada@example.com"),
            *("webhooks create https://example.org", f"webhooks rotate {SHORT}", "organisations create Ostwind"),
            *("keys create G Create:monitoring", "grants set Husum Südwind Read:monitoring"),
            *("monitoring latest Husum", f"unavailability withdraw Husum {SHORT} --yes"),
        ],
    )
    def test_of_one_thing_gives_a_script_json_and_nothing_else(self, run: Run, command: str):
        shown = run(f"{command} -o json")
        assert (shown.code, shown.err, type(json.loads(shown.out))) == (0, "", dict)


class TestAFileOfPoints:
    @pytest.mark.parametrize(
        ("header", "words", "said"),
        [
            ("physicalAssetID,signal,time,value", "--asset Husum", "names the assets in its column physicalAssetID"),
            ("signal,time,value", "", "say whose points these are with --asset"),
        ],
    )
    def test_says_whose_they_are_once(self, run: Run, tmp_path: Path, header: str, words: str, said: str):
        file = tmp_path / "points.csv"
        file.write_text(f"{header}\n")
        shown = run(f"monitoring import {file} {words}")
        assert (shown.code, said in shown.err, shown.service.changes) == (2, True, [])

    def test_is_told_row_by_row_of_the_file_what_was_refused(self, run: Run, tmp_path: Path):
        file = tmp_path / "points.csv"
        file.write_text("signal,time,value\n" + "active_power,2026-07-01T10:00:00Z,1\n" * 4)
        answer: dict[str, Any] = {"received": 4, "written": 1, "overwritten": 0, "refused": 3}
        answer |= {"refusals": [{"reason": "unknown signal", "count": 3, "pointers": ["/0/signal", "/2/signal"]}]}
        shown = run(f"monitoring import {file} --asset Husum", {f"POST /monitoring/{BATTERY}/datapoints": answer})
        assert shown.out.splitlines() == [
            "1 points written, 0 overwritten, 3 refused.",
            "Refused",
            "Reason          Points  First places",
            "unknown signal       3  row 1 (signal), row 3 (signal)",
        ], shown.err
        assert shown.code == 1


class TestAStatement:
    def test_is_saved_where_it_is_wanted_or_under_its_month(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.chdir(tmp_path)
        for words, name in (("--to it.pdf", "it.pdf"), ("--format csv", "statement-2026-09.csv")):
            shown = run(f"statements download 2026-09 {words}")
            size = (tmp_path / name).stat().st_size
            assert (shown.code, shown.out) == (0, f"{name}: {size} bytes\n"), shown.err
        asked = shown.service.requests[-1]
        assert (asked.url.path, asked.headers["accept"]) == (f"/organisations/{OURS}/statements/{THING}", "text/csv")


class TestAnAuction:
    WORDS = "auctions create --backing Husum --invite Südwind --power 20 --energy 40 --day 2026-07-01 --yes"
    SAME = AUCTION | {"status": "RUNNING", "outcome": None, "backing": [{"physicalAssetID": BATTERY, "share": 1}]}

    @pytest.mark.parametrize(
        ("zone", "said"),
        [
            ("", "of 2026-07-01 on these batteries (RUNNING, closes 2026-06-29 16:00)"),
            ("--utc", "of 06-30 22:00–07-01 22:00 on these batteries (RUNNING, closes 2026-06-29 14:00Z)"),
        ],
    )
    def test_that_exists_already_is_named_and_not_created_again(self, run: Run, zone: str, said: str):
        shown = run(f"{self.WORDS} {zone}", {"/auctions": [self.SAME], f"/auctions/{THING}": self.SAME})
        assert (shown.code, shown.service.changes) == (1, [])
        assert f"Nothing was created: auction {SHORT} {said} exists already." in shown.err

    @pytest.mark.parametrize(
        "other",
        [
            {"status": "CANCELLED"},
            {"outcome": "NO_BIDS"},
            {"backing": [{"physicalAssetID": SECOND, "share": 1}]},
            {"item": {**DAY, "start": "2026-06-29T22:00:00Z", "end": DAY["start"]}},
            {"item": {**DAY, "end": "2026-07-01T21:45:00Z"}},
        ],
        ids=["cancelled", "without bids", "on another battery", "of the day before", "of a part of the day"],
    )
    def test_beside_another_is_created(self, run: Run, other: dict[str, Any]):
        beside = self.SAME | other
        shown = run(self.WORDS, {"/auctions": [beside], f"/auctions/{THING}": beside})
        assert (shown.code, len(shown.service.changes)) == (0, 1), shown.err

    def test_is_made_of_what_was_typed_and_the_rest_by_the_services_clock(self, run: Run):
        """Two days ahead, opening in a minute for six hours, with equal shares."""
        shown = run(
            "auctions create --backing Husum --backing Heide --invite Südwind --power 20 --energy 40 --yes",
            {**BATTERIES, "/auctions": []},
        )
        [line] = shown.service.changes
        body = json.loads(line.removeprefix("POST /auctions "))
        assert (body["start"], body["end"]) == ("2026-11-18T12:01:00Z", "2026-11-18T18:01:00Z")
        assert (body["item"]["start"], body["item"]["end"]) == ("2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z")
        assert body["item"]["ratedChargePower"] == body["item"]["ratedDischargePower"] == 20
        assert [part["share"] for part in body["backing"]] == [0.5, 0.5]
        assert body["participants"] == [OTHERS]


class TestRevenue:
    PATH = f"/revenue-reporting/virtual-assets/{VIRTUAL}/data-points"
    POINTS = {
        "revenue_total_revenue": [("05-31", 0.0), ("06-01", 10.5), ("06-02", 0.0), ("07-01", 1234.5), ("07-02", 0.0)],
        "revenue_wholesale": [("06-01", 10.5), ("07-01", 1230.0)],
        "revenue_fcr": [("07-01", 4.5)],
        "revenue_tolling": [("06-01", 0.0)],
    }
    KNOWN = {
        PATH: {
            "data": {
                name: [{"time": f"2026-{day}T22:00:00Z", "value": value} for day, value in points]
                for name, points in POINTS.items()
            }
        }
    }

    def test_is_shown_from_the_first_earnings_to_the_last_by_product(self, run: Run):
        shown = run("revenue Elbe --start 2026-06-01 --end 2026-08-01", self.KNOWN)
        assert shown.out.splitlines() == [
            "Revenue of Elbe",
            "Time             EUR  Wholesale   FCR",
            "2026-06-02     10.50      10.50     –",
            "2026-06-03      0.00          –     –",
            "2026-07-02  1,234.50   1,230.00  4.50",
            "Total       1,245.00   1,240.50  4.50",
        ], shown.err

    def test_is_summed_by_month_of_the_market(self, run: Run):
        shown = run("revenue Elbe --resolution monthly --start 2026-06-01 --end 2026-08-01 -o csv", self.KNOWN)
        rows = [line.split(",")[:3] for line in shown.out.splitlines()]
        assert rows == [
            ["time", "total", "revenue_wholesale"],
            ["2026-05-31T22:00:00Z", "10.5", "10.5"],
            ["2026-06-30T22:00:00Z", "1234.5", "1230.0"],
        ]
        assert any("resolution=daily" in line for line in shown.service.lines)

    @pytest.mark.parametrize(
        ("words", "path"),
        [
            ("revenue North --kind portfolio", f"portfolios/{THING}/data-points"),
            ("revenue Husum", f"physical-assets/{BATTERY}/data-points"),
            ("statement Südwind --kind organisation", f"organisations/{OTHERS}/statement"),
            ("statement Coast", f"fleets/{THING}/statement"),
        ],
    )
    def test_is_of_whatever_has_that_name(self, run: Run, words: str, path: str):
        shown = run(words, {"/fleets": [{"id": THING, "name": "Coast"}]})
        assert any(f"/revenue-reporting/{path}?" in line for line in shown.service.lines), shown.err

    def test_of_nothing_by_that_name_says_so(self, run: Run):
        shown = run("revenue Nowhere", {"/fleets": []})
        assert (shown.code, "organisation Nowhere; the lists show which there are" in shown.err) == (2, True)


class TestAChangeOfASchedule:
    PASTED = "time;power\n2026-07-01T10:00Z;100\n2026-07-01T10:15Z;-5\n2026-07-01T10:30Z;-400\n"
    KNOWN = {
        VIRTUAL_PATH: LIFE,
        f"{VIRTUAL_PATH}/schedule": {"schedule": SCHEDULE},
        f"PUT {VIRTUAL_PATH}/schedule": {
            "imbalance": {"feedback": "It is above the balance."},
            "expectedCuts": [
                {"timestamp": LATER, "acceptedSchedule": -400, "adjustedSchedule": -300, "reason": "UNAVAILABILITY"}
            ],
        },
    }
    CHANGES = """
    Changes
    Time               Stored kW  New kW
    2026-07-01 10:00Z      1,500     100
    2026-07-01 10:30Z          –    -400
    """
    END = "With this the battery ends its life at 63.2%, 528 kWh above the balance of 50%."

    def test_is_shown_with_where_it_leads_by_both_efficiencies(self, run: Run):
        """1400 kW less discharged at 0.8 and 400 kW charged at 0.9, for a quarter of an hour: 437.5 + 90 kWh."""
        shown = run("schedule diff Elbe --utc", self.KNOWN, typed=self.PASTED)
        assert shown.out.splitlines() == [*dedent(self.CHANGES).strip().splitlines(), self.END]

    def test_is_put_with_the_cuts_to_expect(self, run: Run):
        shown = run("schedule set Elbe --utc --yes", self.KNOWN, typed=self.PASTED)
        done = """
        2 quarter-hours were put.
        It is above the balance.
        Cuts to expect
        Time               Asked kW  Left kW  Reason
        2026-07-01 11:00Z      -400     -300  UNAVAILABILITY
        """
        lines = [*dedent(self.CHANGES).strip().splitlines(), self.END, *dedent(done).strip().splitlines()]
        assert shown.out.splitlines() == lines

    def test_that_is_long_is_shown_in_part(self, run: Run):
        pasted = "".join(f"2026-07-01T{n // 4:02}:{n % 4 * 15:02}Z;5\n" for n in range(26))
        lines = run("schedule diff Elbe --utc", self.KNOWN, typed=pasted).out.splitlines()
        assert [line.split()[1] for line in lines[2:26]] == [f"{n // 4:02}:{n % 4 * 15:02}Z" for n in range(24)]
        assert lines[26] == "… and 2 more, until 2026-07-01 06:15Z."

    def test_by_what_the_service_proposes_says_its_worth_and_on_which_prices(self, run: Run):
        best = {"status": "OPTIMAL", "value": 123.456, "bound": 130, "schedule": [{"time": MORNING, "power": -400}]}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": best}
        shown = run("schedule optimise Elbe --day 2026-07-01 --utc --yes", known)
        assert shown.out.splitlines()[:5] == [
            "The best schedule",
            "Status       OPTIMAL",
            "Value EUR    123.46",
            "At most EUR  130.00",
            "On           published prices",
        ], shown.err
        assert "1 quarter-hour was put." in shown.out
        for words in ("--no-put", "--no-put --yes", ""):  # to a program nothing is put that was not agreed to
            only_shown = run(f"schedule optimise Elbe --day 2026-07-01 -o csv {words}", known)
            assert only_shown.out == f"time,power\n{MORNING},-400.0\n", words
            assert not any(line.startswith("PUT") for line in only_shown.service.lines), words

    @pytest.mark.parametrize(
        ("words", "window"),
        [
            ("--day 2026-07-02", ("2026-07-01T22:00:00Z", "2026-07-02T22:00:00Z")),
            ("--start 2026-07-01T12:00", ("2026-07-01T10:00:00Z", "2026-07-02T22:00:00Z")),
            ("--end 2026-07-01T12:00", ("2026-06-30T22:00:00Z", "2026-07-01T10:00:00Z")),
            ("--start 2026-06-01 --end 2026-08-01", ("2026-06-30T22:00:00Z", "2026-07-02T22:00:00Z")),
            ("", ("2026-07-01T22:00:00Z", "2026-07-02T22:00:00Z")),
        ],
        ids=["a day", "from then on", "until then", "beyond its life", "the nearest day of its life"],
    )
    def test_is_asked_for_within_the_batterys_life(self, run: Run, words: str, window: tuple[str, str]):
        best = {"status": "OPTIMAL", "value": 1, "bound": 1, "schedule": []}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": best}
        [line] = run(f"schedule optimise Elbe {words} --no-put", known).service.changes
        body = json.loads(line.partition("optimisations ")[2])
        assert (body["start"], body["end"]) == window
        assert body["prices"] == {"series": "DAY_AHEAD_DE_LU"}

    def test_that_takes_long_to_find_is_waited_for(self, run: Run, monkeypatch: pytest.MonkeyPatch):
        begun = {"id": THING, "status": "RUNNING"}
        found = {"id": THING, "status": "OPTIMAL", "value": 5, "bound": 6, "schedule": [{"time": MORNING, "power": 7}]}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": begun}
        waits = iter([f"{VIRTUAL_PATH}/optimisations/{THING}"])
        monkeypatch.setattr("gridloom_client.commands.scheduling.planning.time.sleep", lambda _: next(waits))
        shown = run(
            "schedule optimise Elbe --day 2026-07-01 --no-put -o csv",
            {**known, f"{VIRTUAL_PATH}/optimisations/{THING}": found},
        )
        assert shown.out == f"time,power\n{MORNING},7.0\n", shown.err

    def test_that_there_is_none_of_ends_with_the_reason(self, run: Run):
        failed = {"id": THING, "status": "FAILED", "problem": {"detail": "The window is too short."}}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/optimisations": failed}
        shown = run("schedule optimise Elbe --day 2026-07-01 --yes", known)
        assert (shown.code, "no such schedule: The window is too short." in shown.err) == (2, True)

    def test_by_a_repair_says_what_is_moved(self, run: Run):
        repaired = {"schedule": [{"time": MORNING, "power": -300}], "movedEnergy": 25, "endStateOfChargePercentage": 50}
        repaired |= {"moved": [{"time": MORNING, "asked": -400, "power": -300}]}
        known = {**self.KNOWN, f"POST {VIRTUAL_PATH}/repairs": repaired}
        shown = run("schedule repair Elbe --no-put --utc", known, typed=self.PASTED)
        assert shown.out.splitlines() == [
            "Moved quarter-hours",
            "Time               Asked kW  Proposed kW",
            "2026-07-01 10:30Z      -400         -300",
            "25 kWh are moved; the battery ends its life at 50.0%.",
        ], shown.err


class TestAPicture:
    def test_of_bars_has_a_bar_a_day_and_its_levels_beside(self, run: Run):
        known, _ = SHOWN[f"backtest show {SHORT}"]
        lines = run(f"backtest show {SHORT} --plot", known).out.splitlines()[10:]
        assert lines[0].strip() == "Earned EUR"
        assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == [
            "15.00",
            "11.25",
            "7.50",
            "3.75",
            "0.00",
        ]
        assert lines[-1].split() == ["29", "Sep", "30", "Sep", "01", "Oct"]
        assert lines[2].count("█") < lines[-4].count("█")

    def test_of_lines_names_them_and_draws_charging_below_zero(self, run: Run):
        points = [
            {"time": f"2026-07-01T{hour:02}:00:00Z", "availableEnergy": 40}
            | {"availableChargePower": 10, "availableDischargePower": 30}
            for hour in range(8)
        ]
        known = {f"/physical-assets/{BATTERY}/availability": {"availability": points}}
        lines = run("availability Husum --day 2026-07-01 --plot", known).out.splitlines()
        assert lines[0].strip() == "Available power kW"
        assert [line.split("┤")[0].strip() for line in lines if "┤" in line] == ["30", "20", "10", "0", "-10"]
        assert lines[-2].split() == ["02:00", "04:00", "06:00", "08:00"]
        assert lines[-1].split() == ["▚", "discharge", "·", "charge"]
        assert "·" in next(line for line in lines if line.startswith("-10"))
