"""Events in OpenAPI: the header that resumes a stream, and each call of a webhook."""

from __future__ import annotations

from typing import Any

import pytest

from gridloom.platform.events.openapi import LAST_EVENT_ID, add_events
from gridloom.platform.events.types import EVENT_TYPES, OPERATOR_TYPES

pytestmark = pytest.mark.pure


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    made: dict[str, Any] = {
        "paths": {"/events": {"get": {"parameters": [{"name": "types"}]}}},
        "components": {"schemas": {"Zebra": {}, "Ant": {}}},
    }
    add_events(made)
    return made


class TestTheDescriptionOfEvents:
    def test_has_the_header_that_resumes_a_stream(self, document: dict[str, Any]) -> None:
        assert document["paths"]["/events"]["get"]["parameters"] == [{"name": "types"}, LAST_EVENT_ID]
        assert (LAST_EVENT_ID["in"], LAST_EVENT_ID["required"]) == ("header", False)

    def test_has_a_call_for_each_type(self, document: dict[str, Any]) -> None:
        assert list(document["webhooks"]) == list(EVENT_TYPES)
        call = document["webhooks"]["virtual-asset.availability-changed"]["post"]
        assert call["operationId"] == "receiveVirtualAssetAvailabilityChanged"
        assert call["summary"] == "virtual-asset.availability-changed"
        assert call["description"].startswith("The batteries behind a virtual asset")
        assert [(one["name"], one["in"], one["required"]) for one in call["parameters"]] == [
            (f"webhook-{word}", "header", True) for word in ("id", "timestamp", "signature")
        ]
        event = call["requestBody"]["content"]["application/json"]["schema"]
        assert set(event["required"]) == set(event["properties"])
        assert event["properties"]["type"] == {"const": "virtual-asset.availability-changed"}
        assert event["properties"]["data"] == {"$ref": "#/components/schemas/VirtualAssetAvailabilityChanged"}
        assert list(call["responses"]) == ["2XX"]

    def test_has_the_data_of_all_beside_what_was_there(self, document: dict[str, Any]) -> None:
        schemas = document["components"]["schemas"]
        assert list(schemas) == sorted(schemas)
        assert {"Zebra", "Ant", "AvailabilityChange"} | {kind.data.__name__ for kind in EVENT_TYPES.values()} <= set(
            schemas
        )
        opened = schemas["AuctionOpened"]["properties"]
        assert opened["start"] == {"type": "string", "format": "date-time"}
        assert "description" not in schemas["AuctionOpened"]


class TestTheDataOfAType:
    def test_is_read_by_operators_where_it_is_theirs_to_see(self) -> None:
        assert set(OPERATOR_TYPES) == {
            "auction.opened",
            "auction.cleared",
            "auction.cancelled",
            "delivery.reserve-shortfall",
            "delivery.run-failed",
            "order.cancelled",
            "order.executed",
            "order.not-executed",
            "order.overdue",
            "webhook.disabled",
        }
