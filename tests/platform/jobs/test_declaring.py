"""Kinds of jobs as they are declared, and how one attempt at a job is limited, counted and told of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from gridloom.platform.jobs import JobRun, enqueue, job, register_jobs, store
from gridloom.platform.jobs.declare import KINDS, JobKind

pytestmark = pytest.mark.pure

HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 29, 1, tzinfo=UTC)
DB: Any = "db"


@pytest.fixture(autouse=True)
def without_kinds(kinds: None) -> None:
    """Each test declares its own."""


async def tidy(run: JobRun) -> None: ...


async def another(run: JobRun) -> None: ...


def kind(name: str = "tidy", handler: Any = tidy, **options: Any) -> JobKind:
    async def wrapped(run: JobRun) -> None: ...

    wrapped.__qualname__ = handler.__qualname__
    declared: JobKind = job(name, **options)(wrapped).__job__  # type: ignore[attr-defined]
    return declared


class TestAKindOfJob:
    def test_that_recurs_does_so_after_a_while_and_is_nobodys_but_the_platforms(self) -> None:
        for options in ({"every": timedelta()}, {"every": HOUR, "for_organisations": True}):
            with pytest.raises(AssertionError):
                kind(**options)

    def test_has_one_handler(self) -> None:
        first = kind()
        register_jobs(first, kind("other"))
        register_jobs(kind())
        assert sorted(KINDS) == ["other", "tidy"]
        with pytest.raises(AssertionError, match="two handlers for tidy"):
            register_jobs(kind(handler=another))


class TestAJobThatIsPut:
    async def test_is_an_organisations_where_its_kind_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        put: list[Any] = []

        async def note(*of: Any) -> None:
            put.append(of)

        monkeypatch.setattr(store, "put", note)
        register_jobs(kind(), kind("asked-for", for_organisations=True))
        ours = UUID(int=7)
        await enqueue(DB, "tidy", key="a", due=NOW)
        await enqueue(DB, "asked-for", key="b", due=NOW, organisation_id=ours, size=9, restart=False, payload={"n": 1})
        await enqueue(DB, "of-the-next-release", key="c", due=NOW, clock="platform", keep_earlier_due=True)
        assert put == [
            (DB, "tidy", "a", "real", NOW, {}, True, False, None, 0),
            (DB, "asked-for", "b", "real", NOW, {"n": 1}, False, False, ours, 9),
            (DB, "of-the-next-release", "c", "platform", NOW, {}, True, True, None, 0),
        ]
        for name, owner in (("tidy", ours), ("asked-for", None)):
            with pytest.raises(AssertionError, match="whose job"):
                await enqueue(DB, name, key="a", due=NOW, organisation_id=owner)
        with pytest.raises(AssertionError, match="an instant"):
            await enqueue(DB, "tidy", key="a", due=NOW.replace(tzinfo=None))
