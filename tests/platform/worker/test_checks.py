"""The checks of readiness one by one: what they say, from which figure on, and how often they ask."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.problem import NotFound, Unauthenticated
from gridloom.platform.database.migrate import MigrationError
from gridloom.platform.health_checks import Check
from gridloom.platform.identity.token_verification.verification import TokenAuthenticator
from gridloom.platform.worker import health
from gridloom.platform.worker.health import (
    MEBIBYTE,
    DiskSpaceCheck,
    NodeCheck,
    ReplicaCheck,
    WriteProbe,
    check_database,
    check_migrations,
    standard_checks,
)
from gridloom.settings import Settings

pytestmark = pytest.mark.pure
GIBIBYTE = 1024 * MEBIBYTE
POOL: Any = None


def said(check: Check) -> tuple[str, str, str]:
    return check.name, check.status, check.detail


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


class TestTheDisk:
    @pytest.mark.parametrize(
        ("total", "free", "status", "detail"),
        [
            (GIBIBYTE, 512 * MEBIBYTE, "OK", "50 % free"),
            (GIBIBYTE, 512 * MEBIBYTE - 1, "DEGRADED", "nearly full: 511 MiB free"),
            (100 * GIBIBYTE, 5 * GIBIBYTE, "OK", "5 % free"),
            (100 * GIBIBYTE, 5 * GIBIBYTE - 1, "DEGRADED", "nearly full: 5119 MiB free"),
        ],
    )
    async def test_needs_half_a_gibibyte_and_a_twentieth(
        self, monkeypatch: pytest.MonkeyPatch, total: int, free: int, status: str, detail: str
    ) -> None:
        asked: list[Any] = []

        def disk_usage(place: Any) -> Any:
            asked.append(place)
            return SimpleNamespace(total=total, free=free)

        monkeypatch.setattr("shutil.disk_usage", disk_usage)
        home: Any = "/home"
        assert said(await DiskSpaceCheck(home).check_disk(POOL)) == ("disk", status, detail)
        assert asked == ["/home"]


class TestReadReplicas:
    async def test_that_are_left_out_are_named_with_the_reason(self) -> None:
        def replicas(*reasons: str | None) -> Any:
            named = enumerate(reasons, start=1)
            return SimpleNamespace(
                all=[SimpleNamespace(name=f"replica {n}", disabled_because=reason) for n, reason in named]
            )

        async def check(*reasons: str | None) -> tuple[str, str, str]:
            return said(await ReplicaCheck(replicas(*reasons)).check_replicas(POOL))

        assert await check(None, None) == ("replicas", "OK", "2 of 2 answer reads")
        assert await check("broke off", None, "4 s behind") == (
            "replicas",
            "DEGRADED",
            "1 of 3 answer reads; left out: replica 1 (broke off), replica 3 (4 s behind)",
        )


class TestAWrite:
    async def test_is_tried_once_a_second_and_again_at_once_where_it_failed(
        self, clock: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tried: list[float] = []

        async def record_write_probe(_: Any) -> None:
            tried.append(clock[0])
            if len(tried) == 2:
                raise OSError("no space")

        monkeypatch.setattr(health, "record_write_probe", record_write_probe)
        probe = WriteProbe()
        for later_s in (0.0, 0.99):
            clock[0] += later_s
            assert said(await probe.check_writes(POOL)) == ("writes", "OK", "a row was written")
        clock[0] = 101.0
        with pytest.raises(OSError, match="no space"):
            await probe.check_writes(POOL)
        await probe.check_writes(POOL)
        assert tried == [100.0, 101.0, 101.0]


class TestWorkerNodes:
    async def test_are_asked_every_two_seconds(self, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[float] = []

        async def read_worker_nodes(_: Any) -> list[Any]:
            asked.append(clock[0])
            return []

        monkeypatch.setattr(health, "read_worker_nodes", read_worker_nodes)
        nodes = NodeCheck()
        for later_s in (0.0, 1.9, 0.1, 1.9):
            clock[0] += later_s
            assert said(await nodes.check_nodes(POOL)) == ("nodes", "OK", "a single server")
        assert asked == [100.0, 102.0]


class TestTheDatabase:
    async def test_tells_its_release(self) -> None:
        async def fetchval(statement: str) -> str:
            assert statement == "show server_version"
            return "18.1"

        pool: Any = SimpleNamespace(fetchval=fetchval)
        assert said(await check_database(pool)) == ("database", "OK", "PostgreSQL 18.1")

    async def test_lacks_no_migration_and_has_none_of_a_newer_release(self, monkeypatch: pytest.MonkeyPatch) -> None:
        outcomes: list[Any] = [[], ["0560_a", "0561_b"], MigrationError("It is from a newer release.")]

        async def pending_migrations(_: Any) -> list[str]:
            found = outcomes.pop(0)
            if isinstance(found, Exception):
                raise found
            return list(found)

        monkeypatch.setattr(health, "pending_migrations", pending_migrations)
        assert [said(await check_migrations(POOL)) for _ in range(3)] == [
            ("migrations", "OK", "all applied"),
            ("migrations", "DOWN", "not applied: 0560_a, 0561_b"),
            ("migrations", "DEGRADED", "It is from a newer release."),
        ]


class TestTheStandardChecks:
    def test_are_those_without_which_no_worker_serves_and_then_the_rest(self) -> None:
        async def check_more(_: Any) -> Check:
            raise AssertionError("not asked")

        found = standard_checks(check_more)
        assert [check.__name__ for check in found.checks] == [
            "check_database",
            "check_writes",
            "check_migrations",
            "check_more",
        ]
        assert len(found._required) == 3


class TestFigures:
    @pytest.mark.parametrize("sent", [None, "", "Bearer", "Bearer word", "Bearer words ", "bearer words", "words"])
    async def test_are_for_who_has_their_token(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sent: str | None
    ) -> None:
        """All workers' together where they share a directory."""
        monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)

        def asking(token: str | None, header: str | None) -> Any:
            headers = {"authorization": header}
            return SimpleNamespace(resources={Settings: Settings(metrics_token=token)}, header=headers.get)

        with pytest.raises(Unauthenticated):
            await health.read_metrics(asking("words", sent))
        with pytest.raises(NotFound, match="GRIDLOOM_METRICS_TOKEN is not set"):
            await health.read_metrics(asking(None, sent))
        told = await health.read_metrics(asking("words", "Bearer words"))
        assert told.media_type.startswith("text/plain")
        assert b"\n# TYPE " in told.body
        monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
        assert (await health.read_metrics(asking("words", "Bearer words"))).body == b"", "none of them has any yet"


