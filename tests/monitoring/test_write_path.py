"""A request with points passes through few files, so that a newcomer can follow it."""

from __future__ import annotations

from typing import Any

from tests.assets import register_asset
from tests.code_paths import noted_files

MAX_FILES = 33


async def test_a_request_with_points_passes_through_at_most_33_files(new_organisation: Any):
    owner = await new_organisation()
    asset = await register_asset(owner)

    async def post(minute: int) -> None:
        body = {"active_power": {"time": [f"2026-01-05T10:{minute}:00Z"], "value": [812.5]}}
        answer = await owner.admin.post(f"/monitoring/{asset.id}/datapoints", json=body)
        assert answer.json()["written"] == 1, answer.text

    for minute in range(10, 13):
        await post(minute)  # what is cached is known then
    with noted_files() as files:
        await post(20)
    assert len(files) <= MAX_FILES, sorted(files)
