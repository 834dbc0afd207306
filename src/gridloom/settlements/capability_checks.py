"""Whether a settled fact can be: within its asset's life and power. Validated row by row over whole columns; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from gridloom.kernel.balancing import Direction
from gridloom.kernel.problem import Forbidden, Unprocessable
from gridloom.market_calendar import HOUR_S, PERIOD_S, block_period_counts, day_starts, instant_of
from gridloom.settlements.model import FCR_AWARDS, TOLLING_CONTRACTS, FactKind
from gridloom.settlements.rules import BLOCK_OF, NamedAssets, RowErrors

FloatArray: TypeAlias = NDArray[np.float64]

ROUNDING: Final = 1e-9
"""Relative: what a limit may be exceeded by without being exceeded."""


class ImplausibleSettlement(Unprocessable, title="The settlement is not plausible"):
    """A settlement lies outside its asset's life, or says more than its asset can do.

    An award is at most the rated power in its direction and fits into the life with its delivery hours; a trade, an
    activation or a netted volume of a quarter-hour is at most what charge and discharge power together move in an hour.
    Tolling contracts may reach beyond the life. A row of 0 takes back another and is always taken. `errors` points at
    each such row; nothing was recorded.
    """


@dataclass(frozen=True, slots=True)
class AssetCapability:
    """An asset's capability, as far as it is known: its life, and its rated power as steps in time.

    life_s: None for an asset without an end. The first step holds from ever; no steps, no limit.
    """

    key: int
    kind: str
    organisation_id: UUID
    life_s: tuple[float, float] | None
    steps_s: FloatArray
    charge_mw: FloatArray
    discharge_mw: FloatArray

    def power_at(self, instants_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rated charge and discharge power, in MW."""
        if not len(self.steps_s):
            unknown = np.full(len(instants_s), np.inf)
            return unknown, unknown
        index = np.maximum(np.searchsorted(self.steps_s, instants_s, side="right") - 1, 0)
        return self.charge_mw[index], self.discharge_mw[index]


def reject_others_assets(named: NamedAssets, assets: Mapping[UUID, AssetCapability], organisation_id: UUID) -> None:
    """Traders record what they traded: on virtual assets of their own organisation."""
    own = [_is_own_virtual(assets.get(id), organisation_id) for id in named.ids]
    others = np.flatnonzero(~np.array(own)[named.numbers])
    if not len(others):
        return
    faults = RowErrors()
    faults.add(others, "assetID", "is not a virtual asset of your organisation")
    raise Forbidden(
        "Nothing was recorded: trades are recorded by those who hold the virtual asset, or by the operator.",
        errors=faults.errors,
    )


def _is_own_virtual(asset: AssetCapability | None, organisation_id: UUID) -> bool:
    # Unknown assets are rejected later.
    return asset is None or (asset.kind == "VIRTUAL" and asset.organisation_id == organisation_id)


def reject_implausible(kind: FactKind, columns: Mapping[str, Any], assets: Mapping[UUID, AssetCapability]) -> None:
    """One refusal for all the rows that cannot be."""
    if kind is TOLLING_CONTRACTS:
        return
    faults = RowErrors()
    facts = _block_facts(columns) if "delivery_day" in columns else _period_facts(columns)
    for asset, rows in _rows_by_asset(columns["asset_id"], assets):
        _validate_lifetime(asset, rows[facts.amounts[rows] != 0], facts, faults)
        _validate_amounts(kind, asset, rows, facts, faults)
    if not faults.errors:
        return
    errors = sorted(faults.errors, key=lambda error: int(error.pointer.split("/")[1]))
    more = f" and {faults.total - 1} more" if faults.total > 1 else ""
    raise ImplausibleSettlement(f"Nothing was recorded. {errors[0].pointer}: {errors[0].detail}{more}", errors=errors)


@dataclass(frozen=True, slots=True)
class _Facts:
    """The validated columns of rows: the time they are about, the hours delivered in it, and how much."""

    starts_s: FloatArray
    ends_s: FloatArray
    delivery_h: FloatArray
    amounts: FloatArray
    """MWh of a period, MW of an award."""
    directions: Sequence[str]
    time_field: str
    amount_field: str


def _period_facts(columns: Mapping[str, Any]) -> _Facts:
    starts_s = columns["period"]
    hours = np.full(len(starts_s), PERIOD_S / HOUR_S)
    return _Facts(starts_s, starts_s + PERIOD_S, hours, np.abs(columns["volume_mwh"]), (), "time", "volume")


def _block_facts(columns: Mapping[str, Any]) -> _Facts:
    numbers = columns["delivery_day"]
    indices = [BLOCK_OF[product] for product in columns["product"].to_pylist()]
    blocks = np.array([block for _, block in indices])
    lengths_s = block_period_counts(numbers) * PERIOD_S
    ends_s = day_starts(numbers)[:, None] + np.cumsum(lengths_s, axis=1)
    rows = np.arange(len(numbers))
    last_s = ends_s[rows, blocks].astype(np.float64)
    first_s = last_s - lengths_s[rows, blocks]
    directions = [direction for direction, _ in indices]
    return _Facts(first_s, last_s, columns["delivery_h"], columns["capacity_mw"], directions, "product", "capacity")


def _rows_by_asset(
    named: NamedAssets, assets: Mapping[UUID, AssetCapability]
) -> Iterator[tuple[AssetCapability, NDArray[np.intp]]]:
    order = np.argsort(named.numbers, kind="stable")
    edges = np.searchsorted(named.numbers[order], np.arange(len(named.ids) + 1))
    for number, id in enumerate(named.ids):
        if id in assets:
            yield assets[id], order[edges[number] : edges[number + 1]]


def _validate_lifetime(asset: AssetCapability, rows: NDArray[np.intp], facts: _Facts, faults: RowErrors) -> None:
    if asset.life_s is None or not len(rows):
        return
    first_s, last_s = asset.life_s
    lived_s = np.minimum(facts.ends_s[rows], last_s) - np.maximum(facts.starts_s[rows], first_s)
    outside = rows[(lived_s <= 0) | (facts.delivery_h[rows] * HOUR_S > lived_s + ROUNDING)]
    if len(outside):
        life = f"{instant_of(first_s):%Y-%m-%dT%H:%MZ} to {instant_of(last_s):%Y-%m-%dT%H:%MZ}"
        faults.add(outside, facts.time_field, f"is not within the life of its asset, {life}")


def _validate_amounts(
    kind: FactKind, asset: AssetCapability, rows: NDArray[np.intp], facts: _Facts, faults: RowErrors
) -> None:
    charge_mw, discharge_mw = asset.power_at(facts.starts_s[rows])
    if kind is FCR_AWARDS:
        most, unit = np.minimum(charge_mw, discharge_mw), "MW in each direction"
    elif facts.directions:
        upward = np.array([facts.directions[row] == Direction.POS for row in rows])
        most, unit = np.where(upward, discharge_mw, charge_mw), "MW in its direction"
    else:
        most, unit = charge_mw + discharge_mw, "MWh that it can move in an hour"
    beyond = facts.amounts[rows] > most * (1 + ROUNDING)
    for limit in np.unique(most[beyond]):
        detail = f"is more than its asset's {limit:g} {unit}"
        faults.add(rows[beyond & (most == limit)], facts.amount_field, detail)
