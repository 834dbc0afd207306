"""A bid passes through so many files, which a newcomer reads to follow it, and through no more."""

from __future__ import annotations

from tests.auctions.conftest import Market, bid
from tests.code_paths import noted_files

MAX_FILES = 23
"""It only ever goes down."""


async def test_a_bid_passes_through_at_most_23_files(market: Market) -> None:
    auction = await market.auction()
    await market.advance("PT11M")
    for price in (1000, 1001, 1002):
        assert (await bid(market.traders[0], auction, price)).status_code == 201  # what is cached is known then
    with noted_files() as files:
        assert (await bid(market.traders[0], auction, 1003)).status_code == 201
    assert len(files) <= MAX_FILES, "\n".join(sorted(files))
