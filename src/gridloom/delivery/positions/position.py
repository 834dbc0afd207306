"""Open positions of virtual assets and of battery owners: what was traded against what is delivered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.delivery import zone_store
from gridloom.delivery.failures.store import read_failures, read_first_settled_period, spread_failures
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.performance import Performance, load_performance
from gridloom.kernel.market_time import period_number
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats, utc_days_of
from gridloom.platform.database.pool import Database
from gridloom.reference_prices.store import read_period_prices
from gridloom.settlements.period_volumes import PeriodVolumes, read_period_volumes
from gridloom.virtual_assets.energy.projection import project
from gridloom.virtual_assets.history.store import CutPowers, read_accepted_kw, read_cuts, read_powers_as_of
from gridloom.virtual_assets.model import VirtualAsset
from gridloom.virtual_assets.schedule.projection_input import load_projection_input
from gridloom.virtual_assets.schedule.store import DayPowers, read_day_range, total_power_kw

IMBALANCE_SERIES = "REBAP_DE"


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """MWh in each period from `first` on, positive is export; prices are NaN where none is published.

    `open_mwh = sold − bought + activated − delivered`: positive is energy that was sold and not delivered.
    """

    first: int
    bought_mwh: Floats
    sold_mwh: Floats
    scheduled_mwh: Floats
    netted_mwh: Floats
    activated_mwh: Floats
    delivered_mwh: Floats
    price_eur_mwh: Floats

    @property
    def open_mwh(self) -> Floats:
        open_mwh = self.sold_mwh - self.bought_mwh + self.activated_mwh - self.delivered_mwh
        open_mwh[np.abs(open_mwh) < 5e-9] = 0.0  # below the hundredth of a watt-hour that facts are kept to
        return open_mwh

    @property
    def cost_eur(self) -> Floats:
        """Who is short pays the imbalance price, who is long is paid it."""
        return np.asarray(self.open_mwh * self.price_eur_mwh)


async def load_position(
    db: Database, asset: VirtualAsset, first: int, end: int, as_of: datetime | None = None
) -> Position:
    """The periods `first` up to but not `end`, which lie within the asset's life.

    As of an instant: by the schedules, cuts and facts recorded until then, without the cuts that were still to come.
    """
    cuts = await read_cuts(db, asset.key, first, end, as_of)
    powers = await _load_powers(db, asset, first, end, as_of, cuts)
    power_kw, accepted_kw = powers.adjusted_kw, powers.accepted_kw
    if as_of is None:
        accepted_kw = await read_accepted_kw(db, asset.key, first, accepted_kw)
    exported, imported = await zone_store.read_netting(db, asset.terms.delivery_zone, first, end, as_of)
    volumes = await read_period_volumes(db, asset.key, first, end, as_of)
    to_mwh = QUARTER_HOUR_H / KW_PER_MW
    return Position(
        first,
        volumes.bought_mwh,
        volumes.sold_mwh,
        accepted_kw * to_mwh,
        power_kw * np.where(power_kw > 0, exported, imported) * to_mwh,
        volumes.activated_mwh,
        powers.announced_kw * to_mwh + volumes.activated_mwh,
        await read_period_prices(db, IMBALANCE_SERIES, first, end, as_of),
    )


@dataclass(frozen=True, slots=True, eq=False)
class PeriodFacts:
    """Facts of one asset in each of some periods, which were read together with those of others."""

    volumes: PeriodVolumes
    cuts: CutPowers
    price_eur_mwh: Floats


@dataclass(frozen=True, slots=True, eq=False)
class _Powers:
    """kW of a virtual asset in each period: after all cuts, before them, and after announced cuts."""

    adjusted_kw: Floats
    accepted_kw: Floats
    announced_kw: Floats


@dataclass(frozen=True, slots=True, eq=False)
class OpenPosition:
    """The terms of a position's cost: the same numbers as in `Position`."""

    power_kw: Floats
    """After all cuts."""
    cost_eur: Floats


