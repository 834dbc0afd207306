"""The permission that each operation needs, room by room, written down from the contract and not read from the code.

A room's own test compares its declarations with its rows (`declared_access`) and with `openapi.json`
(`assert_declared_as_written`), the access matrix walks over all of them. A new operation is added here by hand, after
a look at the contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gridloom.platform.http.operation import Operation

PUBLIC: Final = "public"
SIGNED_IN: Final = "signed-in"

_ASSET: Final = "/physical-assets/{physicalAssetID}"
_ORGANISATION: Final = "/organisations/{organisationID}"
_VIRTUAL: Final = _ORGANISATION + "/virtual-assets/{virtualAssetID}"

EXPECTED: Final[Mapping[str, Mapping[str, str]]] = {
    "identity": {
        "POST /auth/public/authenticate": PUBLIC,
        "POST /auth/public/refresh": PUBLIC,
        "POST /auth/public/invitations/accept": PUBLIC,
        "GET /auth/public/jwks": PUBLIC,
        "POST /auth/public/second-factor": PUBLIC,
        "POST /auth/logout": SIGNED_IN,
        "GET /auth/me": SIGNED_IN,
        "POST /auth/password": SIGNED_IN,
        "GET /auth/sessions": SIGNED_IN,
        "DELETE /auth/sessions": SIGNED_IN,
        "DELETE /auth/sessions/{sessionID}": SIGNED_IN,
        "POST /auth/totp": SIGNED_IN,
        "PUT /auth/totp": SIGNED_IN,
        "DELETE /auth/totp": SIGNED_IN,
        "GET /auth/api-keys": SIGNED_IN,
        "POST /auth/api-keys": SIGNED_IN,
        "DELETE /auth/api-keys/{apiKeyID}": SIGNED_IN,
        "GET /organisations": SIGNED_IN,
        "POST /organisations": "Manage:organisation",
        f"GET {_ORGANISATION}": SIGNED_IN,
        f"PATCH {_ORGANISATION}": "Manage:organisation",
        f"GET {_ORGANISATION}/usage": SIGNED_IN,
        f"GET {_ORGANISATION}/members": SIGNED_IN,
        f"PATCH {_ORGANISATION}/members/{{userID}}": "Manage:organisation",
        f"DELETE {_ORGANISATION}/members/{{userID}}": "Manage:organisation",
        f"DELETE {_ORGANISATION}/members/{{userID}}/second-factor": "Manage:organisation",
        f"GET {_ORGANISATION}/invitations": "Manage:organisation",
        f"POST {_ORGANISATION}/invitations": "Manage:organisation",
        f"DELETE {_ORGANISATION}/invitations/{{invitationID}}": "Manage:organisation",
        f"GET {_ORGANISATION}/identity-provider": "Manage:organisation",
        f"PUT {_ORGANISATION}/identity-provider": "Manage:organisation",
        f"DELETE {_ORGANISATION}/identity-provider": "Manage:organisation",
        f"GET {_ORGANISATION}/api-keys": "Manage:organisation",
        f"DELETE {_ORGANISATION}/api-keys/{{apiKeyID}}": "Manage:organisation",
    },
    "physical_assets": {
        "GET /physical-assets": "Read:physical-assets",
        "POST /physical-assets": "Update:physical-assets",
        f"GET {_ASSET}": "Read:physical-assets",
        f"PATCH {_ASSET}": "Update:physical-assets",
        f"GET {_ASSET}/parameters": "Read:physical-assets",
        f"PUT {_ASSET}/parameters": "Update:physical-assets",
        f"GET {_ASSET}/parameters/history": "Read:physical-assets",
        f"GET {_ASSET}/schedule": "Read:schedules",
        f"PUT {_ASSET}/schedule": "Update:schedules",
        f"GET {_ASSET}/metadata": "Read:physical-assets",
        f"GET {_ASSET}/metadata/{{category}}": "Read:physical-assets",
        f"PUT {_ASSET}/metadata/{{category}}": "Update:physical-assets",
        f"GET {_ASSET}/availability": "Read:physical-assets",
        f"GET {_ASSET}/commitments": "Read:schedules",
        f"GET {_ASSET}/health": "Read:physical-assets",
        f"GET {_ASSET}/grants": "Read:physical-assets",
        f"GET {_ASSET}/grants/{{organisationID}}": "Read:physical-assets",
        f"PUT {_ASSET}/grants/{{organisationID}}": "Manage:organisation",
        f"DELETE {_ASSET}/grants/{{organisationID}}": "Manage:organisation",
        "GET /fleets": "Read:physical-assets",
        "POST /fleets": "Update:physical-assets",
        "GET /fleets/{fleetID}": "Read:physical-assets",
        "PATCH /fleets/{fleetID}": "Update:physical-assets",
        "DELETE /fleets/{fleetID}": "Update:physical-assets",
    },
    "ancillary": {
        f"POST {_ASSET}/ancillary/bids": "Create:ancillary-bids",
        f"GET {_ASSET}/ancillary/bids": "Read:physical-assets",
        f"DELETE {_ASSET}/ancillary/bids/{{bidID}}": "Create:ancillary-bids",
        f"GET {_ASSET}/ancillary/bids-without-result": "Read:physical-assets",
        f"GET {_ASSET}/ancillary/bids-by-product-keys": "Read:physical-assets",
        f"POST {_ASSET}/ancillary/results": "Create:ancillary-results",
        f"GET {_ASSET}/ancillary/results": "Read:physical-assets",
    },
    "logbook": {
        f"GET {_ASSET}/logbook": "Read:physical-assets",
        f"POST {_ASSET}/logbook": "Create:logbook",
        f"GET {_ASSET}/logbook/{{entryID}}": "Read:physical-assets",
        f"POST {_ASSET}/logbook/{{entryID}}/corrections": "Create:logbook",
    },
    "unavailability": {
        f"POST {_ASSET}/unavailability": "Create:unavailabilities",
        f"GET {_ASSET}/unavailability": "Read:physical-assets",
        f"GET {_ASSET}/unavailability/{{unavailabilityID}}": "Read:physical-assets",
        f"PATCH {_ASSET}/unavailability/{{unavailabilityID}}": "Create:unavailabilities",
        f"DELETE {_ASSET}/unavailability/{{unavailabilityID}}": "Create:unavailabilities",
        f"POST {_ASSET}/unavailability-previews": "Create:unavailabilities",
    },
    "exchange_notifications": {
        f"POST {_ASSET}/exchange-notifications": "Create:exchange-notifications",
        f"GET {_ASSET}/exchange-notifications": "Read:physical-assets",
        f"GET {_ASSET}/exchange-notifications/{{notificationID}}": "Read:physical-assets",
        f"POST {_ASSET}/exchange-notifications/{{notificationID}}/revisions": "Create:exchange-notifications",
        f"GET {_ASSET}/exchange-notifications/{{notificationID}}/document": "Read:physical-assets",
    },
    "monitoring": {
        "GET /monitoring/{physicalAssetID}/signals": "Read:monitoring",
        "POST /monitoring/{physicalAssetID}/datapoints": "Create:monitoring",
        "GET /monitoring/{physicalAssetID}/datapoints": "Read:monitoring",
        "GET /monitoring/{physicalAssetID}/datapoints/latest": "Read:monitoring",
        "GET /monitoring/{physicalAssetID}/datapoints/sum/detailed": "Read:monitoring",
        "GET /monitoring/{physicalAssetID}/stream": "Read:monitoring",
        "POST /monitoring/datapoints": "Create:monitoring",
        "POST /monitoring/write": "Create:monitoring",
    },
    "virtual_assets": {
        f"GET {_ORGANISATION}/virtual-assets": "Read:virtual-assets",
        f"POST {_ORGANISATION}/virtual-assets": "Manage:auctions",
        f"GET {_VIRTUAL}": "Read:virtual-assets",
        f"PATCH {_VIRTUAL}": "Update:schedules",
        f"DELETE {_VIRTUAL}": "Manage:auctions",
        f"GET {_VIRTUAL}/blocks": "Read:virtual-assets",
        f"POST {_VIRTUAL}/blocks": "Update:schedules",
        f"GET {_VIRTUAL}/blocks/{{blockID}}": "Read:virtual-assets",
        f"PUT {_VIRTUAL}/blocks/{{blockID}}": "Update:schedules",
        f"DELETE {_VIRTUAL}/blocks/{{blockID}}": "Update:schedules",
        f"GET {_VIRTUAL}/schedule": "Read:virtual-assets",
        f"PUT {_VIRTUAL}/schedule": "Update:schedules",
        f"GET {_VIRTUAL}/state-of-charge": "Read:virtual-assets",
        f"GET {_VIRTUAL}/state-of-energy/latest": "Read:virtual-assets",
        f"GET {_VIRTUAL}/state-of-energy/projected": "Read:virtual-assets",
        f"GET {_VIRTUAL}/operational": "Read:virtual-assets",
        f"GET {_VIRTUAL}/adjustments": "Read:virtual-assets",
        f"GET {_VIRTUAL}/schedule-history": "Read:virtual-assets",
        f"GET {_ORGANISATION}/portfolios": "Read:virtual-assets",
        f"POST {_ORGANISATION}/portfolios": "Update:schedules",
        f"GET {_ORGANISATION}/portfolios/{{portfolioID}}": "Read:virtual-assets",
        f"PATCH {_ORGANISATION}/portfolios/{{portfolioID}}": "Update:schedules",
        f"PUT {_ORGANISATION}/portfolios/{{portfolioID}}/schedules": "Update:schedules",
    },
    "auctions": {
        "GET /auctions": "Read:auctions",
        "POST /auctions": "Manage:auctions",
        "GET /auctions/{auctionID}": "Read:auctions",
        "PATCH /auctions/{auctionID}": "Manage:auctions",
        "DELETE /auctions/{auctionID}": "Manage:auctions",
        "PUT /auctions/{auctionID}/participants": "Manage:auctions",
        "GET /auctions/{auctionID}/results": "Manage:auctions",
        "POST /auctions/{auctionID}/bids": "Create:bids",
        "GET /auctions/{auctionID}/bids": "Read:auctions",
        "DELETE /auctions/{auctionID}/bids/{bidID}": "Create:bids",
    },
    "delivery": {
        f"GET {_ASSET}/dispatch": "Read:schedules",
        f"GET {_ASSET}/dispatch/acknowledgements": "Read:schedules",
        f"POST {_ASSET}/dispatch/acknowledgements": "Create:monitoring",
        f"GET {_ASSET}/performance": "Read:monitoring",
        f"GET {_VIRTUAL}/position": "Read:virtual-assets",
        "GET /delivery/runs": "Read:schedules",
        "GET /delivery/runs/{runID}": "Read:schedules",
        "GET /delivery/zones": "Read:schedules",
    },
    "settlements": {
        "POST /settlements/wholesale-trades": "Create:trades",
        **{
            f"POST /settlements/{kind}": "Create:settlements"
            for kind in ("fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts")
        },
        **{
            f"GET /settlements/{kind}": "Read:revenue"
            for kind in ("wholesale-trades", "fcr", "afrr-capacity", "afrr-energy", "net-off", "tolling-contracts")
        },
    },
    "revenue": {
        f"GET /revenue-reporting/{subject}/{report}": "Read:revenue"
        for subject, reports in {
            "virtual-assets/{virtualAssetID}": ("data-points", "statement"),
            "portfolios/{portfolioID}": ("data-points", "statement"),
            "fleets/{fleetID}": ("data-points", "statement"),
            "physical-assets/{physicalAssetID}": ("data-points", "statement"),
            "organisations/{organisationID}": ("data-points", "statement"),
            "{virtualAssetID}": ("wholesale", "ancillary", "tolling", "virtual-battery-auction"),
        }.items()
        for report in reports
    },
    "statements": {
        "POST /statements": "Create:settlements",
        "GET /statements/missing": "Create:settlements",
        "GET /statements/runs/{runID}": "Create:settlements",
        "GET /statements/summary": "Create:settlements",
        f"GET {_ORGANISATION}/statements": "Read:revenue",
        f"GET {_ORGANISATION}/statements/{{statementID}}": "Read:revenue",
    },
    "reference_prices": {
        "GET /reference-prices": "Read:revenue",
        "POST /reference-prices": "Create:reference-prices",
        "DELETE /reference-prices": "Create:reference-prices",
        "GET /reference-prices/deviations": "Read:revenue",
    },
    "feeds": {
        "GET /feeds": "Create:settlements",
        "PUT /feeds/{name}": "Create:settlements",
        "POST /feeds/{name}/runs": "Create:settlements",
        "GET /feeds/{name}/runs": "Create:settlements",
    },
    "optimiser": {
        f"POST {_VIRTUAL}/optimisations": "Create:optimisations",
        f"GET {_VIRTUAL}/optimisations/{{optimisationID}}": "Create:optimisations",
        f"POST {_VIRTUAL}/repairs": "Create:optimisations",
        f"GET {_VIRTUAL}/headroom": "Read:virtual-assets",
        f"POST {_ORGANISATION}/portfolios/{{portfolioID}}/optimisations": "Create:optimisations",
        "POST /auctions/{auctionID}/valuations": "Create:optimisations",
        "GET /forecasts/day-ahead": SIGNED_IN,
        "GET /forecasts/{series}": SIGNED_IN,
        "POST /backtests": "Create:optimisations",
        "GET /backtests": "Create:optimisations",
        "GET /backtests/{backtestID}": "Create:optimisations",
        "GET /backtests/{backtestID}/days": "Create:optimisations",
    },
    "markets": {
        f"GET {_VIRTUAL}/markets": "Read:virtual-assets",
        f"POST {_VIRTUAL}/market-plans": "Create:optimisations",
        f"POST {_ORGANISATION}/portfolios/{{portfolioID}}/market-plans": "Create:optimisations",
        f"GET {_ORGANISATION}/portfolios/{{portfolioID}}/markets": "Read:virtual-assets",
        f"POST {_ORGANISATION}/orders": "Create:trades",
        f"GET {_ORGANISATION}/orders": "Read:virtual-assets",
        f"GET {_ORGANISATION}/orders/{{orderID}}": "Read:virtual-assets",
        f"DELETE {_ORGANISATION}/orders/{{orderID}}": "Create:trades",
        "GET /orders": "Create:settlements",
        "POST /orders/results": "Create:settlements",
        **{
            f"GET /revenue-reporting/{subject}/benchmark": "Read:revenue"
            for subject in (
                "virtual-assets/{virtualAssetID}",
                "portfolios/{portfolioID}",
                "fleets/{fleetID}",
                "physical-assets/{physicalAssetID}",
            )
        },
    },
    "events": {"GET /events": SIGNED_IN},
    "webhooks": {
        "GET /webhooks": "Manage:organisation",
        "POST /webhooks": "Manage:organisation",
        "GET /webhooks/{webhookID}": "Manage:organisation",
        "PATCH /webhooks/{webhookID}": "Manage:organisation",
        "DELETE /webhooks/{webhookID}": "Manage:organisation",
        "POST /webhooks/{webhookID}/secret": "Manage:organisation",
        "GET /webhooks/{webhookID}/deliveries": "Manage:organisation",
        "POST /webhooks/{webhookID}/deliveries/{deliveryID}/replay": "Manage:organisation",
    },
    "audit": {"GET /audit-log": "Manage:organisation"},
    "sandbox": {
        "GET /sandbox/clock": SIGNED_IN,
        "PUT /sandbox/clock": SIGNED_IN,
        "DELETE /sandbox/clock/walk": SIGNED_IN,
        "POST /sandbox/reset": "Manage:organisation",
        "GET /sandbox/simulator": SIGNED_IN,
        "PUT /sandbox/simulator": SIGNED_IN,
        "PUT /sandbox/simulator/step": SIGNED_IN,
    },
    "console": {
        "POST /console/session": PUBLIC,
        "GET /console/session": PUBLIC,
        "DELETE /console/session": PUBLIC,
        "GET /auth/public/sso/start": PUBLIC,
        "GET /auth/public/sso/callback": PUBLIC,
        "POST /auth/public/sso/token": PUBLIC,
    },
}

EVERYWHERE: Final = {
    "GET /": PUBLIC,
    "GET /docs": PUBLIC,
    "GET /docs/assets/{assetName}": PUBLIC,
    "GET /docs/problems": PUBLIC,
    "GET /docs/problems/{problemName}": PUBLIC,
    "GET /openapi.json": PUBLIC,
    "GET /.well-known/security.txt": PUBLIC,
    "GET /health/live": PUBLIC,
    "GET /health/ready": PUBLIC,
    "GET /metrics": PUBLIC,
}
"""Operations of no room of the business."""

ALL: Final[Mapping[str, str]] = {
    **EVERYWHERE,
    **{operation: access for room in EXPECTED.values() for operation, access in room.items()},
}

_OF_ASSETS: Final = "POST /monitoring/datapoints"
_LINES: Final = "POST /monitoring/write"

MARKED: Final[Mapping[str, frozenset[str]]] = {
    "shows a secret": frozenset(
        {
            "POST /auth/public/authenticate",
            "POST /auth/public/refresh",
            "POST /auth/public/second-factor",
            "POST /auth/public/sso/token",
            "POST /auth/totp",
            "PUT /auth/totp",
            "POST /auth/api-keys",
            f"POST {_ORGANISATION}/invitations",
            "POST /webhooks",
            "POST /webhooks/{webhookID}/secret",
            "POST /console/session",
        }
    ),
    "is not audited": frozenset(
        {
            "POST /monitoring/{physicalAssetID}/datapoints",
            _OF_ASSETS,
            _LINES,
            f"POST {_ASSET}/dispatch/acknowledgements",
            f"POST {_VIRTUAL}/optimisations",
            f"POST {_VIRTUAL}/repairs",
            f"POST {_ORGANISATION}/portfolios/{{portfolioID}}/optimisations",
            f"POST {_VIRTUAL}/market-plans",
            f"POST {_ORGANISATION}/portfolios/{{portfolioID}}/market-plans",
            "POST /auctions/{auctionID}/valuations",
            "POST /backtests",
            "PUT /sandbox/simulator/step",
        }
    ),
    "keeps to the assets of a key": frozenset({"GET /physical-assets", _OF_ASSETS, _LINES, "GET /events"}),
    "is free to a key of any asset": frozenset(
        {
            "POST /auth/logout",
            "GET /auth/me",
            "GET /organisations",
            f"GET {_ORGANISATION}",
            f"GET {_ORGANISATION}/usage",
            "GET /reference-prices",
            "GET /forecasts/day-ahead",
            "GET /forecasts/{series}",
            "GET /sandbox/clock",
        }
    ),
}
"""What sets an operation apart: what it stores for a safe retry is sealed, the audit log is silent about it,
or a key that was made for certain physical assets may call it though its path names none."""


def declared_operations(room: str) -> Sequence[Operation]:
    from gridloom.app import ROUTE_MODULES, SANDBOX_ROUTE_MODULES
    from gridloom.platform.http import operations_of

    declared = operations_of(*ROUTE_MODULES, *SANDBOX_ROUTE_MODULES)
    places = (f"gridloom.{room}.", f"gridloom.platform.{room}.")
    return [one for one in declared if one.handler.__module__.startswith(places)]


def declared_access(room: str) -> dict[str, str]:
    """As the room's routes declare it, to be compared with `EXPECTED[room]`."""
    return {f"{one.method} {one.path}": str(one.access) for one in declared_operations(room)}


