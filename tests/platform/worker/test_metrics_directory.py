"""The directory that all workers' figures share: where it lies, and what is taken away of those that are gone."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from gridloom.platform.worker import prometheus_multiprocess as figures
from gridloom.settings import Settings

pytestmark = pytest.mark.pure


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """What is to be done when the process ends; the memory's place is a directory of the test's."""
    found: list[Any] = []
    monkeypatch.delitem(sys.modules, "prometheus_client")
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "nowhere")
    monkeypatch.setattr(atexit, "register", lambda *call: found.append(call))
    monkeypatch.setattr(figures, "_MEMORY", tmp_path / "memory")
    (tmp_path / "memory").mkdir()
    return found


class TestTheDirectoryOfFigures:
    @pytest.mark.parametrize("settings", [{"metrics_token": "t"}, {"metrics_port": 9000}])
    def test_lies_in_memory_and_goes_with_the_process_that_made_it(
        self, begun: list[Any], tmp_path: Path, settings: dict[str, Any]
    ) -> None:
        left = tmp_path / "memory" / f"gridloom-metrics-{2**22 + 1}-a"
        left.mkdir()
        figures.set_metrics_directory(Settings(home=tmp_path / "home", **settings))
        assert not left.exists(), "of a service that was killed"
        directory = Path(os.environ["PROMETHEUS_MULTIPROC_DIR"])
        assert directory.parent == tmp_path / "memory"
        assert directory.name.startswith(f"gridloom-metrics-{os.getpid()}-")
        [(remove, made, owner)] = begun
        assert (made, owner) == (directory, os.getpid())
        remove(made, owner + 1)
        assert directory.is_dir(), "a fork leaves it to its supervisor"
        remove(made, owner)
        assert not directory.exists()

    def test_tells_that_a_worker_is_dead_where_there_is_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        told: list[int] = []

        def mark_dead(pid: int) -> None:
            told.append(pid)
            raise OSError("another worker was quicker")

        monkeypatch.setattr("prometheus_client.multiprocess.mark_process_dead", mark_dead)
        monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
        figures.mark_worker_dead(7)
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "somewhere")
        figures.mark_worker_dead(8)
        assert told == [8]
