"""Lists page by page: together they are the list as it is read at once, nothing skipped and nothing repeated."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.schemas import read_interface

if TYPE_CHECKING:
    from tests.simulation.life import Life

ALL = 1000
MAX_PAGES = 25
MOVING = frozenset({"listSessions", "listDeliveryRuns", "listWebhookDeliveries", "listBacktests", "listAuditLog"})
"""They grow, or change, by themselves or by being read."""


def find_cursor(answer: Answer) -> str | None:
    """Of the next page, if there is one."""
    found = re.search(r"cursor=([^&>]+)", answer.headers.get("link", ""))
    return None if found is None else unquote(found.group(1))


def is_paged(request: Request) -> bool:
    return (
        request.method == "GET"
        and request.expect == 200
        and request.operation not in MOVING
        and read_interface().is_paged(request.operation)
    )


async def compare_pages(life: Life, request: Request, size: int) -> None:
    whole = await life.ask(replace(request, query={**request.query, "limit": str(ALL)}))
    if not isinstance(whole.body, list) or len(whole.body) == ALL:
        return
    found, cursor, count = [], None, 0
    while count < MAX_PAGES:
        query = {**request.query, "limit": str(size)} | ({} if cursor is None else {"cursor": cursor})
        page = replace(request, query=query, check=None, on_success=None)
        answer = await life.ask(page)
        if len(answer.body) > size or (count and not answer.body):
            raise Finding("pages", f"at most {size} items a page, and none that is empty", page, answer)
        found += answer.body
        count, cursor = count + 1, find_cursor(answer)
        if cursor is None:
            break
    expected = whole.body if cursor is None else whole.body[: len(found)]
    life.world.compared["pages"] += len(found) > size
    if found != expected:
        raise Finding("pages", f"{len(expected)} items page by page as at once, not {len(found)}", page, answer)
