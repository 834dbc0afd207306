"""What a success must leave behind: one line of the audit log, and events in the order of the changes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.simulation.calls import UUID, Answer, Request

CHANGE_NOTHING = frozenset(
    {
        "previewUnavailability",
        "optimiseVirtualAsset",
        "repairSchedule",
        "planMarket",
        "planPortfolioMarket",
        "acknowledgeDispatch",
        "optimisePortfolio",
        "valueAuction",
        "createBacktest",
        "writeDatapoints",
        "writeDatapointsOfMany",
    }
)
"""They answer, or take telemetry, and leave no line in the audit log."""
PRIVATE = frozenset({"placeBid", "withdrawBid"})
"""No other organisation reads of them, not even the operator."""
CAUSES = {
    "placeBid": "bid.placed",
    "createUnavailability": "unavailability.created",
    "cancelUnavailability": "unavailability.cancelled",
    "publishNotification": "exchange-notification.published",
    "reviseNotification": "exchange-notification.published",
}
"""Operations with exactly one event of their type for the caller's organisation."""


@dataclass
class Consequences:
    changes: dict[str, list[str]] = field(default_factory=dict)
    """Ids of the requests that changed something, by the caller's organisation."""
    private: dict[str, str] = field(default_factory=dict)
    """Organisations by the ids of requests that no other organisation hears of."""
    caused: list[tuple[str, str, str]] = field(default_factory=list)
    """Events that must have come, in this order: organisation, type, and the id that each names."""
    is_ordered: bool = True
    """Whether no two changes were sent at a time."""
    heard: dict[str, int] = field(default_factory=dict)
    """The last event's number by organisation."""
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The events that each organisation was sent of itself."""
    event_ids: dict[str, set[str]] = field(default_factory=dict)

    def note_change(self, request: Request, answer: Answer) -> None:
        """Of a good answer."""
        is_change = request.method != "GET" and request.operation not in CHANGE_NOTHING and bool(request.by.token)
        if is_change and "idempotency-replayed" not in answer.headers:
            self.changes.setdefault(request.by.organisation, []).append(answer.headers["x-request-id"])
            if request.operation in PRIVATE:
                self.private[answer.headers["x-request-id"]] = request.by.organisation

    def note_events(self, request: Request, answer: Answer) -> None:
        """Of a success that counts once."""
        kind = CAUSES.get(request.operation)
        own = () if kind is None else ((request.by.organisation, kind, ""),)
        self.caused += [
            (name, kind, named or _find_subject(request, answer)) for name, kind, named in own + request.causes
        ]


def _find_subject(request: Request, answer: Answer) -> str:
    """The id of what was made, or of what is named last in the path."""
    made = answer.body.get("id", "") if isinstance(answer.body, dict) else ""
    return made or (UUID.findall(request.path) or [""])[-1]
