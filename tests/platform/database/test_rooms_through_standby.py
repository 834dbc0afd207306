"""Rooms whose operations a replica may answer, tested through a real standby.

`make test STANDBY=1` does so with all of the tests that have a database; these are a few that always run. (Every
operation once, before a standby that lags, is the survey's: tests/journeys/test_survey.py.)
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
from tests.conftest import SERVER, STANDBY, WANTS_STANDBY

ROOMS = ("tests/logbook", "tests/revenue/test_as_of.py", "tests/reference_prices/test_routes.py")


@pytest.mark.slow
class TestRoomsThroughAStandby:
    async def test_pass_their_tests_and_are_read_from_it(self) -> None:
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in (SERVER, STANDBY) and not name.startswith("PYTEST_")
        }
        tests = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *ROOMS),
            cwd=Path(__file__).parents[3],
            env={**environment, WANTS_STANDBY: "1"},
            stdout=asyncio.subprocess.PIPE,
        )
        printed = (await tests.communicate())[0].decode()
        assert tests.returncode == 0, printed
        reads = re.search(r"(\d+) reads were answered by the standby, (\d+) by the primary instead", printed)
        assert reads is not None
        assert int(reads[1]) > 0
        assert int(reads[2]) == 0