async def load_open_position(
    db: Database,
    asset: VirtualAsset,
    first: int,
    end: int,
    facts: PeriodFacts,
    as_of: datetime | None,
    powers: DayPowers | None = None,
) -> OpenPosition:
    """facts: of the periods `first` up to but not `end`.

    powers: the present schedules of their days, where they are read already.
    """
    loaded = await _load_powers(db, asset, first, end, as_of, facts.cuts, powers)
    volumes = facts.volumes
    delivered_mwh = loaded.announced_kw * (QUARTER_HOUR_H / KW_PER_MW) + volumes.activated_mwh
    nothing = np.zeros_like(delivered_mwh)
    position = Position(
        first,
        volumes.bought_mwh,
        volumes.sold_mwh,
        nothing,
        nothing,
        volumes.activated_mwh,
        delivered_mwh,
        facts.price_eur_mwh,
    )
    return OpenPosition(loaded.adjusted_kw, position.cost_eur)


async def _load_powers(
    db: Database,
    asset: VirtualAsset,
    first: int,
    end: int,
    as_of: datetime | None,
    cuts: CutPowers,
    powers: DayPowers | None = None,
) -> _Powers:
    """Expected cuts count as made; as of an instant only those that were."""
    if as_of is not None:
        scheduled_kw, accepted_kw = await read_powers_as_of(db, asset.key, as_of, first, end)
        adjusted_kw = scheduled_kw - cuts.unfollowed_kw
        return _Powers(adjusted_kw, accepted_kw, adjusted_kw + cuts.unannounced_kw)
    if asset.first_misfit is None or asset.first_misfit >= end:
        if powers is None:
            powers = await read_day_range(db, asset.key, utc_days_of(first, max(end, first + 1)))
        scheduled_kw = total_power_kw(powers, first, end)
        adjusted_kw = scheduled_kw - cuts.unfollowed_kw
        return _Powers(adjusted_kw, scheduled_kw, adjusted_kw + cuts.unannounced_kw)
    _, accepted = await load_projection_input(db, asset, first, end, closed=asset.first_misfit)
    accepted_kw, projection = accepted.power_kw.sum(axis=0), project(accepted)
    adjusted_kw = projection.adjusted_kw - cuts.unfollowed_kw
    unannounced_kw = cuts.unannounced_kw.copy()
    for cut in projection.cuts:
        unannounced_kw[cut.position] += cut.announced_kw - cut.adjusted_kw
    return _Powers(adjusted_kw, accepted_kw, adjusted_kw + unannounced_kw)


