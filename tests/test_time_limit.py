"""A test that waits for ever fails where it waits, and the next one runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.pure

ROOT = Path(__file__).parents[1]
WAITING = """
import asyncio
import queue

import pytest


@pytest.fixture
async def never():
    await asyncio.Event().wait()


async def test_for_an_event():
    await asyncio.Event().wait()


def test_for_a_queue():
    queue.SimpleQueue().get()


async def test_with_a_fixture_that_waits(never):
    raise AssertionError("never")


async def test_after_them():
    await asyncio.sleep(0)
"""


@pytest.mark.slow  # a run of its own that waits three times for its limit of a second
def test_a_test_that_waits_for_ever_fails_and_the_next_one_runs(tmp_path: Path):
    (tmp_path / "conftest.py").write_text(
        "from tests import time_limit\nfrom tests.time_limit import pytest_runtest_protocol\ntime_limit.LIMIT_S = 1\n"
    )
    (tmp_path / "test_waiting.py").write_text(WAITING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert "1 passed" in done.stdout, done.stdout[-3000:] + done.stderr[-3000:]
    assert "2 failed" in done.stdout
    assert "1 error" in done.stdout
    assert "was not over after 1 s" in done.stdout
