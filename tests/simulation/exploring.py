"""Steps that look for what a life has not met yet: an operation without a success, a problem that never appeared.

An `explore` step is resolved to an ordinary one when it runs, by the step's own numbers and what this life has met so
far. What it was resolved to is what a finding's script keeps, so that shrinking leaves it as it is.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from tests.simulation.actors import every_action
from tests.simulation.calls import Request
from tests.simulation.kinds import KINDS
from tests.simulation.schemas import list_problem_types, read_interface
from tests.simulation.steps import CHOICES, LARGEST, PLAIN, Pick, Step

if TYPE_CHECKING:
    from tests.simulation.model import World
    from tests.simulation.reach import Reach

EXPLORE = "explore"
MAX_ACTIONS = 6
MEETING = ["report_outage", "schedule_battery", "offer_balancing", "change_parameters", "record_result"]
"""Actions by which rooms meet on a battery."""
HELD = ("promise", "auction", "FCR", "aFRR capacity", "aFRR energy", "own schedule", "outage")
MAX_TRIES = 8
RARE = (
    *("readOptimisation", "no-feasible-schedule", "no-wholesale-power", "share-exceeded"),
    *("bid-withdrawn", "message-id-taken", "notification-closed", "earlier-month-open"),
    *("challenge-expired", "wrong-second-factor", "single-sign-on-required", "network-not-allowed"),
    *("username-refused", "username-taken", "too-many-keys", "too-many-webhooks", "webhook-disabled"),
)
"""Operations and problem types that lives meet least often: each life looks for one of them before all else. (Their
number shares no factor with that of the kinds of lives, so each comes to lives of each kind.)"""
FLOODED = ("share-exceeded", "too-many-keys", "too-many-webhooks")


def list_meetings() -> list[str]:
    """Pairs of rooms on one battery: what is done while something else holds it."""
    return [f"{done} × {room}" for done in ("outage", "own schedule", "balancing bid", "parameters") for room in HELD]


@cache
def list_targets() -> dict[str, frozenset[str]]:
    """Operations and problem types by the action whose code names them."""
    words = frozenset(read_interface().operations) | list_problem_types()
    sought = {name: one for name, one in every_action().items() if one.is_sought}
    return {
        name: one.aims or frozenset(_find_words(one.code or one.perform, words, set())) for name, one in sought.items()
    }


def _find_words(perform: Callable[..., Any], words: frozenset[str], seen: set[str]) -> Iterator[str]:
    """Constants of a function, of tables that it names and of functions of actors that it calls."""
    if not isinstance(perform, FunctionType) or perform.__qualname__ in seen:
        return
    seen.add(perform.__qualname__)
    for code in _walk_code(perform.__code__):
        for constant in code.co_consts:
            yield from (word for word in (constant if isinstance(constant, tuple) else (constant,)) if word in words)
        for name in code.co_names:
            named = perform.__globals__.get(name)
            if isinstance(named, dict):
                yield from (word for word in named if word in words)
            elif isinstance(named, FunctionType) and named.__module__.startswith("tests.simulation.actors"):
                yield from _find_words(named, words, seen)


def _walk_code(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk_code(constant)


Resolved = tuple[Step, Request | None]


def resolve_step(step: Step, world: World, reach: Reach) -> Resolved:
    """What is done, and its request. Where the world has nothing to do a step with, something else is done instead."""
    if step.action == EXPLORE:
        return _find_new(step, world, reach) or _find_other(step, world)
    request = every_action()[step.action].perform(world, Pick(step.choices))
    return (step, request) if request is not None or step.is_fixed else _find_other(step, world)


def _find_new(step: Step, world: World, reach: Reach) -> Resolved | None:
    """Something that this life has not met."""
    chance = _seed_of(step)
    aimed = _list_aimed(chance, reach, step.sought)
    for name in [*aimed, *_order_candidates(chance, reach)]:
        leads_on: Resolved | None = None
        may_be_new = (
            name in aimed or name in MEETING or any(not reach.has_met(word) for word in list_targets().get(name, ()))
        )
        for _ in range(MAX_TRIES if may_be_new else 1):
            choices = tuple(chance.randrange(LARGEST) for _ in range(CHOICES))
            request = every_action()[name].perform(world, Pick(choices))
            if request is None and name not in aimed and chance.randrange(2):
                break
            if request is not None and _is_new(request, reach):
                return Step(name, PLAIN, choices, is_fixed=True), request
            if request is not None and _may_succeed(request):
                leads_on = Step(name, PLAIN, choices, is_fixed=True), request
        if leads_on is not None and chance.randrange(2):
            return leads_on
    return None


def _list_aimed(chance: random.Random, reach: Reach, sought: str) -> list[str]:
    """Every other time, as long as it was not met: the actions by which a life may meet what it looks for."""
    if not sought or reach.has_met(sought) or chance.randrange(2):
        return []
    return (
        ["use_up_share"] if sought in FLOODED else [name for name, words in list_targets().items() if sought in words]
    )


def _order_candidates(chance: random.Random, reach: Reach) -> list[str]:
    """Actions with something that was not met; now and then mistakes, or neighbours, which may lead to it."""
    targets, actions = list_targets(), every_action()
    found = [name for name, words in targets.items() if any(not reach.has_met(word) for word in words)]
    lasting = [name for name in found if actions[name].weight]
    rooms = {actions[name].perform.__module__ for name in lasting}
    neighbours = [name for name, one in actions.items() if one.weight and one.perform.__module__ in rooms]
    meeting = [] if set(list_meetings()) <= set(reach.meetings) else MEETING
    first = (lasting, found, neighbours, lasting + meeting)[chance.randrange(4)]
    return chance.sample(first, min(MAX_ACTIONS, len(first)))


def _find_other(step: Step, world: World) -> Resolved:
    """As actions are drawn, until one has something to do."""
    weights = KINDS[step.kind].list_weights()
    for name in _seed_of(step).choices(list(weights), list(weights.values()), k=MAX_TRIES):
        request = every_action()[name].perform(world, Pick(step.choices))
        if request is not None:
            return Step(name, step.twist, step.choices, is_fixed=True), request
    return step, None


def _seed_of(step: Step) -> random.Random:
    return random.Random(",".join(map(str, step.choices)))


def _is_new(request: Request, reach: Reach) -> bool:
    """Whether what is expected of it was not met; a refusal counts where its problem is named."""
    expect = request.expect
    if request.aim is not None:
        return not reach.has_met(request.aim)
    if isinstance(expect, tuple) and isinstance(expect[1], str):
        return not reach.has_met(expect[1])
    is_meeting = any(pair not in reach.meetings for pair in request.met)
    return _may_succeed(request) and (is_meeting or not reach.has_met(request.operation))


def _may_succeed(request: Request) -> bool:
    statuses = (request.expect,) if isinstance(request.expect, int) else request.expect
    return statuses is None or any(isinstance(status, int) and status < 400 for status in statuses)
