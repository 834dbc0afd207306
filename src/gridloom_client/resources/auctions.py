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
        """Those to which the caller's organisation is invited."""

    @operation("GET", "/auctions/{auctionID}")
    def get(self, auction_id: ID) -> Auction: ...

    @operation("POST", "/auctions/{auctionID}/bids")
    def bid(self, auction_id: ID, *, price: Decimal | str, idempotency_key: str | None = None) -> Bid:
        """The latest standing bid counts. The price is exact: a Decimal, or a string such as "1250.50"."""

    @collection("/auctions/{auctionID}/bids")
    def bids(self, auction_id: ID, *, page_size: int | None = None) -> Bid:
        """The caller's own."""

    @operation("DELETE", "/auctions/{auctionID}/bids/{bidID}")
    def withdraw(self, auction_id: ID, bid_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("POST", "/auctions/{auctionID}/valuations")
    def value(
        self, auction_id: ID, *, basis: ValuationBasis = "POLICY", idempotency_key: str | None = None
    ) -> Valuation:
        """Expected earnings of the battery; `basis` is FORESIGHT or POLICY. No other party sees the request."""

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
        """`item` is the virtual battery, `backing` a list of `{physicalAssetID, share}` whose shares sum to 1.

        Where less than `minimum_availability` of the item is deliverable at the end, the auction is cancelled.
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
        """Until it opens."""

    @operation("DELETE", "/auctions/{auctionID}")
    def cancel(self, auction_id: ID, *, if_match: str | None = None) -> None: ...

    @operation("PUT", "/auctions/{auctionID}/participants")
    def set_participants(self, auction_id: ID, body: Sequence[ID], *, if_match: str | None = None) -> Auction:
        """Who is invited, all of them."""

    @operation("GET", "/auctions/{auctionID}/results")
    def results(self, auction_id: ID, *, page_size: int | None = None, cursor: str | None = None) -> AuctionResults:
        """Bids by rank, each with why it won or lost; where there are more, the answer's `next_cursor` leads on."""
