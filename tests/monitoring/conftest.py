"""An owner and an asset to write points for."""

from __future__ import annotations

from typing import Any

import pytest
from tests.assets import register_asset


@pytest.fixture
async def owner(new_organisation: Any) -> Any:
    return await new_organisation()


@pytest.fixture
async def asset(owner: Any) -> str:
    return str((await register_asset(owner)).id)
