"""Changes that name the version they were made from: taken with the ETag that a read has shown, refused with one that
was replaced since. And the ETag that a change answers is that of the next read, as is what was written."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.simulation.calls import Answer, Finding, Request
from tests.simulation.market import from_text
from tests.simulation.schemas import read_interface

if TYPE_CHECKING:
    from tests.simulation.life import Life

VERSIONED_EVERY = 5
"""The first of its operation in a life, and then one in so many steps, is made this way, where it can be."""
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|[+-]\d\d:\d\d)")
MOVING_FIELDS = frozenset({"conflicts", "schedule", "powerCapacity"})
"""They are said of the change, or of another window than is read."""
FROM_A_MOMENT = frozenset({"putParameters"})
"""What was written is not yet what is read."""
PART_OF = {"reviseNotification": "/revisions"}
"""Operations below what they change, by the last part of their path."""


def names_version(request: Request) -> bool:
    is_change = request.method in ("PUT", "PATCH") and request.expect in (200, None)
    is_made = request.method == "POST" and request.expect == 201
    is_known = request.on_success is not None and bool(request.by.token)
    return is_known and (is_change or is_made)


async def compare_versions(life: Life, request: Request) -> None:
    await life.service.await_due_jobs()  # they change versions too
    if request.method == "POST":
        answer = await life.ask(request)
        place = answer.headers.get("location") or request.path.removesuffix(PART_OF.get(request.operation, "/"))
        if answer.is_good and place != request.path:
            await _compare_answered(life, replace(request, path=place), answer)
        return
    read = _read(request)
    etag = (await life.ask(read)).headers.get("etag") if read is not None else None
    if etag is None:
        await life.ask(request)
        return
    answer = await _change(life, request, etag)
    new = await _compare_answered(life, request, answer) if answer.is_good else None
    if new is not None and new != etag:
        life.world.compared["replaced ETags"] += 1
        late = replace(request, on_success=None, check=None, on_refusal=None)
        late = replace(late, expect=412 if request.expect == 200 else (409, 412, 422))
        await life.ask(_with(late, etag))


async def _change(life: Life, request: Request, etag: str) -> Answer:
    """A job may have changed it since it was read: then it is read again."""
    sent = _with(request, etag)
    first = await life.send_until_answered(sent)
    if first.status != 412:
        life.take_answer(sent, first)
        return first
    read = _read(request)
    assert read is not None
    now = (await life.ask(read)).headers.get("etag", "")
    if now == etag:
        raise Finding("ETag", "a change of the version that is read", sent, first)
    return await life.ask(request)


async def _compare_answered(life: Life, request: Request, answer: Answer) -> str | None:
    """The ETag of what was changed, as it is read."""
    read, said = _read(request), answer.headers.get("etag")
    if read is None:
        return None
    shown = await life.ask(read)
    found = shown.headers.get("etag")
    _compare_written(life, request, answer, shown)
    if said is None or found is None:
        return found
    life.world.compared["ETags of changes"] += 1
    if said != found:
        raise Finding("ETag", f"{found} as it is read, not {said}", request, answer)
    return found


def _compare_written(life: Life, request: Request, answer: Answer, shown: Answer) -> None:
    """What was sent, and what was answered to it, is what is read."""
    if shown.status != 200 or not isinstance(shown.body, dict) or request.operation in FROM_A_MOMENT:
        return
    life.world.compared["changes as they are read"] += 1
    for source in (request.body, answer.body):
        if not isinstance(source, dict):
            continue
        off = {
            name: value
            for name, value in source.items()
            if name in shown.body and name not in MOVING_FIELDS and not is_equal(value, shown.body[name])
        }
        if off:
            read = {name: shown.body[name] for name in off}
            raise Finding("own writes", f"{off} as it was written, not {read}"[:1000], request, shown)


def is_equal(written: Any, shown: Any) -> bool:
    """As numbers, as moments, in any order, and without regard to fields that are filled in."""
    if isinstance(written, dict) and isinstance(shown, dict):
        return all(is_equal(value, shown.get(name)) for name, value in written.items())
    if isinstance(written, list) and isinstance(shown, list):
        return len(written) == len(shown) and all(any(is_equal(one, other) for other in shown) for one in written)
    if isinstance(written, str) and isinstance(shown, str) and MOMENT.fullmatch(written):
        return from_text(written) == from_text(shown)
    if isinstance(written, str) != isinstance(shown, str):
        return str(written) == str(shown) or float(written) == float(shown)
    return bool(written == shown)


def _with(request: Request, etag: str) -> Request:
    return replace(request, headers={**request.headers, "If-Match": etag})


def _read(request: Request) -> Request | None:
    operation = read_interface().find_read(request.path)
    return (
        None if operation is None else Request(operation, request.by, "GET", request.path, expect=(200, 400, 403, 404))
    )
