"""What all actors share: the register of actions, and ways to choose moments and amounts so that rooms meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tests.simulation.calls import Request
from tests.simulation.market import (
    BLOCKS,
    berlin_day,
    block_quarters,
    midnight,
    quarter_of,
    start_of_quarter,
    to_text,
)
from tests.simulation.model import Battery, Organisation, VirtualAsset, World
from tests.simulation.steps import Pick

Script = Callable[[World, Pick], Request | None]
OnBattery = Callable[[World, Pick, Battery], Request | None]
OnVirtual = Callable[[World, Pick, VirtualAsset], Request | None]


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    weight: int
    perform: Script
    """None where the world as it stands has nothing to do it with."""
    aims: frozenset[str] = frozenset()
    """Problem types that it leads to, where its code does not name them."""
    is_sought: bool = True
    """Whether a life that has not met what it leads to looks for it."""
    code: Callable[..., Request | None] | None = None
    """The function that names what it leads to, where another one calls it."""


ACTIONS: dict[str, Action] = {}


def action(weight: int, *, is_sought: bool = True) -> Callable[[Script], Script]:
    """`weight` says how often it is drawn, compared with others."""

    def register(perform: Script) -> Script:
        name = getattr(perform, "__name__", "")
        assert name not in ACTIONS
        ACTIONS[name] = Action(name, weight, perform, is_sought=is_sought)
        return perform

    return register


def on_battery(weight: int) -> Callable[[OnBattery], OnBattery]:
    """An action on a battery of those there are."""

    def register(perform: OnBattery) -> OnBattery:
        def find(world: World, pick: Pick) -> Request | None:
            battery = pick_battery(world, pick)
            return None if battery is None else perform(world, pick, battery)

        _register_found(perform, find, weight)
        return perform

    return register


def on_virtual(weight: int) -> Callable[[OnVirtual], OnVirtual]:
    """An action on a virtual asset of those there are."""

    def register(perform: OnVirtual) -> OnVirtual:
        def find(world: World, pick: Pick) -> Request | None:
            virtual = pick_virtual(world, pick)
            return None if virtual is None else perform(world, pick, virtual)

        _register_found(perform, find, weight)
        return perform

    return register


def _register_found(perform: Callable[..., Request | None], find: Script, weight: int) -> None:
    name = getattr(perform, "__name__", "")
    assert name not in ACTIONS
    find.__module__ = perform.__module__
    ACTIONS[name] = Action(name, weight, find, code=perform, is_sought=weight > 0)


@lru_cache(1 << 16)
def exact(number: Any) -> Fraction:
    """A number of a body as it is written, so that 0.95 is 19/20."""
    return Fraction(str(number))


def pick_battery(world: World, pick: Pick) -> Battery | None:
    return pick.of(list(world.batteries.values())) if world.batteries else None


def pick_virtual(world: World, pick: Pick) -> VirtualAsset | None:
    return pick.of(list(world.virtuals.values())) if world.virtuals else None


def pick_holding(world: World, pick: Pick, name: str) -> Organisation | None:
    """An owner or a trader that has some of what is asked for."""
    found = [one for one in world.owners + world.traders if getattr(one, name)]
    return pick.of(found) if found else None


def pick_day(world: World, pick: Pick, first: int = -2, last: int = 4) -> date:
    """A market day near now."""
    return berlin_day(world.now) + timedelta(days=pick.between(first, last))


def pick_window(world: World, pick: Pick, first_day: int = -2, last_day: int = 4) -> tuple[int, int]:
    """Quarter-hours: a day, a balancing block, the quarter-hour before or after one, or any few hours."""
    day = pick_day(world, pick, first_day, last_day)
    block = block_quarters(day, pick.of(BLOCKS))
    kind = pick.below(6)
    if kind == 0:
        return quarter_of(midnight(day)), quarter_of(midnight(day + timedelta(days=1)))
    if kind == 1:
        return block.start, block.stop
    if kind == 2:
        return block.start - pick.between(1, 8), block.start
    if kind == 3:
        return block.stop, block.stop + pick.between(1, 8)
    if kind == 4:
        return block.start + 2, block.stop + 6
    first = quarter_of(midnight(day)) + pick.between(0, 95)
    return first, first + pick.between(1, 40)


def as_window(first: int, end: int) -> dict[str, str]:
    return {"start": to_text(start_of_quarter(first)), "end": to_text(start_of_quarter(end))}


def pick_moment(world: World, pick: Pick, days: int = 3) -> datetime:
    return world.now.replace(second=0, microsecond=0) + timedelta(minutes=pick.between(-1440 * days, 1440 * days))


def next_open_quarter(world: World, gate_s: int) -> int:
    """The first quarter-hour whose gate will still be open for some minutes."""
    return quarter_of(world.now + timedelta(seconds=gate_s) + timedelta(minutes=2)) + 1


def on_quarter(moment: datetime) -> datetime:
    return start_of_quarter(quarter_of(moment))


def day_of_quarter(quarter: int) -> date:
    return berlin_day(start_of_quarter(quarter))


def choose_eic(number: int) -> str:
    """An EIC of a resource object (W) with its check character: 37 less the weighted sum of the others."""
    text = f"11W-SIM-{number:07}"
    values = [36 if sign == "-" else int(sign, 36) for sign in text]
    rest = 36 - (sum(value * weight for value, weight in zip(values, range(16, 1, -1), strict=True)) - 1) % 37
    return text + ("-" if rest == 36 else "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[rest])
