"""All SQL of the auctions room."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from gridloom.auctions.model import (
    Auction,
    AuctionBid,
    AuctionState,
    Cancellation,
    CancelReason,
    ClearingOutcome,
    ClearingResult,
    Item,
    VisibleStatus,
)
from gridloom.kernel.window import Window
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.database.rows import read_row, values_of
from gridloom.platform.database.statement import NamedStatement, compose
from gridloom.virtual_assets.model import BackingShare

_AUCTION = """
  a.id, a.opens_at, a.closes_at, a.item_id, a.delivery_start, a.delivery_end, a.delivery_zone, a.rated_charge_power_kw,
  a.rated_discharge_power_kw, a.energy_capacity_kwh, a.charge_efficiency, a.discharge_efficiency, a.daily_cycle_limit,
  a.initial_soc, a.last_soc_target, a.final_soc_tolerance, a.hurdle_price_eur, a.state, a.outcome, a.outcome_detail,
  a.winning_bid_id, a.winner_id, a.winning_price_eur, a.virtual_asset_id, a.cleared_at, a.version,
  a.minimum_availability, a.annual_cycle_limit, a.is_daily_cycle_limit_named, a.cancelled_at, a.cancelled_reason
"""


@dataclass(frozen=True, slots=True)
class VisibleAuction:
    """An auction as one organisation may see it."""

    auction: Auction
    now: datetime
    is_invited: bool
    bid: AuctionBid | None
    """Its own latest standing bid."""
    has_standing_bid: bool
    """Whether there is a standing bid: for the operator alone."""


_INSERT = NamedStatement("""
insert into auction (
  id, item_id, opens_at, closes_at, delivery_start, delivery_end, delivery_zone, rated_charge_power_kw,
  rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency, discharge_efficiency, daily_cycle_limit,
  is_daily_cycle_limit_named, annual_cycle_limit, initial_soc, last_soc_target, final_soc_tolerance, hurdle_price_eur,
  minimum_availability)
values (
  :id, :item_id, :opens_at, :closes_at, :delivery_start, :delivery_end, :delivery_zone, :rated_charge_power_kw,
  :rated_discharge_power_kw, :energy_capacity_kwh, :charge_efficiency, :discharge_efficiency, :daily_cycle_limit,
  :is_daily_cycle_limit_named, :annual_cycle_limit, :initial_soc, :last_soc_target, :final_soc_tolerance,
  :hurdle_price_eur, :minimum_availability)
""")

_UPDATE = NamedStatement("""
update auction
set opens_at = :opens_at, closes_at = :closes_at, delivery_start = :delivery_start, delivery_end = :delivery_end,
    delivery_zone = :delivery_zone, rated_charge_power_kw = :rated_charge_power_kw,
    rated_discharge_power_kw = :rated_discharge_power_kw, energy_capacity_kwh = :energy_capacity_kwh,
    charge_efficiency = :charge_efficiency, discharge_efficiency = :discharge_efficiency,
    daily_cycle_limit = :daily_cycle_limit, is_daily_cycle_limit_named = :is_daily_cycle_limit_named,
    initial_soc = :initial_soc, last_soc_target = :last_soc_target,
    annual_cycle_limit = :annual_cycle_limit, final_soc_tolerance = :final_soc_tolerance,
    hurdle_price_eur = :hurdle_price_eur, minimum_availability = :minimum_availability, version = version + 1
