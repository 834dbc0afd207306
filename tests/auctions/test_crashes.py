"""Whatever dies: each auction is cleared once and whole. The full size of this is `python -m bench auctions_crash`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import UUID

from bench.auctions_crash import storm
from tests.auctions.conftest import bid, make_market
from tests.conftest import migrated_database, running

from gridloom.settings import Settings


class TestClearingUnderKills:
    async def test_leaves_one_winner_and_one_whole_asset_or_none_and_a_reason(self, settings: Settings):
        """Three processes race over a dozen auctions that close at once, and are killed with -9 again and again."""
        async with migrated_database() as url:
            auctions = []
            async with running(replace(settings, database_url=url)) as edge, AsyncExitStack() as stack:
                market = await make_market(edge, stack, traders=2)
                for number in range(12):
                    if number % 4 == 0:
                        battery = await market.battery(16_000)  # three of its four auctions get a valid bid
                    auction = await market.auction(battery, hurdlePrice=50)
                    auctions.append(UUID(auction))
                    for trader, price in zip(market.traders, (40, 45) if number % 4 == 3 else (60, 70), strict=True):
                        assert (await bid(trader, auction, price)).status_code == 201
            found = await storm(url, auctions, processes=3)
        assert found.wrong == []
        assert found.kills > 0
        assert found.outcomes == {"ALLOCATED": 9, "NO_VALID_BID": 3}
