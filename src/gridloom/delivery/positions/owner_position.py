"""A battery owner's open position: what the battery did beyond what it owes to virtual assets, against own trades."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from gridloom.database.pool import Database
from gridloom.delivery.inputs import store as input_store
from gridloom.delivery.model import PartKind
from gridloom.delivery.performance.performance import Performance, load_performance
from gridloom.delivery.positions.position import IMBALANCE_SERIES, PeriodFacts
from gridloom.kernel.market_time import period_number
from gridloom.kernel.units import KW_PER_MW, QUARTER_HOUR_H
from gridloom.market_calendar import Floats
from gridloom.reference_prices.store import read_period_prices
from gridloom.settlements.period_volumes import PeriodVolumes, read_period_volumes
from gridloom.virtual_assets.history.store import read_unannounced_kw

FactsOf = Callable[[int], PeriodFacts | None]
"""Facts of an asset by its key, where they were read; None where not."""


@dataclass(frozen=True, slots=True, eq=False)
class OwnerPosition:
    """MWh in each period from `first` on; positive is sold, or owed to virtual assets, and not delivered."""

    first: int
    open_mwh: Floats
    price_eur_mwh: Floats
    assumed_mwh: Floats
    """What counts as delivered, either way, though nothing was measured of it."""

    @property
    def cost_eur(self) -> Floats:
        return np.asarray(self.open_mwh * self.price_eur_mwh)


@dataclass(frozen=True, slots=True, eq=False)
class _OwnedFacts:
    volumes: PeriodVolumes
    unannounced_kw: Floats


async def _load_facts(
    db: Database, key: int, first: int, end: int, as_of: datetime | None, facts_of: FactsOf | None
) -> _OwnedFacts | PeriodFacts:
    known = None if facts_of is None else facts_of(key)
    if known is not None:
        return known
    return _OwnedFacts(
        await read_period_volumes(db, key, first, end, as_of),
        await read_unannounced_kw(db, key, first, end, as_of),
    )


async def load_owner_position(
    db: Database,
    asset_key: int,
    first: int,
    end: int,
    as_of: datetime | None = None,
    performance: Performance | None = None,
    facts_of: FactsOf | None = None,
) -> OwnerPosition:
    """`sold − bought + activated − (measured − dispatched for virtual assets − their activations and cuts by share)`.

    The cuts are those that were not announced in time: to the holder they count as delivered.

    A battery that trips within a quarter-hour has measured less than it owes, and the rest is its owner's. For the part
    of a quarter-hour in which nothing was measured, it counts as having done what it was dispatched for or, while it
    backs nobody, what its owner has scheduled; what it does then without a trade is not the platform's affair.

    performance, facts_of: of these periods, where they are loaded already.
    """
    if performance is None:
        performance = await load_performance(db, asset_key, first, end, as_of)
    own = (await _load_facts(db, asset_key, first, end, as_of, facts_of)).volumes
    to_mwh = QUARTER_HOUR_H / KW_PER_MW
    dispatch = performance.dispatch
    owed_mwh = dispatch.sum_kw(PartKind.VIRTUAL) * to_mwh
    cut_mwh = np.zeros(end - first)
    for backing in await input_store.read_backed_shares(db, asset_key, first, end):
        backed = await _load_facts(db, backing.asset_key, first, end, as_of, facts_of)
        owed_mwh = owed_mwh + backing.share * backed.volumes.activated_mwh
        cut_mwh += to_mwh * backing.share * backed.unannounced_kw
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
