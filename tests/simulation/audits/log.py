"""The audit log: one line for each change that was answered."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.simulation.calls import Finding, Request
from tests.simulation.paging import find_cursor

if TYPE_CHECKING:
    from tests.simulation.life import Life


async def compare_audit_log(life: Life) -> None:
    """One line for each change that was answered, by the id of its request."""
    for organisation in life.world.organisations:
        wanted = Counter(life.consequences.changes.get(organisation.name, ()))
        found: Counter[str] = Counter()
        query = {"limit": "1000"}
        while True:
            request = Request("listAuditLog", organisation.admin, "GET", "/audit-log", query=query, expect=200)
            answer = await life.ask(request)
            found.update(entry["requestId"] for entry in answer.body)
            cursor = find_cursor(answer)
            if cursor is None:
                break
            query = {"limit": "1000", "cursor": cursor}
        others = [one for one in found if life.consequences.private.get(one, organisation.name) != organisation.name]
        if others:
            raise Finding("audit log", f"nothing of others' bids in that of {organisation.name}: {others}", request)
        life.world.compared["audit log"] += len(wanted)
        off = {one: found[one] for one in wanted if found[one] != 1}
        if off:
            raise Finding("audit log", f"one line for each change of {organisation.name}, not {off}", request, None)
