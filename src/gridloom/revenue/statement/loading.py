"""The entries of a statement, from settled facts, contracts, auctions, positions and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

import numpy as np

from gridloom.delivery.performance.performance import Performance
from gridloom.delivery.positions.position import IMBALANCE_SERIES, OpenPosition, load_open_position, load_owner_position
from gridloom.kernel.market_time import market_day_of, period_start
from gridloom.kernel.units import KW_PER_MW
from gridloom.market_calendar import PERIOD_S, market_day_periods
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_period_prices
from gridloom.revenue.accruals import tolling_sums
from gridloom.revenue.model import ReportBuckets
from gridloom.revenue.statement.availability import Paid, find_substituted_eur, split_owed_eur
from gridloom.revenue.statement.model import Cents, LineType, Party, StatementEntry
from gridloom.revenue.statement.rounding import cents_of, split
from gridloom.revenue.statement.scope import Scope, VirtualInputs
from gridloom.revenue.statement.shortfalls import ShortfallAmounts, load_shortfall_amounts
from gridloom.revenue.statement.store import BatteryOwner, read_drift_eur
from gridloom.settlements.measures import BLOCK_SOURCES, POSITION, FactSource, positions_of
from gridloom.settlements.period_aggregates import FloatArray, decode_sheets, spread_blocks
from gridloom.virtual_assets.energy.trajectory import energy_changes_kwh
from gridloom.virtual_assets.history.store import read_cuts
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.projection_loading import (
    first_cuttable_period,
    load_projection,
    load_projection_as_of,
)
from gridloom.virtual_assets.store import version_at

PERIOD_BATCH_SIZE: Final = 2976
"""A month's."""
_ROUNDING_EUR: Final = 1e-6

_FACTS: Final = (
    (LineType.TRADING, FactSource.WHOLESALE, Party.MARKET, ("sell_proceeds_eur",), ("buy_cost_eur",)),
    (LineType.FCR, FactSource.FCR, Party.GRID_OPERATOR, ("fcr_revenue_eur",), ()),
    (LineType.AFRR_CAPACITY, FactSource.AFRR_CAPACITY, Party.GRID_OPERATOR, ("afrr_capacity_revenue_eur",), ()),
    (
        LineType.AFRR_ENERGY,
        FactSource.AFRR_ENERGY,
        Party.GRID_OPERATOR,
        ("afrr_pos_revenue_eur", "afrr_neg_revenue_eur"),
        (),
    ),
)


def fact_entries(scope: Scope, key: int, drift_eur: FloatArray | None = None) -> list[StatementEntry]:
    """Trading and balancing, as settled; drift trades have a line of their own."""
    entries = []
    if drift_eur is not None and drift_eur.any():
        entries.append(StatementEntry(LineType.DRIFT, Party.MARKET, scope.until(drift_eur)))
    sheets = scope.sheets.by_asset.get(key, {})
    for line, source, party, plus, minus in _FACTS:
        bodies = sheets.get(source)
        if bodies is None or not any(bodies):
            continue
        widths = [6] * len(scope.numbers) if source in BLOCK_SOURCES else scope.widths
        sheet = decode_sheets(source, bodies, widths)
        if source in BLOCK_SOURCES:
            sheet = spread_blocks(sheet, scope.numbers)
        first = positions_of(source).start
        amount_eur = np.zeros(scope.end - scope.first)
        for name in plus:
            amount_eur += sheet[POSITION[name] - first]
        for name in minus:
            amount_eur -= sheet[POSITION[name] - first]
        if line is LineType.TRADING and drift_eur is not None:
            amount_eur -= drift_eur
            if not np.abs(amount_eur).max(initial=0.0) > _ROUNDING_EUR:
                continue
        entries.append(StatementEntry(line, party, scope.until(amount_eur)))
    return entries


def toll_cents(scope: Scope, key: int) -> Cents | None:
    """Cumulative tolls on an asset at each edge, counted from their start."""
    tolls = scope.tolls.get(key)
    if not tolls or key not in scope.ratings:
        return None
    edges_s = (scope.edges * PERIOD_S).astype(np.float64)
    start_s = min(scope.ratings[key].in_service_fraction(toll.span).start_s for toll in tolls)
    buckets = ReportBuckets(scope.edges, np.minimum(edges_s, start_s), edges_s)
    sums = tolling_sums(tolls, {key: scope.ratings[key]}, {key: 1.0}, buckets)
    return cents_of(sums["tolling_revenue_eur"])


