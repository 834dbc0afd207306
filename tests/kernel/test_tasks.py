"""Ending tasks of the event loop."""

from __future__ import annotations

import asyncio

import pytest

from gridloom.kernel.tasks import cancel_and_wait

pytestmark = pytest.mark.pure


class TestATask:
    async def test_that_is_cancelled_has_ended_when_the_wait_is_over(self) -> None:
        ended = []

        async def work() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        task = asyncio.create_task(work())
        await asyncio.sleep(0)
        await cancel_and_wait(task)
        assert (task.cancelled(), ended) == (True, [True])

    async def test_that_was_never_started_needs_no_end(self) -> None:
        await cancel_and_wait(None)