where id = :id and item_id = :item_id
""")


async def insert_auction(db: Database, auction: Auction) -> None:
    await _INSERT.execute_part(db, _list_terms(auction))
    await db.execute("insert into auction_order (auction_id) values ($1)", auction.id)


async def update_terms(db: Database, auction: Auction) -> None:
    """Everything an operator sets; the item keeps its id."""
    await _UPDATE.execute_part(db, _list_terms(auction))


def _list_terms(auction: Auction) -> dict[str, object]:
    """Fields of the auction and its item, of which each statement takes those that it names."""
    item = auction.item
    return (
        values_of(item)
        | values_of(auction)
        | {
            "item_id": item.id,
            "opens_at": auction.open.start,
            "closes_at": auction.open.end,
            "delivery_start": item.delivery.start,
            "delivery_end": item.delivery.end,
        }
    )


async def replace_backing(db: Database, auction_id: UUID, backing: Sequence[BackingShare]) -> None:
    await db.execute("delete from auction_backing where auction_id = $1", auction_id)
    await db.execute(
        """
        insert into auction_backing (auction_id, physical_asset_id, share)
        select $1, physical_asset_id, share from unnest($2::uuid[], $3::float8[]) part(physical_asset_id, share)
        """,
        auction_id,
        [part.physical_asset_id for part in backing],
        [part.share for part in backing],
    )


async def replace_participants(db: Database, auction_id: UUID, organisation_ids: Sequence[UUID]) -> None:
    await db.execute(
        "delete from auction_participant where auction_id = $1 and organisation_id <> all($2::uuid[])",
        auction_id,
        organisation_ids,
    )
    await db.execute(
        """
        insert into auction_participant (auction_id, organisation_id)
        select $1, unnest($2::uuid[]) on conflict do nothing
        """,
        auction_id,
        organisation_ids,
    )


async def bump_version(db: Database, auction_id: UUID) -> None:
    await db.execute("update auction set version = version + 1 where id = $1", auction_id)


async def unknown_organisations(db: Database, organisation_ids: Sequence[UUID]) -> list[UUID]:
    rows = await db.fetch(
        "select asked from unnest($1::uuid[]) asked where not exists (select from organisation o where o.id = asked)",
        organisation_ids,
    )
    return [row["asked"] for row in rows]


async def unknown_physical_assets(db: Database, asset_ids: Sequence[UUID]) -> list[UUID]:
    rows = await db.fetch(
        """
        select asked from unnest($1::uuid[]) asked
        where not exists (select from asset a where a.id = asked and a.kind = 'PHYSICAL')
        """,
        asset_ids,
    )
    return [row["asked"] for row in rows]


async def read_revenue_readers(
    db: Database, battery_keys: Collection[int], organisation_ids: Collection[UUID]
) -> dict[UUID, bool]:
    """Those of the organisations that may read the revenue of one of the batteries, and whether as its owner."""
    rows = await db.fetch(
        """
        select organisation_id, bool_or(owned) as owned from (
          select organisation_id, true as owned from asset where key = any($1::int[])
          union all
          select organisation_id, false from asset_grant
          where asset_key = any($1::int[]) and permissions @> array['Read:revenue']
        ) as reader
        where organisation_id = any($2::uuid[]) group by organisation_id
        """,
        list(battery_keys),
        list(organisation_ids),
    )
    return {row["organisation_id"]: row["owned"] for row in rows}


async def was_invited(db: Database, physical_asset_id: UUID, organisation_id: UUID) -> bool:
    """To any auction on the battery that was not cancelled."""
    found = await db.fetchval(
        """
        select true from auction_participant p
        join auction_backing b on b.auction_id = p.auction_id
        join auction a on a.id = p.auction_id
        where p.organisation_id = $2 and b.physical_asset_id = $1 and a.state <> 'CANCELLED' limit 1
        """,
        physical_asset_id,
        organisation_id,
    )
    return found is not None


async def lock(db: Database, auction_id: UUID) -> bool:
    """Take the auction's lock until the transaction ends: no bid, clearing or change happens meanwhile."""
    row = await db.fetchval("select 1 from auction_order where auction_id = $1 for update", auction_id)
    return row is not None


async def lock_terms(db: Database, auction_id: UUID) -> None:
    """Hold off `read_locked_terms` too, until the transaction that changes the terms ends; after `lock`."""
    await db.execute("select from auction where id = $1 for no key update", auction_id)


async def read_locked_terms(db: Database, auction_id: UUID) -> Auction | None:
    """The auction after any change of its terms that is under way, and before the next one. Bids do not wait for it."""
    row = await db.fetchrow(
        compose("select {auction} from auction a where a.id = $1 for share", auction=_AUCTION), auction_id
    )
    return None if row is None else _read_auction(row)


async def read_auction(db: Database, auction_id: UUID) -> Auction | None:
    row = await db.fetchrow(compose("select {auction} from auction a where a.id = $1", auction=_AUCTION), auction_id)
    return None if row is None else _read_auction(row)


