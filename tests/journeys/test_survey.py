"""The survey drives every operation once, each in a scene where it has something to do."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
class TestTheSurvey:
    async def test_finds_every_operation_as_it_should_be_also_where_a_standby_that_lags_answers_reads(self) -> None:
        printed = await drive("--standby", "--lag", "20ms")
        asked = re.search(r"was asked for rows ([\d,]+) times", printed)
        assert asked is not None
        assert int(asked[1].replace(",", "")) > 0


async def drive(*arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRIDLOOM_")}
    survey = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.api_coverage", *arguments),
        cwd=REPOSITORY,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
    )
    printed = (await survey.communicate())[0].decode()
    assert survey.returncode == 0, printed
    assert ", 0 not as they should be" in printed
    return printed
