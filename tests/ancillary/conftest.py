"""A market whose gates have long been open, for deliveries on the days of clock changes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.conftest import migrated_database, running
from tests.people import People

if TYPE_CHECKING:
    from gridloom.settings import Settings


@pytest.fixture(scope="module")
async def open_gates(settings: Settings) -> AsyncIterator[People]:
    """`await open_gates.new_organisation()`: on a service that takes bids years ahead."""
    async with migrated_database() as url:
        asked = replace(settings, database_url=url, gate_opening_fcr_days=3000, gate_opening_afrr_days=3000)
        async with running(asked) as edge, People(edge) as people:
            await people.operator()
            yield people
