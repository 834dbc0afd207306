"""A bid passes through few files, so that a newcomer can follow it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import FrameType

from tests.auctions.conftest import Market

import gridloom

SOURCE = str(Path(gridloom.__file__).parent)
MAX_FILES = 25


async def test_a_bid_passes_through_at_most_25_files(market: Market):
    auction = (await market.operator.post("/auctions", json=await market.terms())).json()
    bids, trader = f"/auctions/{auction['id']}/bids", market.traders[0].admin
    files: set[str] = set()
    task = asyncio.current_task()

    def note_file(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if name.startswith(SOURCE) and event == "call" and asyncio.current_task() is task:
            files.add(name.removeprefix(SOURCE))

    assert (await trader.post(bids, json={"price": 100})).status_code == 201  # leases and caches are filled
    sys.setprofile(note_file)
    try:
        answer = await trader.post(bids, json={"price": 101})
    finally:
        sys.setprofile(None)
    assert answer.status_code == 201, answer.text
    assert len(files) <= MAX_FILES, sorted(files)