def auction_cents(scope: Scope, key: int) -> Cents | None:
    """The part of a virtual asset's auction price before each edge: evenly over its delivery window."""
    result = scope.auctions.get(key)
    if result is None:
        return None
    edges_s = np.clip(scope.edges * PERIOD_S, result.span.start_s, result.span.end_s)
    passed = (edges_s - result.span.start_s) / (result.span.end_s - result.span.start_s)
    return cents_of(np.asarray(result.price_eur * passed, dtype=np.float64))


async def end_of_life_cents(db: Database, scope: Scope, asset: VirtualAsset) -> Cents | None:
    """Payment to the holder for energy beyond the target, or by it for energy that is missing.

    At the mean imbalance price of the last market day, once all its prices are there; in the last quarter-hour of life.
    """
    terms = asset.terms
    if asset.end > scope.edges[-1]:
        return None
    end_kwh = await _load_end_kwh(db, scope, asset)
    if end_kwh is None:
        return None
    if asset.end > scope.settled_from:
        end_kwh += await _find_owners_part_kwh(db, scope, asset)
    off_kwh = end_kwh - terms.final_soc_target * terms.energy_capacity_kwh
    if abs(off_kwh) <= terms.final_soc_tolerance * terms.energy_capacity_kwh:
        return None
    prices = await _read_last_prices(db, scope, asset)
    if np.isnan(prices).any():
        return None
    amount = int(cents_of(np.array([off_kwh / KW_PER_MW * float(prices.mean())]))[0])
    return np.where(scope.edges >= asset.end, amount, 0).astype(np.int64)


async def _find_owners_part_kwh(db: Database, scope: Scope, asset: VirtualAsset) -> float:
    """Energy that cuts which count as delivered have left in the store, or kept out of it: it is the owners'."""
    cuts = await read_cuts(db, asset.key, asset.first, asset.end, scope.as_of)
    left_kw = cuts.unannounced_kw - cuts.unfollowed_kw
    return float(energy_changes_kwh(left_kw, asset.terms.efficiency).sum())


async def _read_last_prices(db: Database, scope: Scope, asset: VirtualAsset) -> FloatArray:
    """Imbalance prices of the last market day of an asset's life, which the market days of the statement contain unless
    the asset ended before them."""
    first, end = market_day_periods(market_day_of(period_start(asset.end - 1)))
    if scope.first <= first and end <= scope.end:
        return scope.imbalance_price_eur_mwh[first - scope.first : end - scope.first]
    return await read_period_prices(db, IMBALANCE_SERIES, first, end, scope.as_of)


async def _load_end_kwh(db: Database, scope: Scope, asset: VirtualAsset) -> float | None:
    """Energy stored at the end of life; as of an instant, only where that had passed."""
    if scope.as_of is None:
        if asset.first_activated is None and first_cuttable_period(asset, scope.now) >= asset.end:
            return asset.end_kwh
        outlook = await load_projection(db, asset, scope.now, asset.end - 1, asset.end)
        return float(outlook.trajectory.energy_kwh[-1])
    version = await version_at(db, asset.key, scope.as_of)
    if version is None or period_start(asset.end) > scope.as_of:
        return None
    outlook, _ = await load_projection_as_of(db, asset, version, scope.as_of, asset.end - 1, asset.end)
    return float(outlook.trajectory.energy_kwh[-1])


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedAmounts:
    """Amounts that owners have given back until each edge for capacity that was missing: by battery, to the holder; by
    battery and the one that stood in for it, to the owner of that."""

    to_holder: Mapping[int, Cents]
    to_substitutes: Mapping[tuple[int, int], Cents]


def availability_cents(scope: Scope, asset: VirtualAsset, inputs: VirtualInputs) -> ReleasedAmounts:
    """Only of batteries that fell short."""
    to_holder: dict[int, Cents] = {}
    to_substitutes: dict[tuple[int, int], Cents] = {}
    low, high = asset.clip(scope.first, scope.end)
    paid = Paid(scope.auctions.get(asset.key), scope.tolls.get(asset.key, ()), scope.ratings.get(asset.key))
    if low >= high or not paid.is_priced or not inputs.shortfalls[asset.key].missing.any():
        return ReleasedAmounts(to_holder, to_substitutes)
    shortfalls = inputs.shortfalls[asset.key]
    for key, owed_eur in split_owed_eur(shortfalls, paid.by_period(asset.key, low, high)).items():
        amount_eur = np.zeros(scope.end - scope.first)
        amount_eur[low - scope.first : high - scope.first] = owed_eur
        to_holder[key] = scope.until(amount_eur)
        failures = scope.failures.get(key)
        substituted_eur = {} if failures is None else find_substituted_eur(amount_eur, failures)
        for helper, eur in substituted_eur.items():
            to_substitutes[key, helper] = scope.until(eur)
            to_holder[key] = to_holder[key] - to_substitutes[key, helper]
    return ReleasedAmounts(to_holder, to_substitutes)


