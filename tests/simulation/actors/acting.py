"""What all actors share: the register of actions, and ways to choose moments and amounts so that rooms meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction
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
from tests.simulation.model import Battery, VirtualAsset, World
from tests.simulation.steps import Pick

Script = Callable[[World, Pick], Request | None]


@dataclass(frozen=True, slots=True)
class Action:
    name: str
    weight: int
    perform: Script
    """None where the world as it stands has nothing to do it with."""


ACTIONS: dict[str, Action] = {}


def action(weight: int) -> Callable[[Script], Script]:
    """`weight` says how often it is drawn, compared with others."""

    def register(perform: Script) -> Script:
        name = getattr(perform, "__name__", "")
        assert name not in ACTIONS
        ACTIONS[name] = Action(name, weight, perform)
        return perform

    return register


def exact(number: Any) -> Fraction:
    """A number of a body as it is written, so that 0.95 is 19/20."""
    return Fraction(str(number))


def pick_battery(world: World, pick: Pick) -> Battery | None:
    return pick.of(list(world.batteries.values())) if world.batteries else None


def pick_virtual(world: World, pick: Pick) -> VirtualAsset | None:
    return pick.of(list(world.virtuals.values())) if world.virtuals else None


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
