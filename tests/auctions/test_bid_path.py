"""A bid passes through few files, so that a newcomer can follow it."""

from __future__ import annotations

from tests.auctions.conftest import Market
from tests.code_paths import noted_files

MAX_FILES = 25


async def test_a_bid_passes_through_at_most_25_files(market: Market):
    auction = (await market.operator.post("/auctions", json=await market.terms())).json()
    bids, trader = f"/auctions/{auction['id']}/bids", market.traders[0].admin
    assert (await trader.post(bids, json={"price": 100})).status_code == 201  # leases and caches are filled
    with noted_files() as files:
        answer = await trader.post(bids, json={"price": 101})
    assert answer.status_code == 201, answer.text
    assert len(files) <= MAX_FILES, sorted(files)