async def load_open(db: Database, scope: Scope, asset: VirtualAsset, inputs: VirtualInputs) -> OpenPosition | None:
    """Of the part of its life that lies in the market days; None where there is none."""
    low, high = asset.clip(scope.first, scope.end)
    facts = scope.facts_of(asset.key, low, high)
    if low >= high or facts is None:
        return None
    return await load_open_position(db, asset, low, high, facts, scope.as_of, inputs.powers.get(asset.key))


async def virtual_entries(
    db: Database,
    scope: Scope,
    asset: VirtualAsset,
    inputs: VirtualInputs,
    position: OpenPosition | None = None,
    amounts: PartyAmounts | None = None,
) -> list[StatementEntry]:
    """From the side of who holds the virtual asset.

    position, amounts: of the part of its life that lies in the market days, where they are loaded already.
    """
    entries = fact_entries(scope, asset.key)
    low, high = asset.clip(scope.first, scope.end)
    if low < high and not np.isnan(scope.imbalance_price_eur_mwh).all():
        position = position or await load_open(db, scope, asset, inputs)
        assert position is not None, "the facts of an asset are part of its statement"
        cost_eur = np.zeros(scope.end - scope.first)
        cost_eur[low - scope.first : high - scope.first] = np.nan_to_num(position.cost_eur)
        entries.append(StatementEntry(LineType.IMBALANCE, Party.GRID_OPERATOR, scope.until(-cost_eur)))
    return entries + entries_between_parties(
        scope, asset, amounts or await load_party_amounts(db, scope, asset, inputs)
    )


@dataclass(frozen=True, slots=True, eq=False)
class PartyAmounts:
    """Amounts of a virtual asset between its holder and the owners of its batteries, from the holder's side."""

    lines: Sequence[tuple[LineType, Cents]]
    """Split by the shares of the batteries."""
    released: ReleasedAmounts
    shortfall: ShortfallAmounts | None


async def load_party_amounts(db: Database, scope: Scope, asset: VirtualAsset, inputs: VirtualInputs) -> PartyAmounts:
    unheld = scope.unheld.get(asset.key, ())
    return PartyAmounts(
        await _load_party_lines(db, scope, asset),
        availability_cents(scope, asset, inputs),
        await load_shortfall_amounts(db, asset.key, unheld, scope.first, scope.end, scope.as_of),
    )


async def _load_party_lines(db: Database, scope: Scope, asset: VirtualAsset) -> list[tuple[LineType, Cents]]:
    found = []
    price, tolls = auction_cents(scope, asset.key), toll_cents(scope, asset.key)
    leftover = await end_of_life_cents(db, scope, asset)
    if price is not None:
        found.append((LineType.AUCTION, -price))
    if tolls is not None:
        found.append((LineType.TOLLING, -tolls))
    if leftover is not None:
        found.append((LineType.END_OF_LIFE, leftover))
    return found


def entries_between_parties(scope: Scope, asset: VirtualAsset, amounts: PartyAmounts) -> list[StatementEntry]:
    """Between holder and owners, from the holder's side; what the holder gives back for reserves is among them."""
    entries = []
    owners = scope.owners[asset.key]
    for line, cents in amounts.lines:
        parts = split(cents, [owner.share for owner in owners])
        entries += [
            StatementEntry(line, str(owner.organisation_id), part) for owner, part in zip(owners, parts, strict=True)
        ]
    entries += [
        StatementEntry(LineType.AVAILABILITY, str(owner.organisation_id), amounts.released.to_holder[owner.asset_key])
        for owner in owners
        if owner.asset_key in amounts.released.to_holder
    ]
    shortfall = amounts.shortfall
    if shortfall is not None:
        given_back = scope.until(-shortfall.given_back_eur)
        entries.append(StatementEntry(LineType.RESERVE_SHORTFALL, Party.GRID_OPERATOR, given_back))
        entries += [
            StatementEntry(LineType.RESERVE_SHORTFALL, str(owner.organisation_id), scope.until(owed_eur))
            for owner in owners
            if (owed_eur := shortfall.by_battery_eur.get(owner.asset_key)) is not None
        ]
    return entries


@dataclass(frozen=True, slots=True, eq=False)
class Substitution:
    """The amount that the owner of a failed battery pays to the owner of one that stood in for it, until each edge."""

    payer: UUID
    payee: UUID
    until: Cents


def list_substitutions(scope: Scope, asset: VirtualAsset, amounts: PartyAmounts) -> list[Substitution]:
    owners = {owner.asset_key: owner.organisation_id for owner in scope.owners[asset.key]}
    return [
        Substitution(owners[failed], scope.organisations[helper], until)
        for (failed, helper), until in amounts.released.to_substitutes.items()
    ]