FactsOf = Callable[[int], PeriodFacts | None]
"""Facts of an asset by its key, where they were read; None where not."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnerPosition:
    """MWh in each period from `first` on; positive is sold, or owed to virtual assets, and not delivered."""

    first: int
    open_mwh: Floats
    price_eur_mwh: Floats
    assumed_mwh: Floats
    """The energy that counts as delivered, either way, without a measurement."""

    @property
    def cost_eur(self) -> Floats:
        return np.asarray(self.open_mwh * self.price_eur_mwh)


@dataclass(frozen=True, slots=True, eq=False)
class MissedPower:
    """A battery's part of the zone's undelivered power in each period; `settled_from`: the first period of which
    that is known."""

    settled_from: int
    power_kw: Floats


async def load_missed_power(
    db: Database, asset_key: int, first: int, end: int, as_of: datetime | None = None
) -> MissedPower:
    failures = spread_failures(await read_failures(db, [asset_key], first, end, as_of), first, end)
    known = failures.get(asset_key)
    power_kw = np.zeros(end - first) if known is None else known.missed_kw
    return MissedPower(await read_first_settled_period(db), power_kw)


@dataclass(frozen=True, slots=True, eq=False)
class _OwnedFacts:
    volumes: PeriodVolumes
    cuts: CutPowers


async def _load_facts(
    db: Database, key: int, first: int, end: int, as_of: datetime | None, facts_of: FactsOf | None
) -> _OwnedFacts | PeriodFacts:
    known = None if facts_of is None else facts_of(key)
    if known is not None:
        return known
    return _OwnedFacts(
        await read_period_volumes(db, key, first, end, as_of),
        await read_cuts(db, key, first, end, as_of),
    )


async def load_owner_position(
    db: Database,
    asset_key: int,
    first: int,
    end: int,
    as_of: datetime | None = None,
    performance: Performance | None = None,
    facts_of: FactsOf | None = None,
    missed: MissedPower | None = None,
) -> OwnerPosition:
    """`sold − bought + activated − (measured − dispatched for virtual assets − their activations by share − missed)`.

    Missed is what of the zone's undelivered energy is the battery's: to holders it counts as delivered. In periods
    before failures were settled it is the cuts of virtual assets that were not announced in time, by share.

    A battery that trips within a quarter-hour has measured less than it owes, and the rest is its owner's. For the part
    of a quarter-hour in which nothing was measured, it counts as having done what it was dispatched for or, while it
    backs no asset, what its owner has scheduled; what it does then without a trade is not the platform's affair.

    performance, facts_of, missed: of these periods, where they are loaded already.
    """
    if performance is None:
        performance = await load_performance(db, asset_key, first, end, as_of)
    own = (await _load_facts(db, asset_key, first, end, as_of, facts_of)).volumes
    to_mwh = QUARTER_HOUR_H / KW_PER_MW
    dispatch = performance.dispatch
    owed_mwh = dispatch.sum_kw(PartKind.VIRTUAL) * to_mwh
    missed = missed or await load_missed_power(db, asset_key, first, end, as_of)
    cut_mwh = np.zeros(end - first)
    for backing in await input_store.read_backed_shares(db, asset_key, first, end):
        backed = await _load_facts(db, backing.asset_key, first, end, as_of, facts_of)
        owed_mwh = owed_mwh + backing.share * backed.volumes.activated_mwh
        cut_mwh += to_mwh * backing.share * backed.cuts.unannounced_kw
    cut_mwh = np.where(np.arange(first, end) < missed.settled_from, cut_mwh, missed.power_kw * to_mwh)
    [scheduled_kw] = await input_store.read_own_kw(db, [asset_key], first, end)
    if as_of is not None:
        # A schedule can be changed until its quarter-hour starts, and only its last state is kept.
        scheduled_kw[max(0, period_number(as_of) + 1 - first) :] = 0.0
    is_traded = own.sold_mwh + own.bought_mwh > 0
    own_kw = np.where(dispatch.is_planned, dispatch.sum_kw(PartKind.OWN, PartKind.DRIFT), scheduled_kw * is_traded)
    as_dispatched_mwh = owed_mwh + own_kw * to_mwh + own.activated_mwh
    measured = performance.measured.active_kw
    counted_mwh = to_mwh * measured.over(as_dispatched_mwh / to_mwh)
    counts = dispatch.is_planned | is_traded
    delivered_mwh = np.where(counts, counted_mwh, as_dispatched_mwh)
    assumed_mwh = np.where(counts, (1.0 - measured.share) * np.abs(as_dispatched_mwh), 0.0)
    open_mwh = own.sold_mwh - own.bought_mwh + own.activated_mwh - (delivered_mwh - owed_mwh - cut_mwh)
    open_mwh = np.where(np.abs(open_mwh) < 5e-9, 0.0, open_mwh)
    known = None if facts_of is None else facts_of(asset_key)
    price_eur_mwh = (
        await read_period_prices(db, IMBALANCE_SERIES, first, end, as_of) if known is None else known.price_eur_mwh
    )
    return OwnerPosition(first, open_mwh, price_eur_mwh, assumed_mwh)
