"""Kinds of lives. One that does everything disturbs its batteries so often that little of delivery can be recomputed;
others leave out what makes figures uncertain, so that the oracle has something to compare.

Each kind draws from its own actions, also where a step is replaced because the world has nothing to do it with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.simulation.actors import every_action
from tests.simulation.steps import PLAIN
from tests.simulation.twists import TWISTS

FEW_TWISTS = {PLAIN: 90, "repeated": 5, "by pages": 5}
EVERYTHING, CALM, FAILING, LEVELLING, OUTAGES = "everything", "calm", "failing", "levelling", "outages"


@dataclass(frozen=True, slots=True)
class Kind:
    opening: tuple[str, ...]
    weights: Mapping[str, int] = field(default_factory=dict)
    """How often each action is drawn; those of the actions themselves where it is empty."""
    twists: Mapping[str, int] = field(default_factory=lambda: TWISTS)
    explored_percent: int = 0
    steps_between_audits: int = 12

    def list_weights(self) -> dict[str, int]:
        return dict(self.weights) or {name: one.weight for name, one in every_action().items()}


CALM_WEIGHTS = {
    "register_alike": 1,
    "allocate": 5,
    "schedule_day": 8,
    "schedule_virtual": 4,
    "oppose": 4,
    "carve_for_reserve": 3,
    "award_reserve": 4,
    "offer_capacity": 2,
    "record_afrr_capacity": 1,
    "trade_near": 8,
    "record_trades": 1,
    "record_toll": 3,
    "record_net_off": 1,
    "publish_fortnight": 4,
    "publish_prices": 2,
    "let_hours_pass": 16,
    "create_auction": 4,
    "bid_for_auction": 8,
    "measure_power": 4,
    "schedule_battery": 2,
    "offer_balancing": 2,
    "record_result": 5,
    "make_portfolio": 1,
    "change_portfolio": 1,
    "read_portfolio": 2,
    "read_shares": 2,
    "read_buckets": 1,
    "compare_schedule": 1,
    "read_data_points": 2,
    "read_statement": 2,
    "read_telemetry": 1,
    "list_facts": 1,
}
FAILING_WEIGHTS = CALM_WEIGHTS | {
    "carve_for_reserve": 6,
    "award_reserve": 8,
    "record_toll": 6,
    "record_afrr_energy": 4,
    "report_outage": 3,
    "fail_in_reserve": 3,
    "fail_while_scheduled": 4,
    "measure": 1,
}
del FAILING_WEIGHTS["register_alike"]  # with one battery, reserves that it does not hold are held by none
LEFT_OUT = (
    "allocate",
    "schedule_virtual",
    "oppose",
    "create_auction",
    "schedule_battery",
    "offer_balancing",
    "offer_capacity",
    "schedule_day",
)
LEVELLING_WEIGHTS = {name: weight for name, weight in CALM_WEIGHTS.items() if name not in LEFT_OUT}
"""Nothing is scheduled any more: what netting has moved on the first day is levelled on those that follow."""
PRICED = ("register_alike",) * 2 + ("publish_fortnight",) * 2
OUTAGES_WEIGHTS = {
    "allocate_shared": 3,
    "schedule_strong": 8,
    "schedule_day": 4,
    "trade_near": 4,
    "record_toll": 3,
    "publish_fortnight": 4,
    "let_hours_pass": 14,
    "fail_while_scheduled": 6,
    "lose_part": 5,
    "announce_loss": 4,
    "move_outage": 4,
    "cancel_outage": 2,
    "preview_outage": 2,
    "measure_power": 2,
    "read_statement": 3,
    "read_position": 2,
    "compare_schedule": 1,
    "issue_month": 1,
    "read_statements": 1,
}
"""Nothing but schedules and outages: who failed, and who stood in, can be recomputed."""
CALM_OPENING = (
    *PRICED,
    "create_auction",
    *("bid_for_auction",) * 4,
    *("allocate",) * 2,
    *("schedule_day",) * 3,
    *("offer_capacity",) * 2,
    "carve_for_reserve",
    "award_reserve",
)
FAILING_OPENING = (
    *PRICED[1:],
    *("allocate",) * 2,
    *("record_toll",) * 2,
    *("schedule_day",) * 2,
    "carve_for_reserve",
    "award_reserve",
    "let_hours_pass",
    "let_hours_pass",
    "fail_in_reserve",
    *("fail_while_scheduled",) * 4,
)
OUTAGES_OPENING = (
    *PRICED,
    *("allocate_shared",) * 2,
    *("record_toll",) * 2,
    *("schedule_strong",) * 2,
    *("announce_loss",) * 2,
    *("let_hours_pass",) * 2,
    *("fail_while_scheduled", "lose_part") * 2,
    "preview_outage",
)
LEVELLING_OPENING = (*PRICED, *("allocate_alike",) * 2, "make_portfolio", *("schedule_day",) * 4, *("oppose",) * 3)

KINDS = {
    EVERYTHING: Kind(("register_battery",) * 3, explored_percent=80, steps_between_audits=40),
    CALM: Kind(CALM_OPENING, CALM_WEIGHTS, FEW_TWISTS),
    LEVELLING: Kind(LEVELLING_OPENING, LEVELLING_WEIGHTS, FEW_TWISTS),
    FAILING: Kind(FAILING_OPENING, FAILING_WEIGHTS, FEW_TWISTS),
    OUTAGES: Kind(OUTAGES_OPENING, OUTAGES_WEIGHTS, FEW_TWISTS),
}
ORDER = (
    *(EVERYTHING, EVERYTHING, CALM, FAILING, EVERYTHING, LEVELLING),
    *(EVERYTHING, EVERYTHING, OUTAGES, FAILING, EVERYTHING, OUTAGES),
)
"""A step of a life of delivery takes three to four times as long as one of everything: at this mixture each has about
half of the time."""


def kind_of(seed: int) -> str:
    return ORDER[seed % len(ORDER)]
