"""A PUT of a schedule passes through so many files, which a newcomer reads to follow it, and through no more."""

from __future__ import annotations

from tests.code_paths import noted_files
from tests.virtual_assets.conftest import MakeBattery

MAX_FILES = 45
"""It only ever goes down."""


async def test_a_put_of_a_schedule_passes_through_at_most_45_files(make_battery: MakeBattery) -> None:
    battery = await make_battery()
    for power in (100.0, 200.0, 300.0):
        assert (await battery.put([power, -power])).status_code == 200  # what is cached is known then
    with noted_files() as files:
        assert (await battery.put([400.0, -400.0])).status_code == 200
    assert len(files) <= MAX_FILES, "\n".join(sorted(files))
