"""The creation of an auction: the capacity it offers, and who may be invited to bid for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from gridloom.auctions import store
from gridloom.auctions.clearing import terms_of
from gridloom.auctions.model import Auction
from gridloom.capacity.model import HoldingKind
from gridloom.capacity.rules import CapacityNotAvailable, CapacityTaken
from gridloom.capacity.store import lock_batteries
from gridloom.kernel.problem import Conflict, FieldError
from gridloom.platform.database.pool import Database
from gridloom.virtual_assets.backing import store as backing_store
from gridloom.virtual_assets.backing.holdings import (
    BackingAssetInactive,
    CycleLimitExceeded,
    DeliveryZonesDiffer,
    hold_backing,
)
from gridloom.virtual_assets.model import BackingShare


class InvitationRefused(Conflict, title="An organisation cannot be invited"):
    """Who owns a battery behind the auction, or may read its revenue, cannot be invited to bid for it: the battery's
    reports would tell what others have paid. `errors` names the organisations."""


OFFER_PROBLEMS = (
    CapacityNotAvailable,
    CapacityTaken,
    BackingAssetInactive,
    CycleLimitExceeded,
    DeliveryZonesDiffer,
    InvitationRefused,
)


async def offer_capacity(
    db: Database, auction: Auction, backing: Sequence[BackingShare], replaced: Sequence[BackingShare] = ()
) -> None:
    """Take what the auction offers of each battery, from now until it is cleared or cancelled, or refuse; where the
    item names no limit of daily cycles, it has that of the batteries, and theirs of a year always.

    `replaced` is the backing from which it offered before. The caller has made the auction or holds its lock.
    """
    item = auction.item
    # What is not named is that of the batteries that the auction had before; no item names a limit of the year.
    named = item.daily_cycle_limit if item.is_daily_cycle_limit_named else None
    taken = await hold_backing(
        db,
        replace(terms_of(auction, backing), daily_cycle_limit=named, annual_cycle_limit=None),
        HoldingKind.AUCTION,
        auction.id,
        replaced=[part.physical_asset_id for part in replaced],
        pointer="/item",
    )
    await store.set_cycle_limits(db, auction.id, taken.terms.daily_cycle_limit, taken.terms.annual_cycle_limit)


async def check_invited(db: Database, backing: Sequence[BackingShare], participants: Sequence[UUID]) -> None:
    """Under the batteries' locks, so that no grant of their revenue comes in between."""
    keys = await backing_store.read_keys(db, [part.physical_asset_id for part in backing])
    await lock_batteries(db, keys.values())
    barred = await store.read_revenue_readers(db, keys.values(), participants)
    faults = [
        FieldError(f"/participants/{index}", _say_why(barred[one]))
        for index, one in enumerate(participants)
        if one in barred
    ]
    if faults:
        raise InvitationRefused(
            f"{len(faults)} of the organisations would learn the price: {faults[0].detail}.", faults
        )


def _say_why(owned: bool) -> str:
    return "owns a battery behind the auction" if owned else "may read the revenue of a battery behind the auction"
