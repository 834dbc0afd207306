"""A process that changes things, sequences events and calls webhooks until it is killed.

`python -m tests.platform.events.writer_process DSN ORGANISATION CHANGES`
"""

from __future__ import annotations

import asyncio
import random
import sys
from uuid import UUID

from tests.platform.events.happening import record

from gridloom.platform.database.commit import transaction
from gridloom.platform.database.listener import Listener
from gridloom.platform.database.pool import Pool, create_pool
from gridloom.platform.database.sealing import Seal
from gridloom.platform.events.sequencer import Sequencer
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.platform.webhooks.dispatcher import Dispatcher
from gridloom.platform.webhooks.http_client import WebhookClient


async def change(pool: Pool, organisation_id: UUID, changes: int) -> bool:
    """One change with its event; False when there are enough."""
    async with transaction(pool) as db:
        number = await db.fetchval("update counter set n = n + 1 where n < $1 returning n", changes)
        if number is None:
            return False
        await record(db, organisation_id, number)
        if random.random() < 0.1:
            await asyncio.sleep(0.005)
    return True


async def main(dsn: str, organisation_id: UUID, changes: int) -> None:
    pool = await create_pool(dsn, size=8)
    listener = Listener(dsn)
    dispatcher = Dispatcher(pool, WebhookClient(UrlPolicy(is_sandbox=True)), Seal(None, "webhook"))
    dispatcher.attach(listener)
    await Sequencer(pool).start()
    await dispatcher.start()
    await listener.start()
    print("ready", flush=True)

    async def keep_changing() -> None:
        while await change(pool, organisation_id, changes):
            await asyncio.sleep(random.uniform(0, 0.01))

    await asyncio.gather(*(keep_changing() for _ in range(3)))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2]), int(sys.argv[3])))