async def read_visible(db: Database, auction_id: UUID, organisation_id: UUID) -> VisibleAuction | None:
    """The auction, the clock, and what this organisation has to do with it; None where there is no such auction."""
    rows = await db.fetch(
        compose(
            """
        select {auction}, $3::timestamptz as now, p.organisation_id is not null as is_invited, {own_bid},
          exists (select 1 from auction_bid any_bid where any_bid.auction_id = $1 and any_bid.withdrawn_at is null)
            as has_standing_bid
        from auction a
        left join auction_participant p on p.auction_id = a.id and p.organisation_id = $2
        {join_own_bid}
        where a.id = $1
        """,
            auction=_AUCTION,
            own_bid=_OWN_BID,
            join_own_bid=_JOIN_OWN_BID,
        ),
        auction_id,
        organisation_id,
        await platform_now(db),
    )
    return _read_seen(rows[0]) if rows else None


_OWN_BID = """
  b.id as bid_id, b.organisation_id as bid_organisation_id, b.position as bid_position, b.sequence as bid_sequence,
  b.price_eur as bid_price_eur, b.placed_at as bid_placed_at
"""
_JOIN_OWN_BID = """
  left join lateral (
    select * from auction_bid own
    where own.auction_id = $1 and own.organisation_id = $2 and own.withdrawn_at is null
    order by own.position desc limit 1
  ) b on true
"""


_LIST_SEEN = NamedStatement(
    """
with seen as (
  select {auction}, p.organisation_id is not null as is_invited, coalesce(p.bids_made, 0) > 0 as has_bids,
    exists (select 1 from auction_bid any_bid
            where any_bid.auction_id = a.id and any_bid.withdrawn_at is null) as has_standing_bid,
    case
      when :sees_all and a.state <> 'SCHEDULED' then a.state
      when :sees_all and :now < a.opens_at then 'SCHEDULED'
      when :sees_all then 'RUNNING'
      when a.state <> 'CANCELLED' and :now < a.opens_at then 'NOT_STARTED'
      when a.state <> 'CANCELLED' and :now < a.closes_at then 'RUNNING'
      when a.state = 'SCHEDULED' then 'PENDING'
      when a.winner_id = :organisation_id then 'WON'
      when exists (select 1 from auction_bid own
                   where own.auction_id = a.id and own.organisation_id = :organisation_id and own.withdrawn_at is null)
        then 'LOST'
      else 'NO_BIDS_SUBMITTED'
    end as status
  from auction a
  left join auction_participant p on p.auction_id = a.id and p.organisation_id = :organisation_id
  where (:sees_all or p.organisation_id is not null)
    and (:after_opening::timestamptz is null or (a.opens_at, a.id) < (:after_opening, :after_id))
)
select * from seen where :statuses::text[] is null or status = any(:statuses)
order by opens_at desc, id desc limit :limit
""",
    auction=_AUCTION,
)


