"""What the supervisor does about processes that end."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.commands.serving import simulator_process, supervisor
from gridloom.commands.serving.simulator_process import PAUSE_S, SimulatorProcess
from gridloom.commands.serving.supervisor import FREE_RESTARTS, MAX_FAILED_STARTS, STABLE_S, Supervisor
from gridloom.platform.database.server.processes import EmbeddedPostgresError
from gridloom.settings import Settings


class Watch:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    made = Watch()
    for module in (supervisor, simulator_process):
        monkeypatch.setattr(module, "time", made)
    return made


class SupervisorUnderTest(Supervisor):
    """Its workers are no processes."""

    def __init__(self, watch: Watch, postgres: Any = None) -> None:
        super().__init__(Settings(environment="sandbox", workers=1), postgres, lambda: None)
        self.watch = watch
        self.started = 0
        self._respawn_workers([0], None, None)

    def _respawn_workers(self, workers: Any, spawn_target: Any, target_loader: Any, delay: float = 0) -> None:
        self.started += len(workers)
        ended = SimpleNamespace(pid=0, exitcode=1, join=lambda _seconds: None)
        worker: Any = SimpleNamespace(inner=ended, birth=self.watch.now)
        self.wrks = [worker]

    def lose_worker(self, after_s: float) -> int:
        """Its worker ends after so long; how many have been started at the next two looks."""
        self.watch.now += after_s
        self.interrupt_children.append(0)
        for _ in range(2):
            self._replace_dead_workers(None, None)
        return self.started


@pytest.fixture
def watched(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> SupervisorUnderTest:
    monkeypatch.setattr(supervisor, "mark_worker_dead", lambda _pid: None)
    return SupervisorUnderTest(watch)


class TestAService:
    def test_listens_where_the_settings_say(self):
        """On this machine alone, or on all addresses."""
        for host in ("127.0.0.1", "0.0.0.0"):
            settings = Settings(environment="sandbox", workers=3, host=host, port=8123)
            made = Supervisor(settings, None, lambda: None)
            assert (made.bind_addr, made.bind_port, made.workers) == (host, 8123, 3)


class TestAWorkerThatEnds:
    def test_again_and_again_before_the_service_was_ever_ready_ends_it(self, watched: SupervisorUnderTest):
        while watched.failure is None:
            watched.lose_worker(0.1)
            watched.watch.now += 1
            watched._replace_dead_workers(None, None)
        assert watched.started == 1 + MAX_FAILED_STARTS
        assert watched.interrupt_signal

    def test_after_a_good_while_is_replaced_at_once_whatever_was_before(self, watched: SupervisorUnderTest):
        for _ in range(FREE_RESTARTS):
            watched.lose_worker(0.1)
        assert watched.lose_worker(STABLE_S + 1) == FREE_RESTARTS + 2
        assert watched.lose_worker(0.1) == FREE_RESTARTS + 3


class TestADatabaseThatDoesNotStart:
    def test_is_tried_again_after_a_pause(self, watch: Watch):
        tried = []

        def refuse() -> None:
            tried.append(watch.now)
            raise EmbeddedPostgresError("no space")

        watched = SupervisorUnderTest(watch, SimpleNamespace(is_running=lambda: False, revive=refuse))
        for _ in range(15):
            watched._revive_database()
            watch.now += 0.2
        assert len(tried) == 3


class TestASimulator:
    @pytest.mark.parametrize("status", [0, 1, -signal.SIGKILL])
    def test_that_ends_for_whatever_reason_is_started_again_soon(
        self, watch: Watch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, status: int
    ):
        started: list[float] = []

        def start(*_: Any, **__: Any) -> Any:
            started.append(watch.now)
            return SimpleNamespace(poll=lambda: status)

        monkeypatch.setattr(simulator_process, "subprocess", SimpleNamespace(Popen=start))
        process = SimulatorProcess(Settings(environment="sandbox", simulator=True, home=tmp_path))
        for _ in range(11):
            process.keep_alive()
            watch.now += PAUSE_S / 4
        assert [at - started[0] for at in started] == [0, PAUSE_S, 2 * PAUSE_S]