class TestTheOperator:
    @pytest.mark.parametrize(
        ("header", "kind", "is_operator"),
        [
            ("Bearer  token ", "OPERATOR", True),
            ("bearer token", "OPERATOR", True),
            ("Basic token", "OPERATOR", False),
            (None, "OPERATOR", False),
            ("Bearer token", "PARTICIPANT", False),
            ("Bearer other", "OPERATOR", False),
        ],
    )
    async def test_is_known_by_a_token(self, header: str | None, kind: str, is_operator: bool) -> None:
        async def authenticate(token: str) -> Any:
            if token != "token":
                raise Unauthenticated("It is none.")
            return SimpleNamespace(organisation_kind=kind)

        resources = {TokenAuthenticator: SimpleNamespace(authenticate=authenticate)}
        request: Any = SimpleNamespace(header={"authorization": header}.get, resources=resources)
        assert await health._is_operator(request) is is_operator


class TestWhatACallerSees:
    def test_leaves_out_release_and_addresses_and_nothing_else(self) -> None:
        def shown(*check: Any) -> str:
            return health._without_internals(
                Check(**dict(zip(("name", "status", "detail"), check, strict=True)))
            ).detail

        assert shown("database", "OK", "PostgreSQL 18.1") == "answers"
        assert shown("database", "DOWN", "The database is unreachable.") == "The database is unreachable."
        assert shown("nodes", "DEGRADED", "1 of 2 do not answer (10.0.0.2:5432)") == "1 of 2 do not answer"
        assert shown("disk", "OK", "50 % free (all)") == "50 % free (all)"
