"""The line IMBALANCE of a battery's owner (contract 7 and 12): what the battery owed or traded and did not do, at the
imbalance price. What was not measured counts as dispatched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from tests.simulation.market import from_text, quarter_of
from tests.simulation.model import Battery, World
from tests.simulation.oracle.energy import is_plain
from tests.simulation.oracle.measured import measure_quarter
from tests.simulation.oracle.payments import IMBALANCE_PRICE, MWH_OF_KW_QUARTER
from tests.simulation.oracle.revenue import ZERO, exact

OWN = ("OWN", "DRIFT")


def find_owner_imbalance(
    world: World,
    battery: Battery,
    points: Sequence[dict[str, Any]],
    traded: Mapping[int, Fraction],
    window: tuple[int, int],
    missed: Mapping[int, float] | None = None,
) -> Fraction | None:
    """Euros of a window that is over, positive where they come in; None where a virtual asset behind it may be cut and
    it is not known what of that the battery missed.

    `points` is its dispatch, `traded` MWh sold less bought on the battery itself by quarter-hour, `missed` kW of what
    its zone did not deliver.
    """
    behind = [one for one in world.virtuals.values() if any(name == battery.name for name, _ in one.backing)]
    if any(one.winner is not None and one.virtual is None for one in world.auctions.values()):
        return None
    if missed is None and not all(is_plain(world, one) for one in behind):
        return None
    if battery.samples.get("state_of_charge"):
        return None
    samples, opened = battery.samples.get("active_power", {}), dict(traded)
    for point in points:
        quarter = quarter_of(from_text(point["time"]))
        if not window[0] <= quarter < window[1]:
            continue
        owed = _sum_parts(point, ("VIRTUAL",))
        dispatched = owed + _sum_parts(point, OWN)
        share, power = measure_quarter(samples, quarter) or (ZERO, ZERO)
        delivered = share * power + (1 - share) * dispatched
        opened[quarter] = opened.get(quarter, ZERO) - (delivered - owed) * MWH_OF_KW_QUARTER
    for quarter, missed_kw in (missed or {}).items():
        opened[quarter] = opened.get(quarter, ZERO) + Fraction(missed_kw) * MWH_OF_KW_QUARTER
    prices = world.prices
    return -sum((volume * prices.get((IMBALANCE_PRICE, quarter), ZERO) for quarter, volume in opened.items()), ZERO)


def _sum_parts(point: dict[str, Any], kinds: Sequence[str]) -> Fraction:
    return sum((exact(part["power"]) for part in point["parts"] if part["kind"] in kinds), ZERO)