def sum_by_battery_eur(scope: Scope, asset: VirtualAsset, amounts: PartyAmounts) -> dict[int, float]:
    """By battery, what all lines between the asset's holder and owners, and between owners, come to for its owner."""
    behind = scope.owners[asset.key]
    sums = {owner.asset_key: 0.0 for owner in behind}
    for _, cents in amounts.lines:
        parts = split(cents, [owner.share for owner in behind])
        for owner, part in zip(behind, parts, strict=True):
            sums[owner.asset_key] -= float(part[-1] - part[0]) / 100
    for key, until in amounts.released.to_holder.items():
        sums[key] -= float(until[-1] - until[0]) / 100
    for (failed, helper), until in amounts.released.to_substitutes.items():
        sums[failed] -= float(until[-1] - until[0]) / 100
        sums[helper] = sums.get(helper, 0.0) + float(until[-1] - until[0]) / 100
    if amounts.shortfall is not None:
        for key, owed_eur in amounts.shortfall.by_battery_eur.items():
            until = scope.until(owed_eur)
            sums[key] = sums.get(key, 0.0) - float(until[-1] - until[0]) / 100
    return sums


def _list_substitutions_of(
    scope: Scope, behind: Sequence[BatteryOwner], key: int, amounts: PartyAmounts
) -> list[StatementEntry]:
    """From the side of a battery's owner: what it pays where the battery failed, and is paid where it stood in."""
    owners = {owner.asset_key: owner.organisation_id for owner in behind}
    entries = []
    for (failed, helper), until in amounts.released.to_substitutes.items():
        if failed == key:
            entries.append(StatementEntry(LineType.SUBSTITUTION, str(scope.organisations[helper]), -until))
        if helper == key:
            entries.append(StatementEntry(LineType.SUBSTITUTION, str(owners[failed]), until))
    return entries


async def _load_owner_imbalance(
    db: Database, scope: Scope, key: int, performance: Performance | None
) -> StatementEntry:
    """Over all periods of the market days, a month of telemetry at a time, and only where prices are published."""
    cost_eur, assumed_mwh = np.zeros(scope.end - scope.first), np.zeros(scope.end - scope.first)
    batch_size = PERIOD_BATCH_SIZE if performance is None else scope.end - scope.first
    for low in range(scope.first, scope.end, batch_size):
        high = min(low + batch_size, scope.end)
        here = slice(low - scope.first, high - scope.first)
        is_priced = ~np.isnan(scope.imbalance_price_eur_mwh[here])
        if is_priced.any():
            facts_of = partial(scope.facts_of, first=low, end=high)
            missed = scope.missed_of(key, low, high)
            position = await load_owner_position(db, key, low, high, scope.as_of, performance, facts_of, missed)
            cost_eur[here] = np.nan_to_num(position.cost_eur)
            assumed_mwh[here] = position.assumed_mwh * is_priced
    return StatementEntry(LineType.IMBALANCE, Party.GRID_OPERATOR, scope.until(-cost_eur), scope.by_bucket(assumed_mwh))


async def physical_entries(
    db: Database,
    scope: Scope,
    key: int,
    backed: Sequence[tuple[VirtualAsset, PartyAmounts]] = (),
    performance: Performance | None = None,
) -> list[StatementEntry]:
    """From the side of who owns the battery: its own facts, and its share in what holders pay.

    performance: of all periods of the market days, where it is loaded already.
    """
    drift_eur = await read_drift_eur(db, key, scope.first, scope.end, scope.as_of)
    entries = fact_entries(scope, key, drift_eur)
    tolls = toll_cents(scope, key)
    if tolls is not None:
        entries.append(StatementEntry(LineType.TOLLING, Party.OUTSIDE, tolls))
    entries.append(await _load_owner_imbalance(db, scope, key, performance))
    for asset, amounts in backed:
        behind = scope.owners[asset.key]
        entries += _list_substitutions_of(scope, behind, key, amounts)
        index = next((index for index, owner in enumerate(behind) if owner.asset_key == key), None)
        if index is None:
            continue  # it only stood in for one that backs the asset
        for line, cents in amounts.lines:
            part = split(cents, [owner.share for owner in behind])[index]
            entries.append(StatementEntry(line, str(asset.organisation_id), -part))
        released = amounts.released.to_holder
        if key in released:
            entries.append(StatementEntry(LineType.AVAILABILITY, str(asset.organisation_id), -released[key]))
        shortfall = amounts.shortfall
        if shortfall is not None and key in shortfall.by_battery_eur:
            owed = scope.until(shortfall.by_battery_eur[key])
            entries.append(StatementEntry(LineType.RESERVE_SHORTFALL, str(asset.organisation_id), -owed))
    return entries
