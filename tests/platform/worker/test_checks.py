"""The checks of readiness one by one: what they say, from which figure on, and how often they ask."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridloom.kernel.problem import NotFound, Unauthenticated
from gridloom.platform.database.migrate import MigrationError
from gridloom.platform.health_checks import Check
from gridloom.platform.worker import health
from gridloom.platform.worker.health import (
    check_migrations,
    standard_checks,
)
from gridloom.settings import Settings

pytestmark = pytest.mark.pure
POOL: Any = None


def said(check: Check) -> tuple[str, str, str]:
    return check.name, check.status, check.detail


class TestTheDatabase:
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
