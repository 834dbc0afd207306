"""What holds for every answer, whatever was asked: no 5xx, its declared schema, the status that the model expects, an
ETag that names one content, ids that nothing had before."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.schemas import read_interface

MOVING_WINDOWS = frozenset(
    {
        "readBlock",
        "readAssetSchedule",
        "readPhysicalAssetSchedule",
        "readParameters",
        "readVirtualAsset",
        "readAuction",
        "readAssetMarkets",
        "readPortfolioMarkets",
    }
)
"""Their ETag is the version that a change is compared with; what they show moves with the clock, or awards, too."""
KEEP_THEIR_ID = frozenset({"reviseNotification"})


@dataclass
class Judge:
    compared: Counter[str]
    etags: dict[tuple[str, str, str], bytes] = field(default_factory=dict)
    ids: set[str] = field(default_factory=set)

    def judge_answer(self, request: Request, answer: Answer) -> None:
        if answer.status >= 500 and (answer.status, answer.problem) != request.expect:
            raise Finding("no 5xx", "an answer below 500", request, answer)
        error = read_interface().explain_fault(request.operation, answer)
        if error is not None:
            raise Finding("declared schema", error, request, answer)
        if "x-request-id" not in answer.headers:
            raise Finding("request id", "X-Request-Id on every answer", request, answer)
        if not _meets(request.expect, answer):
            raise Finding("expected status", f"{request.expect}", request, answer)
        self._judge_etag(request, answer)

    def judge_id(self, request: Request, answer: Answer) -> None:
        """What is made has an id that nothing had before."""
        made = answer.body.get("id") if answer.status == 201 and isinstance(answer.body, dict) else None
        if made is None or "idempotency-replayed" in answer.headers or request.operation in KEEP_THEIR_ID:
            return
        if made in self.ids:
            raise Finding("ids", "an id that nothing had before", request, answer)
        self.ids.add(made)
        self.compared["ids"] += 1

    def _judge_etag(self, request: Request, answer: Answer) -> None:
        """The same ETag under the same address is the same content."""
        etag = answer.headers.get("etag")
        if etag is None or request.method != "GET" or answer.status != 200 or request.operation in MOVING_WINDOWS:
            return
        key, digest = (request.by.organisation, request.target, etag), hashlib.sha256(answer.content).digest()
        self.compared["ETags"] += key in self.etags
        if self.etags.setdefault(key, digest) != digest:
            raise Finding("ETag", "another ETag for another content", request, answer)


def _meets(expect: Any, answer: Answer) -> bool:
    if expect is None:
        return answer.status not in (401, 403, 405, 406, 415, 429)
    if isinstance(expect, int):
        return answer.status == expect
    if isinstance(expect[1], str):
        return answer.status == expect[0] and answer.problem == expect[1]
    return answer.status in expect