def assert_declared_as_written(room: str) -> None:
    """Its operations are marked as they are here, and are described in `openapi.json` as they are declared."""
    declared = declared_operations(room)
    marks = {
        "shows a secret": {_name(one) for one in declared if one.secret_response},
        "is not audited": {_name(one) for one in declared if one.changes_state and not one.audited},
        "keeps to the assets of a key": {_name(one) for one in declared if one.asset_scope == "filtered"},
        "is free to a key of any asset": {_name(one) for one in declared if one.asset_scope == "free"},
    }
    names = {_name(one) for one in declared}
    assert marks == {mark: marked & names for mark, marked in MARKED.items()}
    written, read = _read_interface(), _describe_interface()
    changed = [
        _name(one)
        for one in declared
        if _whole(written, written["paths"].get(one.path, {}).get(one.method.lower()))
        != _whole(read, read["paths"][one.path][one.method.lower()])
    ]
    assert changed == [], "openapi.json tells of them otherwise"


def _name(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


@cache
def _read_interface() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((Path(__file__).parents[1] / "openapi.json").read_text())
    return document


@cache
def _describe_interface() -> dict[str, Any]:
    from gridloom.commands.operator import openapi_json
    from gridloom.settings import Settings

    document: dict[str, Any] = json.loads(openapi_json(Settings()))
    return document


def _whole(document: dict[str, Any], part: Any) -> dict[str, Any]:
    """A part of an interface with all that it refers to."""
    found: dict[str, Any] = {"": part}
    waiting = [part]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
            if isinstance(reference := one.get("$ref"), str) and reference not in found:
                meant: Any = document
                for step in reference.removeprefix("#/").split("/"):
                    meant = meant[step]
                found[reference] = meant
                waiting.append(meant)
        elif isinstance(one, list):
            waiting += one
    return found
