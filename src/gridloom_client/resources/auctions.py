"""Auctions of virtual batteries."""

# mypy: disable-error-code="empty-body"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from gridloom_client.answers import Auction, AuctionResults, Bid, Valuation
from gridloom_client.inputs import Backing, Item
from gridloom_client.literals import AuctionStatus, ValuationBasis
from gridloom_client.operations import M, Resource, collection, operation
from gridloom_client.wire import ID, UNSET, UnsetType


class Auctions(Resource[M]):
    """Prices in EUR for the whole delivery window."""

    @collection("/auctions")
    def list(
        self, *, status: AuctionStatus | Sequence[AuctionStatus] | None = None, page_size: int | None = None
    ) -> Auction:
        """List auctions.

        Those to which your organisation is invited, the newest opening first, each with your own status. A cancelled
        one stays, with when and why. The operator's list has all, each with the auction's own state: `SCHEDULED`,
        `RUNNING` until it is cleared, `CLEARED` or `CANCELLED`, and its outcome, winner and price.

        Args:
            status: Only auctions of these statuses, separated by commas
            page_size: How many items are fetched at a time
        """

    @operation("GET", "/auctions/{auctionID}")
    def get(self, auction_id: ID) -> Auction:
        """Read an auction.

        `status` is the caller's own. The operator reads the auction's state instead.

        Args:
            auction_id: The auction
        """

    @operation("POST", "/auctions/{auctionID}/bids")
    def bid(self, auction_id: ID, *, price: Decimal | str, idempotency_key: str | None = None) -> Bid:
        """Place a bid.

        A 201 means that the bid counts. An organisation's latest standing bid is its bid; no other one sees it.

        Args:
            auction_id: The auction
            price: EUR, at most 2 decimals
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out

        Note:
            The price is exact: a Decimal, or a string such as "1250.50".

        Example:
            client.auctions.bid("01890a5d-ac96-774b-bcce-b302099a8057", price="1250.50")
        """

    @collection("/auctions/{auctionID}/bids")
    def bids(self, auction_id: ID, *, page_size: int | None = None) -> Bid:
        """List your own bids.

        Newest first, withdrawn ones included.

        Args:
            auction_id: The auction
            page_size: How many items are fetched at a time
        """

    @operation("DELETE", "/auctions/{auctionID}/bids/{bidID}")
    def withdraw(self, auction_id: ID, bid_id: ID, *, if_match: str | None = None) -> None:
        """Withdraw a bid while the auction is open.

        An earlier bid of yours that was not withdrawn counts again.

        Args:
            auction_id: The auction
            bid_id: The bid
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("POST", "/auctions/{auctionID}/valuations")
    def value(
        self, auction_id: ID, *, basis: ValuationBasis = "POLICY", idempotency_key: str | None = None
    ) -> Valuation:
        """Value an auction before bidding.

        The auctioned battery's expected earnings on the day-ahead market over its delivery window, and how sure that
        is. For organisations that are invited. Nothing is kept of it, in no log that others can read.

        Args:
            auction_id: The auction
            basis: FORESIGHT: all prices known in advance; POLICY: planned on forecasts, day after day
            idempotency_key: A key under which the request takes effect once; a new one for each call when left out
        """

    # --- for the operator ---

    @operation("POST", "/auctions")
    def create(
        self,
        *,
        start: datetime,
        end: datetime,
        item: Item | Mapping[str, Any],
        backing: Sequence[Backing] | Sequence[Mapping[str, Any]],
        participants: Sequence[ID],
        hurdle_price: Decimal | str | None = None,
        minimum_availability: float | None = None,
    ) -> Auction:
        """Create an auction.

        The operator offers a virtual battery over a delivery window, backed by physical ones, to those invited. It
        takes its capacity out of the batteries' books at once, until it is cleared or cancelled; what they do not have
        free cannot be auctioned. Who owns a backing battery, or may read its revenue, cannot be invited.

        Args:
            start: When bidding opens
            end: When bidding closes, exclusive
            item: The virtual battery on offer
            backing: Physical assets behind it, each with its share
            participants: Organisations invited to bid
            hurdle_price: Lowest valid price, EUR
            minimum_availability: Least deliverable share of the item at the end, 0 to 1; below it, cancelled

        Note:
            `item` is the virtual battery, `backing` a list of `{physicalAssetID, share}` whose shares sum to 1.

            Where less than `minimum_availability` of the item is deliverable at the end, the auction is cancelled.

        Example:
            client.auctions.create(
                start=datetime.fromisoformat("2026-03-29T00:00:00+00:00"),
                end=datetime.fromisoformat("2026-03-30T00:00:00+00:00"),
                item={'start': '2026-03-29T00:00:00Z',
                 'end': '2026-03-30T00:00:00Z',
                 'deliveryZone': 'TenneT',
                 'ratedChargePower': 10000,
                 'ratedDischargePower': 10000,
                 'energyCapacity': 20000,
                 'chargeEfficiency': 0.94,
                 'dischargeEfficiency': 0.94,
                 'dailyCycleLimit': 2,
                 'initialSoC': 0.5,
                 'lastSoCTarget': 0.5,
                 'finalSoCTolerance': 0.01},
                backing=[{'physicalAssetID': '01890a5d-ac96-774b-bcce-b302099a8057', 'share': 1}],
                participants=['01890a5d-ac96-774b-bcce-b302099a8057'],
            )
        """

    @operation("PATCH", "/auctions/{auctionID}")
    def update(
        self,
        auction_id: ID,
        *,
        start: datetime | UnsetType = UNSET,
        end: datetime | UnsetType = UNSET,
        item: Item | Mapping[str, Any] | UnsetType = UNSET,
        hurdle_price: Decimal | str | UnsetType | None = UNSET,
        minimum_availability: float | UnsetType = UNSET,
        backing: Sequence[Backing] | Sequence[Mapping[str, Any]] | UnsetType = UNSET,
        if_match: str | None = None,
    ) -> Auction:
        """Change an auction before it opens.

        Only before the auction opens. Only the given fields change.

        Args:
            auction_id: The auction
            start: When bidding opens
            end: When bidding closes, exclusive
            item: The virtual battery on offer
            hurdle_price: Lowest valid price, EUR
            minimum_availability: Least deliverable share of the item at the end, 0 to 1; below it, cancelled
            backing: Physical assets behind it, each with its share
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("DELETE", "/auctions/{auctionID}")
    def cancel(self, auction_id: ID, *, if_match: str | None = None) -> None:
        """Cancel an auction before it closes.

        Its participants see when and why, its bids come to nothing, and its capacity is free again.

        Args:
            auction_id: The auction
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise
        """

    @operation("PUT", "/auctions/{auctionID}/participants")
    def set_participants(self, auction_id: ID, body: Sequence[ID], *, if_match: str | None = None) -> Auction:
        """Invite organisations before an auction opens.

        Replaces the whole list, given by itself or as `participants`.

        Args:
            auction_id: The auction
            body: Structs of `gridloom_client.inputs` or mappings with the interface's names; a frame where one is taken
            if_match: The ETag that the resource must still have; PreconditionFailedError otherwise

        Example:
            client.auctions.set_participants(
                "01890a5d-ac96-774b-bcce-b302099a8057",
                ['01890a5d-ac96-774b-bcce-b302099a8057'],
            )
        """

    @operation("GET", "/auctions/{auctionID}/results")
    def results(self, auction_id: ID, *, page_size: int | None = None, cursor: str | None = None) -> AuctionResults:
        """Every bid of a cleared auction, ranked.

        From the highest price down, the earlier of equal ones first; `limit` and `cursor` page through the bids.

        Args:
            auction_id: The auction
            page_size: How many items are fetched at a time
            cursor: Where the page starts, from the `Link` header of the page before

        Note:
            Bids by rank, each with why it won or lost; where there are more, the answer's `next_cursor` leads on.
        """
