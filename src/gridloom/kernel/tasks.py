"""Ending tasks of the event loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any


async def cancel_and_wait(task: asyncio.Task[Any] | None) -> None:
    """Cancel a task and wait until it has ended; None where none was started."""
    if task is not None:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
