"""How a mistake is registered: an action that is never drawn, only looked for."""

from __future__ import annotations

from collections.abc import Callable

from tests.simulation.actors.acting import ACTIONS, Action, OnBattery, OnVirtual, pick_battery, pick_virtual
from tests.simulation.calls import Request
from tests.simulation.model import World
from tests.simulation.steps import Pick

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"
Mistake = Callable[[World, Pick], Request | None]


def mistake(status: int, problem: str) -> Callable[[Mistake], Mistake]:
    """Never drawn: only looked for."""

    def register(perform: Mistake) -> Mistake:
        def make(world: World, pick: Pick) -> Request | None:
            request = perform(world, pick)
            if request is not None:
                request.expect, request.aim = request.expect or (status, problem), problem
            return request

        name = f"mistake {problem}"
        assert name not in ACTIONS
        make.__module__ = perform.__module__
        ACTIONS[name] = Action(name, 0, make, frozenset({problem}))
        return perform

    return register


def on_virtual(status: int, problem: str) -> Callable[[OnVirtual], OnVirtual]:
    def register(perform: OnVirtual) -> OnVirtual:
        def find(world: World, pick: Pick) -> Request | None:
            virtual = pick_virtual(world, pick)
            return None if virtual is None else perform(world, pick, virtual)

        find.__module__ = perform.__module__
        mistake(status, problem)(find)
        return perform

    return register


def on_battery(status: int, problem: str) -> Callable[[OnBattery], OnBattery]:
    def register(perform: OnBattery) -> OnBattery:
        def find(world: World, pick: Pick) -> Request | None:
            battery = pick_battery(world, pick)
            return None if battery is None or battery.status != "ACTIVE" else perform(world, pick, battery)

        find.__module__ = perform.__module__
        mistake(status, problem)(find)
        return perform

    return register
