"""The start of a service, step by step: what is prepared in which order, and what its workers are given."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.commands.serving import serve as serving
from gridloom.commands.serving.serve import StartupError, StartupReport, serve
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

EXTERNAL = Settings(environment="production", database_url="postgresql://db/grid", workers=8, simulator=False)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is done, in its order; the supervisor is ready at once."""
    found: list[Any] = []

    class Server:
        def __init__(self, home: Path) -> None:
            found.append(("server", home))

        def launch(self) -> None:
            found.append("launch")

        def await_ready(self) -> str:
            return "owner's"

        def stop(self) -> None:
            found.append("stop")

    class Supervisor:
        failure: str | None = None

        def __init__(self, settings: Settings, postgres: Any, on_ready: Callable[[], None]) -> None:
            self.settings, self.on_ready = settings, on_ready
            found.append(("supervise", settings.workers, settings.database_url, settings.is_embedded, postgres is None))

        def run(self) -> str | None:
            self.on_ready()
            return self.failure

    async def give(dsn: str) -> str:
        return dsn.replace("owner", "service")

    async def prepare(settings: Settings) -> tuple[list[str], Any]:
        found.append(("prepare", settings.database_url))
        return ["0561_a"], "bootstrap"

    async def prepare_simulator(settings: Settings) -> list[Any]:
        found.append("prepare the simulator")
        return ["sign-in"]

    async def recall(settings: Settings, bootstrap: Any) -> Any:
        return f"recalled {bootstrap}"

    async def describe(settings: Settings) -> str | None:
        return "history 31 %"

    def begin_thread(*, target: Any, args: Any, name: str, daemon: bool) -> Any:
        assert (name, daemon) == ("history", True)
        return SimpleNamespace(start=lambda: found.append("follow the history"))

    for name, fake in (
        ("EmbeddedPostgres", Server),
        ("Supervisor", Supervisor),
        ("give_to_service_role", give),
        ("prepare", prepare),
        ("prepare_simulator", prepare_simulator),
        ("load_service", lambda: found.append("load")),
        ("configure_logs", lambda *of: found.append(("logs", *of))),
        ("_raise_descriptor_limit", lambda: None),
        ("_count_cores", lambda: 4),
        ("find_port_fault", lambda host, port: None),
        ("threading", SimpleNamespace(Thread=begin_thread)),
        ("signal", SimpleNamespace(signal=lambda *of: found.append(of), SIGTERM=signal.SIGTERM)),
    ):
        monkeypatch.setattr(serving, name, fake)
    monkeypatch.setattr("gridloom.commands.serving.operator_sign_in.recall_operator", recall)
    monkeypatch.setattr("gridloom.commands.serving.simulator_process.describe_history", describe)
    return found


class TestAStart:
    def test_of_a_sandbox_has_a_server_of_its_own_that_ends_with_it(self, done: list[Any], tmp_path: Path) -> None:
        reports: list[StartupReport] = []
        serve(Settings(environment="sandbox", home=tmp_path, simulator=True), reports.append)
        assert done[2:] == [
            ("server", tmp_path),
            "launch",
            "load",
            ("prepare", "service's"),
            "prepare the simulator",
            ("supervise", 2, "service's", True, False),
            "follow the history",
            "stop",
        ]
        report: Any = reports[0]
        assert (report.bootstrap, report.sign_ins, report.history) == (
            "recalled bootstrap",
            ["sign-in"],
            "history 31 %",
        )
        assert report.embedded

    @pytest.mark.parametrize(
        ("taken", "metrics_port", "words"),
        [
            (8000, 9000, r"Port 8000 on 127\.0\.0\.1 cannot be had \(in use\)\. .* set GRIDLOOM_PORT to another"),
            (9000, 9000, r"Port 9000 .* set GRIDLOOM_METRICS_PORT to another"),
            (None, 8000, "are both 8000"),
        ],
    )
    def test_is_refused_where_a_port_cannot_be_had(
        self, done: list[Any], monkeypatch: pytest.MonkeyPatch, taken: int | None, metrics_port: int, words: str
    ) -> None:
        monkeypatch.setattr(serving, "find_port_fault", lambda host, port: "in use" if port == taken else None)
        with pytest.raises(StartupError, match=words):
            serve(replace(EXTERNAL, metrics_port=metrics_port), lambda _: None)
        assert len(done) == 1, "before anything is begun"


class TestTheWorldOfASandbox:
    @pytest.mark.parametrize(
        ("is_on", "has_world", "sign_ins"), [(True, True, ["trader"]), (True, False, []), (False, True, [])]
    )
    async def test_is_prepared_and_tells_who_may_sign_in(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_on: bool, has_world: bool, sign_ins: list[str]
    ) -> None:
        done: list[Any] = []

        class Held:
            async def __aenter__(self) -> Any:
                return self

            async def __aexit__(self, *_: object) -> None: ...

            def acquire(self) -> Any:
                return self

            def transaction(self) -> Any:
                return self

        async def create_pool(*_: Any, **__: Any) -> Held:
            return Held()

        async def prepare_world(connection: Any, **of: Any) -> None:
            done.append(of)

        async def invite(connection: Any, home: Path) -> list[str]:
            done.append(home)
            return ["trader"]

        async def read_simulation(connection: Any) -> Any:
            return "a world" if has_world else None

        monkeypatch.setattr(serving, "create_pool", create_pool)
        monkeypatch.setattr("gridloom.sandbox.simulated_clock.prepare_world", prepare_world)
        monkeypatch.setattr("gridloom.commands.operator.invite_simulator", invite)
        monkeypatch.setattr("gridloom.sandbox.simulator_store.read_simulation", read_simulation)
        settings = Settings(database_url="x", home=tmp_path, simulator=is_on, simulator_seed=7, simulator_days=9)
        found: list[Any] = await serving.prepare_simulator(settings)
        assert found == sign_ins
        assert done == [{"is_on": is_on, "seed": 7, "history_days": 9}, *[tmp_path] * is_on]