async def list_seen(
    db: Database,
    organisation_id: UUID,
    *,
    sees_all: bool,
    statuses: Sequence[VisibleStatus] | None,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[VisibleAuction]:
    """The newest opening first. sees_all: the operator's view, uninvited ones included, each with the state of its
    own."""
    now = await platform_now(db)
    after_opening, after_id = after or (None, None)
    rows = await _LIST_SEEN.fetch(
        db,
        sees_all=sees_all,
        organisation_id=organisation_id,
        after_opening=after_opening,
        after_id=after_id,
        statuses=[str(status) for status in statuses] if statuses else None,
        limit=limit,
        now=now,
    )
    bids = await _read_own_bids(db, organisation_id, [row["id"] for row in rows if row["has_bids"]])
    return [
        VisibleAuction(_read_auction(row), now, row["is_invited"], bids.get(row["id"]), row["has_standing_bid"])
        for row in rows
    ]


async def _read_own_bids(db: Database, organisation_id: UUID, auction_ids: Sequence[UUID]) -> dict[UUID, AuctionBid]:
    """The organisation's latest standing bids in these auctions."""
    if not auction_ids:
        return {}
    rows = await db.fetch(
        compose(
            """
        select distinct on (b.auction_id) b.auction_id, {own_bid} from auction_bid b
        where b.auction_id = any($1::uuid[]) and b.organisation_id = $2 and b.withdrawn_at is null
        order by b.auction_id, b.position desc
        """,
            own_bid=_OWN_BID,
        ),
        list(auction_ids),
        organisation_id,
    )
    return {row["auction_id"]: _read_own_bid(row) for row in rows}


async def read_delivery_window(db: Database, auction_id: UUID) -> Window:
    row = await db.fetchrow("select delivery_start, delivery_end from auction where id = $1", auction_id)
    assert row is not None, "its auction is locked"
    return Window(row["delivery_start"], row["delivery_end"])


async def read_backing(db: Database, auction_id: UUID) -> list[BackingShare]:
    rows = await db.fetch(
        "select physical_asset_id, share from auction_backing where auction_id = $1 order by physical_asset_id",
        auction_id,
    )
    return [BackingShare(row["physical_asset_id"], row["share"]) for row in rows]


async def read_backing_of_each(db: Database, auction_ids: Sequence[UUID]) -> dict[UUID, list[BackingShare]]:
    rows = await db.fetch(
        """select auction_id, physical_asset_id, share from auction_backing where auction_id = any($1::uuid[])
           order by auction_id, physical_asset_id""",
        list(auction_ids),
    )
    found: dict[UUID, list[BackingShare]] = {auction_id: [] for auction_id in auction_ids}
    for row in rows:
        found[row["auction_id"]].append(BackingShare(row["physical_asset_id"], row["share"]))
    return found


async def read_participants(db: Database, auction_id: UUID) -> list[UUID]:
    rows = await db.fetch(
        "select organisation_id from auction_participant where auction_id = $1 order by organisation_id", auction_id
    )
    return [row["organisation_id"] for row in rows]


async def cancel_auction(db: Database, auction_id: UUID, cancelled: Cancellation) -> None:
    await db.execute(
        """update auction set state = 'CANCELLED', cancelled_at = $2, cancelled_reason = $3, version = version + 1
           where id = $1""",
        auction_id,
        cancelled.at,
        cancelled.reason,
    )


async def set_cycle_limits(db: Database, auction_id: UUID, daily: float | None, annual: float | None) -> None:
    """Those that the batteries allow, where the operator has named none."""
    await db.execute(
        "update auction set daily_cycle_limit = $2, annual_cycle_limit = $3 where id = $1", auction_id, daily, annual
    )


_STORE_RESULT = NamedStatement("""
update auction
set state = 'CLEARED', outcome = :outcome, outcome_detail = :detail, winning_bid_id = :bid_id, winner_id = :winner_id,
    winning_price_eur = :price_eur, virtual_asset_id = :virtual_asset_id, cleared_at = :now, version = version + 1
where id = :id
""")


async def store_result(db: Database, auction_id: UUID, conclusion: ClearingResult) -> None:
    winner = conclusion.winner
    await _STORE_RESULT.execute(
        db,
        conclusion,
        id=auction_id,
        bid_id=winner and winner.id,
        winner_id=winner and winner.organisation_id,
        price_eur=winner and winner.price_eur,
        now=await platform_now(db),
    )


def _read_auction(row: asyncpg.Record) -> Auction:
    return read_row(
        Auction,
        row,
        open=Window(row["opens_at"], row["closes_at"]),
        item=read_row(Item, row, id=row["item_id"], delivery=Window(row["delivery_start"], row["delivery_end"])),
        state=AuctionState(row["state"]),
        outcome=ClearingOutcome(row["outcome"]) if row["outcome"] else None,
        cancelled=Cancellation(row["cancelled_at"], CancelReason(row["cancelled_reason"]))
        if row["cancelled_at"]
        else None,
    )


def _read_seen(row: asyncpg.Record) -> VisibleAuction:
    bid = None if row["bid_id"] is None else _read_own_bid(row)
    return VisibleAuction(_read_auction(row), row["now"], row["is_invited"], bid, row["has_standing_bid"])


def _read_own_bid(row: asyncpg.Record) -> AuctionBid:
    return AuctionBid(
        id=row["bid_id"],
        organisation_id=row["bid_organisation_id"],
        position=row["bid_position"],
        sequence=row["bid_sequence"],
        price_eur=row["bid_price_eur"],
        placed_at=row["bid_placed_at"],
        is_withdrawn=False,
    )
