"""What a store says about bids and auctions in SQL is what the rules say in Python."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.auctions.standing import standing_bids

from gridloom.auctions import bid_store, store
from gridloom.auctions.model import AuctionBid, VisibleStatus
from gridloom.auctions.rules import own_state, status_for
from gridloom.kernel.ids import uuid7
from gridloom.platform.database.clock import platform_now
from gridloom.platform.database.pool import Database
from gridloom.platform.http.application import Application

ORGANISATIONS = 3


@dataclass(frozen=True)
class Case:
    """An auction by the hours from now at which it opens and closes, what became of it, and its bids in order."""

    opens_h: int
    closes_h: int
    state: str
    winner: int | None
    bids: Sequence[tuple[int, int, bool]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    opens_h, closes_h = sorted(draw(st.sets(st.sampled_from([-2, -1, 0, 1, 2]), min_size=2, max_size=2)))
    state = draw(st.sampled_from(["SCHEDULED", "CLEARED", "CANCELLED"]))
    winner = draw(st.none() | st.integers(0, ORGANISATIONS - 1)) if state == "CLEARED" else None
    bids = st.tuples(st.integers(0, ORGANISATIONS - 1), st.integers(1, 3), st.booleans())
    return Case(opens_h, closes_h, state, winner, draw(st.lists(bids, max_size=8)))


async def insert_case(
    db: Database, case: Case, now: datetime, organisations: Sequence[UUID]
) -> tuple[UUID, list[AuctionBid]]:
    auction_id = uuid7()
    winner = None if case.winner is None else organisations[case.winner]
    cleared_as = "NO_VALID_BID" if winner is None else "ALLOCATED"
    await db.execute(
        """
        insert into auction (id, opens_at, closes_at, item_id, delivery_start, delivery_end, delivery_zone,
          rated_charge_power_kw, rated_discharge_power_kw, energy_capacity_kwh, charge_efficiency,
          discharge_efficiency, initial_soc, last_soc_target, final_soc_tolerance, state, outcome,
          winning_bid_id, winner_id, winning_price_eur, virtual_asset_id, cancelled_at, cancelled_reason)
        values ($1, $2, $3, $1, '2030-01-01', '2030-01-02', 'TenneT', 1, 1, 1, 1, 1, 0.5, 0.5, 0.01, $4, $5,
          $6, $7, $8, $6, $9, case when $9::timestamptz is null then null else 'BY_OPERATOR' end)
        """,
        auction_id, now + timedelta(hours=case.opens_h), now + timedelta(hours=case.closes_h), case.state,
        cleared_as if case.state == "CLEARED" else None, winner and auction_id, winner, winner and Decimal(1),
        now if case.state == "CANCELLED" else None,
    )  # fmt: skip
    await db.execute("insert into auction_participant select $1, unnest($2::uuid[])", auction_id, organisations)
    bids = [
        AuctionBid(
            uuid7(), organisations[who], position, position, Decimal(price), now.replace(microsecond=0), is_withdrawn
        )
        for position, (who, price, is_withdrawn) in enumerate(case.bids, start=1)
    ]
    for bid in bids:
        await db.execute(
            """
            insert into auction_bid (auction_id, position, id, organisation_id, sequence, price_eur, placed_at,
              placed_by, withdrawn_at)
            values ($1, $2, $3, $4, $5, $6, $7, $3, $8)
            """,
            auction_id, bid.position, bid.id, bid.organisation_id, bid.sequence, bid.price_eur, bid.placed_at,
            bid.placed_at if bid.is_withdrawn else None,
        )  # fmt: skip
    return auction_id, bids


async def list_by_status(db: Database, viewer: UUID, *, sees_all: bool) -> dict[UUID, VisibleStatus]:
    found: dict[UUID, VisibleStatus] = {}
    for status in VisibleStatus:
        seen = await store.list_seen(db, viewer, sees_all=sees_all, statuses=[status], after=None, limit=100_000)
        assert not found.keys() & {one.auction.id for one in seen}
        found |= {one.auction.id: status for one in seen}
    return found


class TestWhatTheStoreFinds:
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(cases(), min_size=1, max_size=5))
    async def test_is_what_the_rules_say(self, app: Application, drawn: list[Case]):
        async with app.pool.acquire() as db:
            now = (await platform_now(db)).replace(microsecond=0)

            async def stopped_clock(_: Database) -> datetime:
                return now

            trial = db.transaction()
            await trial.start()
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(store, "platform_now", stopped_clock)
                try:
                    await self.compare(db, drawn, now)
                finally:
                    await trial.rollback()

    async def compare(self, db: Database, drawn: list[Case], now: datetime) -> None:
        organisations = [uuid7() for _ in range(ORGANISATIONS)]
        await db.execute(
            "insert into organisation (id, name, kind) select id, id::text, 'PARTICIPANT' from unnest($1::uuid[]) id",
            organisations,
        )
        viewer = organisations[0]
        made = [await insert_case(db, case, now, organisations) for case in drawn]
        for_viewer = await list_by_status(db, viewer, sees_all=False)
        for_operator = await list_by_status(db, viewer, sees_all=True)
        for auction_id, bids in made:
            standing = {bid.organisation_id: bid for bid in standing_bids(bids)}
            stored = {bid.organisation_id: bid for bid in await bid_store.read_standing_bids(db, auction_id)}
            assert stored == standing
            ranked = await bid_store.read_ranked_bids(db, auction_id, after=None, limit=100)
            assert {bid.id for bid, is_standing in ranked if is_standing} == {bid.id for bid in standing.values()}
            in_order = sorted(bids, key=lambda bid: (-bid.price_eur, bid.position))
            assert [bid for bid, _ in ranked] == in_order
            assert await bid_store.read_ranked_bids(db, auction_id, after=None, limit=2) == ranked[:2]
            seen = await store.read_visible(db, auction_id, viewer)
            assert seen is not None
            assert seen.bid == standing.get(viewer)
            status = status_for(
                seen.auction, now=now, organisation_id=viewer, has_standing_bid=standing.get(viewer) is not None
            )
            assert for_viewer.get(auction_id) == str(status)
            assert for_operator[auction_id] == str(own_state(seen.auction, now))
