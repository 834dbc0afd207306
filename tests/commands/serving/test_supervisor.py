"""What the supervisor does about processes that end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
from dataclasses import replace
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

    def test_by_a_signal_is_said_to_have_got_it(self):
        process = multiprocessing.get_context("fork").Process(target=signal.pause)
        process.start()
        process.kill()
        process.join()
        assert supervisor._cause_of(process) == "signal SIGKILL"


class Stage:
    """Notes what is done to workers and signals that are sent, in their order."""

    def __init__(self, watched: SupervisorUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[Any] = []
        self.lives: dict[int, int] = {}
        """How many more looks a worker is alive after it was asked to leave, by its number."""
        self.watch = watched.watch
        monkeypatch.setattr(os, "kill", lambda pid, sign: self.done.append((signal.Signals(sign).name, pid)))
        monkeypatch.setattr(supervisor, "mark_worker_dead", lambda pid: self.done.append(("dead", pid)))
        monkeypatch.setattr(self.watch, "sleep", self._pass, raising=False)
        monkeypatch.setattr(watched, "_revive_database", lambda: self.done.append("look after the database"))

    def _pass(self, seconds: float | None = None) -> None:
        self.watch.now += seconds or 0.0

    def worker(self, pid: int) -> Any:
        def is_alive() -> bool:
            self.lives[pid] = self.lives.get(pid, 0) - 1
            return self.lives[pid] >= 0

        return SimpleNamespace(
            inner=SimpleNamespace(pid=pid),
            is_alive=is_alive,
            start=lambda: self.done.append(("start", pid)),
            terminate=lambda: self.done.append(("terminate", pid)),
            kill=lambda: self.done.append(("kill", pid)),
            join=self._pass,
        )


class TestAWorkerThatIsReplaced:
    @pytest.fixture
    def stage(self, watched: SupervisorUnderTest, monkeypatch: pytest.MonkeyPatch) -> Stage:
        return Stage(watched, monkeypatch)

    def test_leaves_once_the_next_one_listens_and_one_after_the_other(
        self, watched: SupervisorUnderTest, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new = iter([stage.worker(11), stage.worker(12)])
        listening = iter([False, True, True])
        stage.lives |= {11: 9, 12: 9}
        monkeypatch.setattr(watched, "_spawn_worker", lambda **_: next(new))

        def is_listening(*of: int) -> bool:
            stage.done.append(of)
            return next(listening)

        monkeypatch.setattr(supervisor, "_is_listening", is_listening)
        watched.wrks = [stage.worker(1), stage.worker(2)]
        watched.reload_signal = True
        watched._rolling_restart(None, None)
        done = [one for one in stage.done if one != "look after the database" and one[0] != "SIGUSR1"]
        stopped = [[("terminate", old), ("dead", old)] for old in (1, 2)]
        assert [one for one in done if str(one[0]).islower() or isinstance(one[0], int)] == [
            ("start", 11),
            *[(11, watched.settings.port)] * 2,
            *stopped[0],
            ("start", 12),
            (12, watched.settings.port),
            *stopped[1],
        ]
        assert [worker.inner.pid for worker in watched.wrks] == [11, 12]
        assert not watched.reload_signal
        assert set(watched.respawned_wrks) == {0, 1}


class TestTheLoopOfAService:
    def test_announces_it_once_it_answers_and_has_the_simulator_begin_then(
        self, watched: SupervisorUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        done: list[Any] = []
        answers = iter([False, True])
        loop: Any = watched
        loop.main_loop_interrupt = SimpleNamespace(wait=done.append, clear=lambda: None)
        loop.on_ready = lambda: done.append("ready")
        loop.simulator = SimpleNamespace(keep_alive=lambda: done.append("simulator"))
        for name in ("_revive_database", "_expose_metrics", "_rotate_log"):
            monkeypatch.setattr(watched, name, lambda name=name: done.append(name))
        monkeypatch.setattr(supervisor, "_is_answering", lambda _: next(answers))

        def replace_dead(*_: Any) -> None:
            loop.interrupt_signal = done.count("simulator") == 1

        monkeypatch.setattr(watched, "_replace_dead_workers", replace_dead)
        watched._serve_loop(None, None)
        look = ["_revive_database", "_rotate_log"]
        assert done == [
            *(0.05, *look),
            *(0.05, *look, "_expose_metrics", "ready", "simulator"),
            *(0.2, *look, "simulator"),
        ]


class TestAPortThatIsListenedOn:
    def test_is_found_in_the_process_that_does(self) -> None:
        fork = multiprocessing.get_context("fork").Process
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            port = server.getsockname()[1]
            process = fork(target=signal.pause)
            process.start()
            try:
                assert process.pid is not None
                assert not supervisor._is_listening(process.pid, port)
                server.listen()
                client.connect(("127.0.0.1", port))
                assert supervisor._is_listening(process.pid, port)
                assert not supervisor._is_listening(process.pid, client.getsockname()[1]), "a connection"
            finally:
                process.kill()
                process.join()
            assert not supervisor._is_listening(process.pid, port)


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

    def test_that_runs_is_left_alone_and_ends_with_the_service(
        self, watch: Watch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ):
        done: list[Any] = []

        def start(command: list[str], **_: Any) -> Any:
            done.append(command[1:])
            return SimpleNamespace(
                poll=lambda: None, kill=lambda: done.append("kill"), wait=lambda: done.append("wait")
            )

        monkeypatch.setattr(simulator_process, "subprocess", SimpleNamespace(Popen=start))
        settings = Settings(environment="sandbox", simulator=True, home=tmp_path, port=8123)
        process = SimulatorProcess(settings)
        for _ in range(3):
            process.keep_alive()
            watch.now += PAUSE_S
        process.stop()
        assert done == [["-m", "gridloom.sandbox.simulator", "http://127.0.0.1:8123", str(tmp_path)], "kill", "wait"]
        off = SimulatorProcess(replace(settings, simulator=False))
        off.keep_alive()
        off.stop()
        assert len(done) == 3

    @pytest.mark.parametrize(
        ("progress", "left_s", "text"),
        [(0.314, 79.6, "history 31 %, about 80 s left"), (0.0, None, "history 0 %"), (1.0, 0.0, None)],
    )
    def test_tells_how_far_the_history_is(self, progress: float, left_s: float | None, text: str | None):
        state: Any = SimpleNamespace(history_complete=text is None, progress=progress, history_left_s=left_s)
        assert simulator_process.history_text(state) == text
