"""What is done to a request before it is sent: by someone who may not, late, mistyped. Nothing of it reaches the
model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.simulation.calls import UUID, Person, Request
from tests.simulation.model import Organisation, World
from tests.simulation.schemas import read_interface
from tests.simulation.steps import PLAIN, Step

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
TWISTS = {
    PLAIN: 72,
    "repeated": 6,
    "other body": 2,
    "stale": 3,
    "by a viewer": 3,
    "by a stranger": 2,
    "by a grantee": 4,
    "signed out": 1,
    "surprising field": 2,
    "missing field": 2,
    "by pages": 4,
    "unknown id": 2,
    "malformed id": 1,
}
"""How often each is drawn."""
OPEN_TO_ALL = frozenset({"moveClock", "logout", "updatePassword", "endOtherSessions", "endSession"})
ANYONES_OWN = frozenset({"createApiKey", "createWebhook", "createBacktest"})
"""Each caller makes one for its own organisation."""
NEEDS_INVITATION = frozenset({"placeBid", "withdrawBid", "listBids", "readAuction", "valueAuction"})
FREE_TEXTS = ("description", "title", "cause", "name", "displayName")
"""Fields that may say anything."""
ONLY_ONCE = frozenset({"logout", "exchangeSsoCode"})
"""Sent again under the same key they are refused: the token, or the code, of the first one has ended."""
OF_THE_GRANTEE = frozenset({"readGrant"})
"""What an organisation was granted it may read."""


def is_repeatable(request: Request) -> bool:
    """Whether the same key answers the same again."""
    return request.method == "POST" and request.operation not in ONLY_ONCE


def is_changeable(body: Any) -> bool:
    return bool(body) and (isinstance(body, dict) or _has_fields(body))


def change_body(body: Any) -> tuple[Any, int | tuple[int, ...]]:
    """Another body, and what must come of it under the key of the first: 422 where it could be taken itself."""
    text = next((name for name in FREE_TEXTS if isinstance(body, dict) and body.get(name)), None)
    if text is not None:
        return {**body, text: f"{body[text]} again"}, 422
    return _change_number(body), (400, 422)


def _change_number(body: Any) -> Any:
    """The first number one higher; a field too many where there is none."""
    if isinstance(body, list):
        return [_change_number(body[0]), *body[1:]]
    number = next((name for name, value in body.items() if type(value) in (int, float)), None)
    if number is not None:
        return {**body, number: body[number] + 1}
    nested = next((name for name, value in body.items() if value and _has_fields(value)), None)
    return {**body, "surprise": 1} if nested is None else {**body, nested: _change_number(body[nested])}


def _has_fields(value: Any) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and isinstance(value[0], dict))


def twist(request: Request, step: Step, world: World, number: int) -> Request | None:
    """The same request by another, too late or mistyped; None where that is not possible."""
    if request.path.startswith(("/auth/public/", "/console/")):
        return None  # they ask for no token
    bare = replace(request, on_success=None, check=None, on_refusal=None, headers={})
    if step.twist == "signed out":
        anonymous = replace(request.by, name="nobody", token="")
        return replace(bare, by=anonymous, expect=401)
    if step.twist in ("unknown id", "malformed id") and UUID.search(request.path):
        last, is_unknown = UUID.findall(request.path)[-1], step.twist == "unknown id"
        path = request.path.replace(last, UNKNOWN if is_unknown else "17")
        return replace(bare, path=path, expect=(403, 404) if is_unknown else 400)
    if step.twist == "by a grantee":
        grantee = _find_grantee(request, world, number)
        return None if grantee is None else replace(bare, by=grantee, expect=403)
    if request.method == "GET" or request.expect is None or request.operation in OPEN_TO_ALL:
        return None
    if all(one.name != request.by.organisation for one in world.organisations):
        return None  # a guest is alone
    if step.twist in ("by a viewer", "by a stranger"):
        found = _find_unauthorised(request, step.twist, world)
        return None if found is None else replace(bare, by=found[0], expect=found[1])
    if step.twist == "stale" and request.method in ("PUT", "PATCH", "DELETE") and request.expect in (200, 204):
        return replace(bare, headers={"If-Match": '"stale"'}, expect=412)
    return _spoil_body(bare, step.twist, number)


def _find_unauthorised(request: Request, kind: str, world: World) -> tuple[Person, int | tuple[int, ...]] | None:
    """Who may not send it, and how that is answered."""
    if kind == "by a viewer":
        return world.find_organisation(request.by.organisation).viewer, 403
    if request.operation in ANYONES_OWN:
        return None
    strangers = [one for one in world.traders + world.owners if one.name != request.by.organisation]
    stranger = _without_grant(world, strangers, request)
    return None if stranger is None else (stranger.admin, (403, 404))


def _find_grantee(request: Request, world: World, number: int) -> Person | None:
    """Of an organisation that was granted something else of the battery than the request needs."""
    needed = read_interface().find_permission(request.operation)
    owner = next((one for one in world.batteries.values() if one.id in request.path), None)
    if owner is None or needed is None or request.operation in OF_THE_GRANTEE:
        return None
    if not request.path.startswith(("/physical-assets/", "/monitoring/")):
        return None
    lacking = [
        world.find_organisation(name)
        for name, words in sorted(owner.grants.items())
        if name != world.operator.name and name != request.by.organisation and needed not in words
    ]
    return lacking[number % len(lacking)].admin if lacking else None


def _spoil_body(bare: Request, kind: str, number: int) -> Request | None:
    if not isinstance(bare.body, dict):
        return None
    if kind == "surprising field":
        return replace(bare, body={**bare.body, "surprise": number}, expect=400)
    required = [name for name in read_interface().list_required(bare.operation) if name in bare.body]
    if kind != "missing field" or not required:
        return None
    missing = required[number % len(required)]
    return replace(bare, body={name: value for name, value in bare.body.items() if name != missing}, expect=400)


def _without_grant(world: World, strangers: list[Organisation], request: Request) -> Organisation | None:
    granted = {name for battery in world.batteries.values() if battery.id in request.path for name in battery.grants}
    named = f"{request.path} {request.body}"
    holding = {virtual.holder.name for virtual in world.virtuals.values() if virtual.id in named}
    left = [one for one in strangers if one.name not in granted | holding and one.id not in request.path]
    if request.operation in NEEDS_INVITATION:
        auction = next((one for one in world.auctions.values() if one.id in request.path), None)
        left = [one for one in left if auction is None or one.name not in auction.participants]
    return left[0] if left else None
