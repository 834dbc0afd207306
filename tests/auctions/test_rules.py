"""Who wins, checked against a model short enough to be obvious."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.auctions.standing import standing_bids

from gridloom.auctions.clearing import name_of
from gridloom.auctions.model import (
    Auction,
    AuctionBid,
    AuctionState,
    BidFate,
    ClearingOutcome,
    Item,
)
from gridloom.auctions.rules import (
    AuctionFrozen,
    UnfitAuction,
    check_cancellable,
    check_changeable,
    check_terms,
    fate_of,
    winning_bid,
)
from gridloom.kernel.ids import PhysicalAssetID
from gridloom.kernel.problem import BadRequest
from gridloom.kernel.window import Window
from gridloom.virtual_assets.model import BackingShare

pytestmark = pytest.mark.pure

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)

prices = st.integers(1, 5).map(lambda euros: Decimal(euros))
histories = st.lists(st.tuples(st.integers(0, 3), prices, st.booleans()), max_size=30)


def bids_of(history: list[tuple[int, Decimal, bool]]) -> list[AuctionBid]:
    own = [[who for who, *_ in history[:position]].count(who) for position, (who, *_) in enumerate(history)]
    return [
        AuctionBid(
            id=UUID(int=position),
            organisation_id=UUID(int=organisation),
            position=position,
            sequence=1 + own[position - 1],
            price_eur=price,
            placed_at=NOON,
            is_withdrawn=is_withdrawn,
        )
        for position, (organisation, price, is_withdrawn) in enumerate(history, start=1)
    ]


def auction_in(state: AuctionState) -> Auction:
    """Open from noon to one."""
    item = Item.__new__(Item)  # of no account here
    open_ = Window(NOON, NOON + timedelta(hours=1))
    nothing = (None,) * 7
    return Auction(UUID(int=1), open_, item, None, 0.5, state, *nothing, None, 1)


def item_over(delivery: Window) -> Item:
    return Item(UUID(int=1), delivery, "TenneT", 11_000.0, 12_500.0, 25_000.0, 0.9, 0.85, None, 0.5, 0.4, 0.01)


class TestNewTerms:
    @pytest.mark.parametrize(
        ("closes_min", "delivers_min", "fault"),
        [(60, 60, None), (60, 45, "/item/start"), (0, 60, "/end"), (-15, 60, "/end"), (1, 15, None)],
    )
    def test_close_after_now_and_not_after_delivery_has_begun(
        self, closes_min: int, delivers_min: int, fault: str | None
    ):
        opening = Window(NOON - timedelta(hours=1), NOON + timedelta(minutes=closes_min))
        start = NOON + timedelta(minutes=delivers_min)
        item = item_over(Window(start, start + timedelta(hours=4)))
        backing = [BackingShare(PhysicalAssetID(UUID(int=2)), 1.0)]
        if fault is None:
            check_terms(opening, item, backing, NOON)
            return
        with pytest.raises(UnfitAuction) as refused:
            check_terms(opening, item, backing, NOON)
        assert [error.pointer for error in refused.value.errors] == [fault]

    @pytest.mark.parametrize(("days", "is_fit"), [(3660, True), (3661, False)])
    def test_are_of_an_asset_of_ten_years_at_most(self, days: int, is_fit: bool):
        opening, start = Window(NOON, NOON + timedelta(hours=1)), NOON + timedelta(hours=2)
        item = item_over(Window(start, start + timedelta(days=days)))
        backing = [BackingShare(PhysicalAssetID(UUID(int=2)), 1.0)]
        if is_fit:
            check_terms(opening, item, backing, NOON)
            return
        with pytest.raises(BadRequest) as refused:
            check_terms(opening, item, backing, NOON)
        assert [error.pointer for error in refused.value.errors] == ["/item/end"]


class TestAnAuctionsTerms:
    BEFORE, DURING, AFTER = (NOON + timedelta(hours=hours) for hours in (-1, 0, 1))

    def test_are_changed_before_it_opens_and_never_after(self):
        check_changeable(auction_in(AuctionState.SCHEDULED), self.BEFORE)
        for moment in (self.DURING, self.AFTER):
            with pytest.raises(AuctionFrozen, match="has opened"):
                check_changeable(auction_in(AuctionState.SCHEDULED), moment)
        for state in (AuctionState.CLEARED, AuctionState.CANCELLED):
            with pytest.raises(AuctionFrozen, match=state.lower()):
                check_changeable(auction_in(state), self.BEFORE)

    def test_are_cancelled_until_it_closes(self):
        for moment in (self.BEFORE, self.DURING):
            check_cancellable(auction_in(AuctionState.SCHEDULED), moment)
        with pytest.raises(AuctionFrozen, match="has closed"):
            check_cancellable(auction_in(AuctionState.SCHEDULED), self.AFTER)
        for state in (AuctionState.CLEARED, AuctionState.CANCELLED):
            with pytest.raises(AuctionFrozen, match=state.lower()):
                check_cancellable(auction_in(state), self.BEFORE)


def reference_winner(history: list[tuple[int, Decimal, bool]], hurdle: Decimal | None) -> int | None:
    """The position of the winning bid, said as plainly as the rules are."""
    latest: dict[int, tuple[Decimal, int]] = {}
    for position, (organisation, price, is_withdrawn) in enumerate(history, start=1):
        if not is_withdrawn:
            latest[organisation] = (price, position)
    best: tuple[Decimal, int] | None = None
    for price, position in latest.values():
        if hurdle is not None and price < hurdle:
            continue
        if best is None or price > best[0] or (price == best[0] and position < best[1]):
            best = (price, position)
    return None if best is None else best[1]


class TestTheWinningBid:
    @given(histories, st.none() | prices)
    def test_is_that_of_the_reference(self, history: list[tuple[int, Decimal, bool]], hurdle: Decimal | None):
        winner = winning_bid(standing_bids(bids_of(history)), hurdle)
        assert (winner.position if winner else None) == reference_winner(history, hurdle)

    def test_is_the_earliest_of_equal_prices(self):
        bids = bids_of([(0, Decimal(7), False), (1, Decimal(7), False)])
        winner = winning_bid(standing_bids(bids), None)
        assert winner is not None
        assert winner.position == 1

    def test_is_the_earliest_of_all_whichever_of_its_own_it_is(self):
        bids = bids_of([(0, Decimal(3), False), (0, Decimal(7), False), (1, Decimal(7), False)])
        winner = winning_bid(standing_bids(bids), None)
        assert winner is not None
        assert (winner.position, winner.sequence) == (2, 2)

    def test_is_placed_anew_when_an_organisation_repeats_its_price(self):
        bids = bids_of([(0, Decimal(7), False), (1, Decimal(7), False), (0, Decimal(7), False)])
        winner = winning_bid(standing_bids(bids), None)
        assert winner is not None
        assert winner.position == 2

    def test_at_the_hurdle_price_is_valid(self):
        bids = bids_of([(0, Decimal(7), False)])
        assert winning_bid(bids, Decimal(7)) is not None
        assert winning_bid(bids, Decimal("7.01")) is None


class TestTheFateOfABid:
    @given(histories.filter(bool), st.none() | prices, st.booleans())
    def test_is_won_for_one_bid_at_most(
        self, history: list[tuple[int, Decimal, bool]], hurdle: Decimal | None, has_capacity: bool
    ):
        bids = bids_of(history)
        standing = standing_bids(bids)
        best = winning_bid(standing, hurdle)
        outcome = ClearingOutcome.NO_VALID_BID
        if best is not None:
            outcome = ClearingOutcome.ALLOCATED if has_capacity else ClearingOutcome.CAPACITY_GONE
        fates = [
            fate_of(bid, is_standing=bid in standing, hurdle_price_eur=hurdle, outcome=outcome, best=best)
            for bid in bids
        ]
        assert fates.count(BidFate.WON) == (outcome is ClearingOutcome.ALLOCATED)


class TestTheNameOfWhatIsWon:
    @pytest.mark.parametrize(
        ("start", "end", "name"),
        [
            ("2026-11-13T23:00Z", "2026-11-20T23:00Z", "TenneT 12.5 MW, 14–20 Nov"),
            ("2026-10-24T22:00Z", "2026-10-25T23:00Z", "TenneT 12.5 MW, 25 Oct"),
            ("2026-12-27T23:00Z", "2027-01-03T23:00Z", "TenneT 12.5 MW, 28 Dec – 3 Jan"),
            ("2026-11-13T23:00Z", "2027-11-20T23:00Z", "TenneT 12.5 MW, 14 Nov – 20 Nov"),
        ],
    )
    def test_says_where_how_large_and_on_which_days(self, start: str, end: str, name: str):
        delivery = Window(datetime.fromisoformat(start), datetime.fromisoformat(end))
        assert name_of(item_over(delivery)) == name
