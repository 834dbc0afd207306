"""The service's clock."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gridloom_client.errors import NotFoundError

if TYPE_CHECKING:
    from gridloom_client.client import Client


def service_time(client: Client) -> datetime:
    """The sandbox's clock where there is one; in production this machine's."""
    try:
        return client.sandbox.clock().now
    except NotFoundError:
        return datetime.fromtimestamp(time.time(), UTC)
