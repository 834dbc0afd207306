"""Results for the operator once an auction is cleared: every bid, ranked, and why each lost."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

from gridloom.auctions import bid_store
from gridloom.auctions.routes import authorize_auction
from gridloom.auctions.rules import fate_of, winning_bid
from gridloom.auctions.wire import RankedBid, ResultsView
from gridloom.kernel.permission import Permission
from gridloom.kernel.problem import Conflict
from gridloom.platform.http import Paging, Request, Response, operation
from gridloom.platform.http.fields import view_of
from gridloom.platform.http.paging import next_link

TAG = "Auctions"


class AuctionNotCleared(Conflict, title="The auction has no results"):
    """Results exist once the auction has closed and was cleared, which takes a few seconds at the most. A cancelled
    auction has none."""


@operation(
    "GET",
    "/auctions/{auctionID}/results",
    summary="Every bid of a cleared auction, ranked",
    access=Permission.MANAGE_AUCTIONS,
    problems=(AuctionNotCleared,),
    replica_read=True,
)
async def read_results(request: Request, auction_id: UUID, query: Paging) -> Response[ResultsView]:
    """From the highest price down, the earlier of equal ones first; `limit` and `cursor` page through the bids."""
    auction = (await authorize_auction(request.db, request.caller, auction_id)).auction
    if auction.outcome is None or auction.cleared_at is None:
        raise AuctionNotCleared("The auction is not cleared.")
    after = query.after(tuple[Decimal, int, int])
    best = winning_bid(await bid_store.read_standing_bids(request.db, auction_id), auction.hurdle_price_eur)
    rows = await bid_store.read_ranked_bids(
        request.db, auction_id, after=after[:2] if after else None, limit=query.limit + 1
    )
    first_rank = after[2] + 1 if after else 1
    ranked = [
        view_of(
            RankedBid,
            bid,
            rank=first_rank + index,
            timestamp=bid.placed_at,
            fate=fate_of(
                bid,
                is_standing=is_standing,
                hurdle_price_eur=auction.hurdle_price_eur,
                outcome=auction.outcome,
                best=best,
            ),
        )
        for index, (bid, is_standing) in enumerate(rows)
    ]
    page = query.page(ranked, lambda bid: (bid.price, bid.position, bid.rank))
    return Response(
        view_of(ResultsView, auction, auction_id=auction_id, detail=auction.outcome_detail, bids=list(page.items)),
        headers={"Link": next_link(request.target, page.next_cursor)} if page.next_cursor else {},
    )
