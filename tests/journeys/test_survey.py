"""The survey drives every operation once, each in a scene where it has something to do."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.conftest import migrated_database

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
class TestTheSurvey:
    async def test_finds_every_operation_as_it_should_be(self) -> None:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GRIDLOOM_")}
        async with migrated_database() as url:
            survey = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bench.survey", url),
                cwd=REPOSITORY,
                env=environment,
                stdout=asyncio.subprocess.PIPE,
            )
            printed, _ = await survey.communicate()
        assert survey.returncode == 0, printed.decode()
        assert b", 0 not as they should be" in printed
