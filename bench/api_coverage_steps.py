"""The scenes of the survey: a small world that calls every operation, each as a user of the platform would."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pyotp

from bench.harness import MEMBER_PASSWORD, PASSWORD, USERNAME

if TYPE_CHECKING:
    from bench.api_coverage_calls import Survey

MARKET = ZoneInfo("Europe/Berlin")
QUARTER = timedelta(minutes=15)
NEW_PASSWORD = "yet another long bench password 7"
PARAMETERS = {
    "ratedChargePower": 20_000,
    "ratedDischargePower": 20_000,
    "energyCapacity": 40_000,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.95,
}


def at(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def midnight(days: int) -> datetime:
    """The market day that begins so many days from now."""
    now = datetime.now(MARKET)
    return datetime(now.year, now.month, now.day, tzinfo=MARKET) + timedelta(days=days)


def day(days: int) -> str:
    return midnight(days).date().isoformat()


def window(first: int, last: int) -> dict[str, str]:
    return {"start": at(midnight(first)), "end": at(midnight(last))}


def flat(first: datetime, count: int, power: float) -> list[dict[str, Any]]:
    return [{"time": at(first + n * QUARTER), "power": power} for n in range(count)]


def sign_in(world: Survey) -> None:
    answer = world.call("authenticate", {"username": USERNAME, "password": PASSWORD}, by=None)
    world.tokens["operator"] = answer["access_token"]
    answer = world.call("refreshTokens", {"refresh_token": answer["refresh_token"]}, by=None)
    world.tokens["operator"] = answer["access_token"]
    world.call("readKeySet", by=None)
    world.ids["operator"] = world.call("readMe")["organisationID"]


def found_organisations(world: Survey) -> None:
    for name in ("owner", "trader"):
        made = world.call("createOrganisation", {"name": f"{name} {uuid.uuid4().hex[:8]}", "kind": "PARTICIPANT"})
        world.ids[name] = made["id"]
        world.tokens[name] = join(world, name, made["id"], "ADMIN")
    world.ids["organisationID"] = world.ids["owner"]
    world.call("listOrganisations")
    world.call("readOrganisation", by="owner")
    world.call("updateOrganisation", {"name": "Speicher Nord"}, by="owner")
    revoked = world.call("createInvitation", {"email": "gone@example.org", "role": "VIEWER"}, by="owner")
    world.call("listInvitations", by="owner")
    world.call("revokeInvitation", by="owner", invitationID=revoked["id"])
    world.tokens["guest"] = join(world, "guest", world.ids["owner"], "VIEWER")
    members = world.call("listMembers", by="owner")
    guest = next(one for one in members if one["role"] == "VIEWER")
    world.call("updateMember", {"role": "ENGINEER"}, by="owner", userID=guest["id"])
    change = {"currentPassword": MEMBER_PASSWORD, "newPassword": NEW_PASSWORD}
    world.call("updatePassword", change, by="guest")
    world.call("logout", by="guest")
    world.call("deleteMember", by="owner", userID=guest["id"])
    key = world.call("createApiKey", {"name": "Gateway", "permissions": ["Create:monitoring"]}, by="owner")
    world.call("listApiKeys", by="owner")
    world.call("deleteApiKey", by="owner", apiKeyID=key["id"])
    world.call("listAuditLog", by="owner")
    session = {"username": USERNAME, "password": PASSWORD}
    world.call("beginConsoleSession", session, by=None, headers={"Sec-Fetch-Site": "same-origin"})
    cookie = {"Cookie": world.ids["Cookie"], "Sec-Fetch-Site": "same-origin"}
    world.call("readConsoleSession", by=None, headers=cookie)
    world.call("endConsoleSession", by=None, headers=cookie)


def join(world: Survey, name: str, organisation_id: str, role: str) -> str:
    email = f"{name}-{uuid.uuid4().hex[:8]}@example.org"
    invited = world.call("createInvitation", {"email": email, "role": role}, organisationID=organisation_id)
    credentials = {"username": email, "password": MEMBER_PASSWORD}
    world.call("acceptInvitation", {"token": invited["token"], "displayName": name, **credentials}, by=None)
    return str(world.call("authenticate", credentials, by=None)["access_token"])


def register_batteries(world: Survey) -> None:
    body = {"name": "Elbe", "organisationID": world.ids["owner"], "deliveryZone": "TenneT", "parameters": PARAMETERS}
    world.ids["physicalAssetID"] = world.call("registerPhysicalAsset", body, by="owner")["id"]
    world.ids["second"] = world.call("registerPhysicalAsset", {**body, "name": "Weser"}, by="owner")["id"]
    world.call("listPhysicalAssets", by="owner")
    world.call("readPhysicalAsset", by="owner")
    world.call("updatePhysicalAsset", {"name": "Elbe 20 MW", "eicCode": "11WGRIDLOOM-BT00"}, by="owner")
    world.call("readParameters", by="owner")
    world.call("putParameters", {**PARAMETERS, "energyCapacity": 41_000}, by="owner")
    world.call("listParametersHistory", by="owner")
    schedule = {"schedule": flat(midnight(3), 4, 1000)}
    world.call("putPhysicalAssetSchedule", schedule, by="owner", physicalAssetID=world.ids["second"])
    world.call("readPhysicalAssetSchedule", by="owner", query=window(3, 4), physicalAssetID=world.ids["second"])
    world.call("putMetadata", {"acerCode": "A0000000X.DE"}, by="owner", category="market")
    world.call("readMetadata", by="owner", category="market")
    world.call("readAllMetadata", by="owner")
    world.call("readAvailability", by="owner", query=window(1, 2))
    world.call("readHealth", by="owner")
    fleet = {"name": "North", "organisationID": world.ids["owner"], "physicalAssetIDs": [world.ids["physicalAssetID"]]}
    world.ids["fleetID"] = world.call("createFleet", fleet, by="owner")["id"]
    world.call("listFleets", by="owner")
    world.call("readFleet", by="owner")
    both = [world.ids["physicalAssetID"], world.ids["second"]]
    world.call("updateFleet", {"physicalAssetIDs": both}, by="owner")
    permissions = {"permissions": ["Read:physical-assets", "Read:monitoring"]}
    world.call("putGrant", permissions, by="owner", organisationID=world.ids["trader"])
    world.call("listGrants", by="owner")
    world.call("readGrant", by="owner", organisationID=world.ids["trader"])
    world.call("listPhysicalAssets", by="trader")
    everything = {"permissions": ["Read:physical-assets", "Update:schedules", "Create:ancillary-results"]}
    for asset in both:
        world.call("putGrant", everything, by="owner", organisationID=world.ids["operator"], physicalAssetID=asset)


def follow_events(world: Survey) -> None:
    hook = {"url": "https://example.org/hook", "types": ["auction.opened"]}
    world.ids["webhookID"] = world.call("createWebhook", hook, by="owner")["id"]
    world.call("listWebhooks", by="owner")
    world.call("readWebhook", by="owner")
    world.call("updateWebhook", {"description": "Survey", "types": []}, by="owner")
    world.call("rotateWebhookSecret", {"overlapSeconds": 60}, by="owner")
    schedule = {"schedule": flat(midnight(3), 4, 1200)}
    world.call("putPhysicalAssetSchedule", schedule, by="owner", physicalAssetID=world.ids["second"])
    world.call(
        "followEvents", by="owner", headers={"Accept": "text/event-stream", "Last-Event-ID": "0"}, until=b"data:"
    )
    made = world.wait_for("listWebhookDeliveries", bool, by="owner")
    world.call("replayWebhookDelivery", by="owner", deliveryID=made[0]["id"])
    world.call("deleteWebhook", by="owner")


def measure(world: Survey) -> None:
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=5)
    points = {"active_power": {"time": [at(now), at(now + timedelta(seconds=1))], "value": [1.0, 2.0]}}
    world.call("writeDatapoints", points, by="owner")
    world.call("writeDatapointsOfMany", {world.ids["physicalAssetID"]: points}, by="owner")
    line = f"battery,asset={world.ids['physicalAssetID']} active_power=1.5 {int(now.timestamp())}"
    world.call("writeLines", line, by="owner", query={"precision": "s"})
    world.call("listSignals", by="owner")
    span = {"start": at(now - timedelta(hours=1)), "end": at(now + timedelta(hours=1))}
    world.call("readDatapoints", by="owner", query=span)
    world.call("readLatestDatapoints", by="owner")
    world.call("sumDatapoints", by="owner", query=span)
    stream = {"Accept": "text/event-stream"}
    world.call("followDatapoints", by="owner", headers=stream, until=b"\n\n")


def keep_the_book(world: Survey) -> None:
    note = {"title": "Fan", "type": "note", "start": at(midnight(0)), "description": "It hums", "tags": ["fan"]}
    entry = world.call("writeLogbookEntry", note, by="owner")
    world.call("searchLogbook", by="owner", query={"text": "hums"})
    world.call("readLogbookEntry", by="owner", entryID=entry["id"])
    world.call("correctLogbookEntry", {**note, "title": "Pump"}, by="owner", entryID=entry["id"])
    volume = {"energyCapacity": 0, "powerCapacity": {"charge": 1000, "discharge": 1000}}
    missing = {"description": "Inspection", "type": "MAINTENANCE", **window(9, 10), "volume": volume}
    world.call("previewUnavailability", missing, by="owner")
    made = world.call("createUnavailability", missing, by="owner")
    world.call("listUnavailabilities", by="owner")
    world.call("readUnavailability", by="owner", unavailabilityID=made["id"])
    message = {
        "unavailabilityType": "PLANNED",
        "eventStart": missing["start"],
        "eventEnd": missing["end"],
        "unavailableCapacity": 1000,
        "cause": "Inspection",
        "unavailabilityIDs": [made["id"]],
    }
    published = world.call("publishNotification", message, by="owner")
    world.call("listNotifications", by="owner")
    world.call("readNotification", by="owner", notificationID=published["id"])
    world.call("reviseNotification", {"cause": "Longer"}, by="owner", notificationID=published["id"])
    world.call("readNotificationDocument", by="owner", notificationID=published["id"])
    world.call("updateUnavailability", {"description": "Repair"}, by="owner", unavailabilityID=made["id"])
    world.call("cancelUnavailability", by="owner", unavailabilityID=made["id"])


def offer_balancing(world: Survey) -> None:
    second = world.ids["second"]
    offers = [
        {
            "deliveryDay": day(2),
            "product": product,
            "bids": [{"capacityPrice": 10, "offeredCapacity": 1000}],
        }
        for product in ("NEGPOS_00_04", "NEGPOS_04_08")
    ]
    placed = world.call("placeAncillaryBids", offers, by="owner", physicalAssetID=second)
    bids = [entry["bids"][0]["id"] for entry in placed]
    keys = {"product-keys": f"{day(2)}_NEGPOS_00_04"}
    world.call("listBidsWithoutResult", by="owner", query=keys, physicalAssetID=second)
    world.call("listBidsByProductKeys", by="owner", query=keys, physicalAssetID=second)
    world.call("listAncillaryBids", by="owner", physicalAssetID=second)
    world.call("withdrawAncillaryBid", by="owner", bidID=bids[1], physicalAssetID=second)
    world.ids["ancillary bid"] = bids[0]
    world.call("readCommitments", by="owner", query=window(1, 4), physicalAssetID=second)


def allocate(world: Survey) -> None:
    trader = world.ids["trader"]
    terms = {
        "deliveryZone": "TenneT",
        "ratedChargePower": 2000,
        "ratedDischargePower": 2000,
        "energyCapacity": 4000,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    world.ids["terms"] = terms
    backing = {"backing": [{"physicalAssetID": world.ids["physicalAssetID"], "share": 1}]}
    world.ids["backing"] = backing
    body = {"name": "Virtual", **window(1, 45), **terms, **backing}
    of = {"organisationID": trader}
    asset = world.call("createVirtualAsset", body, **of)
    of["virtualAssetID"] = world.ids["virtualAssetID"] = asset["id"]
    gone = world.call("createVirtualAsset", {**body, "name": "Gone", **window(50, 51)}, organisationID=trader)
    world.call("deleteVirtualAsset", organisationID=trader, virtualAssetID=gone["id"])
    world.call("listVirtualAssets", by="trader", organisationID=trader)
    world.call("readVirtualAsset", by="trader", **of)
    world.call("updateVirtualAsset", {"name": "Virtual one"}, by="trader", **of)
    portfolio = world.call("createPortfolio", {"name": "All"}, by="trader", organisationID=trader)
    world.ids["portfolioID"] = portfolio["id"]
    world.call("listPortfolios", by="trader", organisationID=trader)
    world.call("readPortfolio", by="trader", organisationID=trader)
    world.call("updatePortfolio", {"virtualAssetIDs": [asset["id"]]}, by="trader", organisationID=trader)
    world.call("scheduleAsset", {"schedule": flat(midnight(2), 2, 1000)}, by="trader", **of)
    world.call("readAssetSchedule", by="trader", query=window(2, 3), **of)
    one = {"virtualAssetID": asset["id"], "ifMatch": world.ids["ETag"], "schedule": flat(midnight(2), 2, 900)}
    world.call("schedulePortfolio", {"schedules": [one]}, by="trader", organisationID=trader)
    world.call("readHeadroom", by="trader", query=window(2, 3), **of)
    block = {**window(5, 6), "market": "WHOLESALE", "ratedChargePower": 500, "ratedDischargePower": 500}
    made = world.call("createBlock", block, by="trader", **of)
    world.call("listBlocks", by="trader", **of)
    world.call("readBlock", by="trader", blockID=made["id"], **of)
    world.call("scheduleBlock", {"schedule": flat(midnight(5), 2, 100)}, by="trader", blockID=made["id"], **of)
    world.call("deleteBlock", by="trader", blockID=made["id"], **of)
    world.call("readStateOfCharge", by="trader", query=window(1, 2), **of)
    world.call("readLatestStateOfEnergy", by="trader", **of)
    world.call("readProjectedStateOfEnergy", by="trader", query=window(1, 2), **of)
    world.call("readOperational", by="trader", query=window(1, 2), **of)
    world.call("listAdjustments", by="trader", **of)
    world.call("listScheduleHistory", by="trader", **of)
    world.call("readPosition", by="trader", query=window(2, 3), **of)


def auction(world: Survey) -> None:
    now = datetime.now(UTC)
    body = {
        "start": at(now + timedelta(hours=1)),
        "end": at(now + timedelta(hours=2)),
        "item": {**window(10, 12), **world.ids["terms"]},
        "hurdlePrice": 10,
        **world.ids["backing"],
        "participants": [world.ids["trader"]],
    }
    cancelled = world.call("createAuction", body)
    world.call("updateAuction", {"hurdlePrice": 20}, auctionID=cancelled["id"])
    world.call("replaceParticipants", [world.ids["trader"]], auctionID=cancelled["id"])
    world.call("cancelAuction", auctionID=cancelled["id"])
    world.ids["auctionID"] = world.call("createAuction", body)["id"]
    world.call("listAuctions", by="trader")
    world.call("readAuction", by="trader")
    world.call("readClock", by="trader")
    world.call("moveClock", {"now": at(now + timedelta(minutes=61))})
    withdrawn = world.call("placeBid", {"price": 100}, by="trader", headers={"Idempotency-Key": uuid.uuid4().hex})
    world.call("placeBid", {"price": 120}, by="trader")
    world.call("listBids", by="trader")
    world.call("withdrawBid", by="trader", bidID=withdrawn["id"])
    world.call("moveClock", {"now": at(now + timedelta(minutes=121))})
    won = world.wait_for("readAuction", lambda found: found.get("status") == "WON", by="trader")
    world.ids["won"] = won["virtualAssetID"]
    world.call("readResults")
    world.call("listAuctions", by="trader", query={"status": "WON"})


def settle(world: Survey) -> None:
    """Two days on: deliveries have run, prices and trades are known."""
    asset = world.ids["virtualAssetID"]
    world.call("moveClock", {"now": at(midnight(3) + timedelta(hours=1))})
    result = [
        {
            "deliveryDay": day(2),
            "product": "NEGPOS_00_04",
            "results": [
                {
                    "bidID": world.ids["ancillary bid"],
                    "accepted": True,
                    "acceptedCapacity": 1000,
                    "settlementPrice": 12,
                }
            ],
        }
    ]
    world.call("recordAncillaryResults", result, physicalAssetID=world.ids["second"])
    world.call("listAncillaryResults", by="owner", physicalAssetID=world.ids["second"])
    runs = world.wait_for("listDeliveryRuns", bool)
    world.call("readDeliveryRun", runID=runs[0]["id"])
    world.call("listDeliveryZones", query=window(2, 3))
    world.call("readDispatch", by="owner", query=window(2, 3))
    acknowledge_dispatch(world)
    world.call("readPerformance", by="owner", query=window(2, 3))
    prices = [
        {"series": "DAY_AHEAD_DE_LU", "start": at(midnight(n)), "end": at(midnight(n + 1)), "price": 50 + abs(n) % 7}
        for n in range(-40, 46)
    ]
    world.call("recordReferencePrices", prices)
    world.call("listReferencePrices", by="trader", query={"series": "DAY_AHEAD_DE_LU", **window(2, 3)})
    trade = {"tradeID": "T-1", "time": at(midnight(2)), "side": "SELL", "volume": 0.25, "price": 70}
    world.call("recordWholesaleTrades", [{**trade, "market": "DAY_AHEAD", "assetID": asset}])
    award = {"deliveryDay": day(2), "capacity": 1, "assetID": asset}
    world.call("recordFcr", [{**award, "product": "NEGPOS_00_04", "settlementPrice": 10}])
    world.call("recordAfrrCapacity", [{**award, "product": "POS_00_04", "price": 10}])
    world.call(
        "recordAfrrEnergy",
        [{"time": at(midnight(2)), "direction": "POS", "volume": 0.1, "price": 90, "assetID": asset}],
    )
    world.call("recordNetOff", [{"time": at(midnight(2)), "volume": 0.1, "assetID": asset}])
    toll = {"contractID": "C-1", **window(1, 8), "annualPrice": 1000, "assetID": asset}
    world.call("recordTollingContracts", [toll])
    for kind in ("WholesaleTrades", "Fcr", "AfrrCapacity", "AfrrEnergy", "NetOff", "TollingContracts"):
        world.call(f"list{kind}")
    world.call("listPriceDeviations", query={"kind": "wholesale-trades"})


def acknowledge_dispatch(world: Survey) -> None:
    sent = world.call("readDispatch", by="owner", query=window(2, 3))
    done = {"version": sent["version"], "time": at(midnight(2)), "status": "APPLIED", "at": at(midnight(2))}
    world.call("acknowledgeDispatch", done, by="owner")
    world.call("listDispatchAcknowledgements", by="owner", query=window(2, 3))


def read_revenue(world: Survey) -> None:
    of = {"virtualAssetID": world.ids["virtualAssetID"]}
    days = window(2, 3)
    daily = {**days, "resolution": "daily"}
    world.call("readVirtualAssetDataPoints", by="trader", query=daily, **of)
    world.call("readPortfolioDataPoints", by="trader", query=daily)
    world.call("readFleetDataPoints", by="owner", query=daily)
    world.call("readPhysicalAssetDataPoints", by="owner", query=daily)
    for kind in ("Wholesale", "Ancillary", "Tolling", "VirtualBatteryAuction"):
        world.call(f"read{kind}Revenue", by="trader", query=days, **of)
    month = window(1, 3)
    world.call("readVirtualAssetStatement", by="trader", query=month, **of)
    world.call("readPortfolioStatement", by="trader", query=month)
    world.call("readPhysicalAssetStatement", by="owner", query=month)
    world.call("readFleetStatement", by="owner", query=month)


def optimise(world: Survey) -> None:
    of = {"organisationID": world.ids["trader"], "virtualAssetID": world.ids["virtualAssetID"]}
    plan = {**window(5, 6), "prices": {"series": "DAY_AHEAD_DE_LU"}}
    world.call("optimiseVirtualAsset", plan, by="trader", **of)
    made = world.call(
        "optimiseVirtualAsset", {**plan, **window(5, 40)}, by="trader", **of
    )  # so long that a job does it
    world.call("readOptimisation", by="trader", optimisationID=made["id"], **of)
    world.call("repairSchedule", {"schedule": flat(midnight(5), 96, 2000), "objective": "NEAREST"}, by="trader", **of)
    world.call("optimisePortfolio", plan, by="trader", organisationID=world.ids["trader"])
    world.call("forecastDayAhead", by="trader", query={"delivery-day": day(4)})
    world.call("valueAuction", {"basis": "FORESIGHT"}, by="trader")
    battery = {"ratedPower": 1000, "energyCapacity": 2000, "chargeEfficiency": 0.95, "dischargeEfficiency": 0.95}
    test = {"start": day(-10), "end": day(-5), "policy": "YESTERDAY", "battery": battery}
    made = world.call("createBacktest", test, by="trader")
    world.call("listBacktests", by="trader")
    world.call("readBacktest", by="trader", backtestID=made["id"])
    world.call("listBacktestDays", by="trader", backtestID=made["id"])


def trade_by_orders(world: Survey) -> None:
    """A delivery day ahead: planned, ordered, executed by the operator, and seen by its stages."""
    of = {"organisationID": world.ids["trader"], "virtualAssetID": world.ids["virtualAssetID"]}
    ahead = {"delivery-day": day(6)}
    world.call("forecastPriceSeries", by="trader", query=ahead, series="IDA1_DE_LU")
    world.call("planMarket", {"deliveryDay": day(6), "stage": "DAY_AHEAD"}, by="trader", **of)
    world.call(
        "planPortfolioMarket",
        {"deliveryDay": day(6), "stage": "DAY_AHEAD"},
        by="trader",
        organisationID=world.ids["trader"],
    )
    world.call("readPortfolioMarkets", by="trader", query=ahead, organisationID=world.ids["trader"])
    executed = place_order(world, of, "DAY_AHEAD", midnight(6))
    world.call("listWaitingOrders", query={"stage": "DAY_AHEAD", **ahead})
    order = world.call("readOrder", by="trader", orderID=executed, organisationID=world.ids["trader"])
    trades = [{**volume, "price": 60} for volume in order["volumes"]]
    world.call("recordOrderResults", [{"orderID": executed, "executed": True, "trades": trades}])
    trade_on_schedule(world, of)
    sell_reserves(world, of)
    cancelled = place_order(world, of, "IDA1", midnight(6) + 8 * QUARTER)
    world.call("cancelOrder", by="trader", orderID=cancelled, organisationID=world.ids["trader"])
    world.call("listOrders", by="trader", query=ahead, organisationID=world.ids["trader"])


def trade_on_schedule(world: Survey, of: dict[str, Any]) -> None:
    """An executed order that puts its position into the schedule."""
    applied = place_order(world, of, "DAY_AHEAD", midnight(8), days=8, apply=True)
    order = world.call("readOrder", by="trader", orderID=applied, organisationID=world.ids["trader"])
    trades = [{**volume, "price": 60} for volume in order["volumes"]]
    [result] = world.call("recordOrderResults", [{"orderID": applied, "executed": True, "trades": trades}])
    assert result["applied"], result


def sell_reserves(world: Survey, of: dict[str, Any]) -> None:
    """Both tenders: awarded in part, carved out, and corrected."""
    for stage, product, price in (("FCR", "NEGPOS_08_12", {}), ("AFRR", "POS_12_16", {"energyPrice": 180})):
        offer = {"product": product, "capacity": 500, "capacityPrice": 20, **price}
        sold = place_order(world, of, stage, None, days=7, reserves=[offer])
        for capacity in (500, 300):
            award = {"product": product, "acceptedCapacity": capacity, "price": 20}
            given = {"orderID": sold, "executed": True, "reserves": [award], "correction": capacity < 500}
            world.call("recordOrderResults", [given])


def place_order(
    world: Survey, of: dict[str, Any], stage: str, begins: datetime | None, *, days: int = 6, **more: Any
) -> str:
    """Buy half a megawatt for a quarter-hour, or what else is said."""
    world.call("readAssetMarkets", by="trader", query={"delivery-day": day(days)}, **of)
    asked = {
        "virtualAssetID": of["virtualAssetID"],
        "ifMatch": world.ids["ETag"],
        "stage": stage,
        "deliveryDay": day(days),
        **({} if begins is None else {"schedule": flat(begins, 1, -500), "atAnyPrice": True}),
        **more,
    }
    return str(world.call("createOrders", [asked], by="trader", organisationID=of["organisationID"])[0]["id"])


def compare_with_foresight(world: Survey) -> None:
    days = window(2, 3)
    world.call("readVirtualAssetBenchmark", by="trader", query=days)
    world.call("readPortfolioBenchmark", by="trader", query=days)
    world.call("readPhysicalAssetBenchmark", by="owner", query=days)
    world.call("readFleetBenchmark", by="owner", query=days)


def pull_prices(world: Survey) -> None:
    """Feeds of a service that has none configured, and a price that is withdrawn by hand."""
    world.call("listFeeds")
    world.call("switchFeed", {"enabled": True}, name="entsoe", expect=409)
    world.call("runFeed", {}, name="entsoe", expect=409)
    world.call("listFeedRuns", name="entsoe")
    world.call("deleteReferencePrices", query={"series": "DAY_AHEAD_DE_LU", **window(45, 46)})


def look_around(world: Survey) -> None:
    for name in ("readLiveness", "readReadiness", "readInterface", "showDocumentation", "showFrontPage"):
        world.call(name, by=None)
    world.call("listProblemTypes", by=None)
    world.call("explainProblemType", by=None, problemName="not-found")
    world.call("readDocumentationAsset", by=None, assetName="swagger-ui.css")
    world.tokens["metrics"] = "survey"
    world.call("readMetrics", by="metrics")


def contain_accounts(world: Survey) -> None:
    """Sessions, keys of members, a second factor and an identity provider, of a member made for it."""
    owner = {"organisationID": world.ids["owner"]}
    world.tokens["kept"] = join(world, "kept", world.ids["owner"], "ADMIN")
    sessions = world.call("listSessions", by="kept")
    world.call("endOtherSessions", by="kept")
    world.call("endSession", by="kept", sessionID=uuid.uuid4(), expect=404)
    key = world.call("createApiKey", {"name": "Meter", "permissions": ["Read:monitoring"]}, by="kept")
    world.call("listOrganisationApiKeys", by="owner", **owner)
    world.call("deleteOrganisationApiKey", by="owner", apiKeyID=key.get("id"), **owner)
    world.call("readUsage", by="owner", **owner)
    assert sessions
    me = world.call("readMe", by="kept")
    secret = world.call("createTotp", by="kept")["secret"]
    codes = world.call("confirmTotp", {"code": pyotp.TOTP(secret).now()}, by="kept")["recoveryCodes"]
    login = {"username": me["username"], "password": MEMBER_PASSWORD}
    challenge = world.call("authenticate", login, by=None, expect=401).get("challenge", "none")
    world.call("completeLogin", {"challenge": challenge, "code": codes[0]}, by=None)
    world.call("deleteTotp", {"code": codes[1]}, by="kept")
    world.call("resetSecondFactor", by="owner", userID=me["id"], expect=409, **owner)
    provider = {"issuer": "https://login.example.com", "clientID": "gridloom", "clientSecret": "s" * 20, "domains": []}
    world.call("putIdentityProvider", {**provider, "domains": ["example.com"], "required": False}, by="owner", **owner)
    world.call("readIdentityProvider", by="owner", **owner)
    world.call("deleteIdentityProvider", by="owner", **owner)
    world.call("startSingleSignOn", by=None, query={"organisation": world.ids["owner"]}, expect=404)
    world.call("finishSingleSignOn", by=None, query={"state": "none", "code": "none"}, expect=403)
    world.call("exchangeSsoCode", {"code": "none", "verifier": "v" * 43}, by=None, expect=403)
    world.call("readSecurityContact", by=None)


def issue_statements(world: Survey) -> None:
    owner = {"organisationID": world.ids["owner"]}
    world.call("readOrganisationDataPoints", by="owner", query=window(-3, 1), **owner)
    world.call("readOrganisationStatement", by="owner", query=window(-3, 1), **owner)
    last_month = (midnight(0).replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    world.call("listMissingFacts", query={"month": last_month})
    run = world.call("issueStatements", {"month": last_month, "allowMissing": True})
    world.wait_for("readStatementRun", lambda found: found.get("status") != "RUNNING", runID=run.get("id"))
    world.call("summariseStatements", query=window(-40, 1))
    statements = world.call("listStatements", by="owner", **owner)
    found = statements[0]["id"] if statements else uuid.uuid4()
    world.call("readStatement", by="owner", statementID=found, expect=200 if statements else 404, **owner)


def clear_away(world: Survey) -> None:
    world.call("deleteGrant", by="owner", organisationID=world.ids["trader"])
    world.call("deleteFleet", by="owner")
    # The survey has no simulated world: whose clock it moves, that one could not live in.
    world.call("steerSimulator", {"running": False, "seed": 1}, expect=409)
    world.call("readSimulator")
    world.call("takeSimulatorStep", {"world": 1}, expect=409)
    world.call("stopClockWalk", expect=404)
    world.call("resetSandbox")


SCENES: tuple[Callable[[Survey], None], ...] = (
    sign_in,
    found_organisations,
    register_batteries,
    follow_events,
    measure,
    keep_the_book,
    offer_balancing,
    allocate,
    auction,
    settle,
    read_revenue,
    optimise,
    trade_by_orders,
    compare_with_foresight,
    pull_prices,
    contain_accounts,
    issue_statements,
    look_around,
    clear_away,
)

ALONE: frozenset[Callable[[Survey], None]] = frozenset(
    {
        auction,
        settle,
        read_revenue,
        pull_prices,
        optimise,
        compare_with_foresight,
        issue_statements,
        look_around,
        clear_away,
    }
)
"""Scenes of one caller where there are several: they move the clock of all, or need what such a scene brought."""
