"""How readiness runs its checks and what it makes of them."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest

from gridloom.platform.health_checks import Check, HealthChecks

pytestmark = pytest.mark.pure
POOL: Any = "pool"


def checking(name: str, outcome: Any) -> Any:
    async def check(pool: Any) -> Check:
        assert pool == "pool"
        if isinstance(outcome, BaseException):
            raise outcome
        return Check(name=name, status=outcome, detail="so it is")

    check.__name__ = f"check_{name}".replace(" ", "_")
    return check


class TestReadiness:
    @pytest.mark.parametrize(
        ("required", "further", "status"),
        [
            ("OK", "OK", "OK"),
            ("OK", "DEGRADED", "DEGRADED"),
            ("OK", "DOWN", "DEGRADED"),
            ("DEGRADED", "OK", "DEGRADED"),
            ("DOWN", "OK", "DOWN"),
        ],
    )
    async def test_is_down_where_what_is_required_is_down_and_degraded_by_anything_else(
        self, required: str, further: str, status: str
    ) -> None:
        checks = HealthChecks(checking("one", "OK"), checking("two", required))
        checks.checks.append(checking("job runner", further))
        found = await checks.ask(POOL)
        assert (found.status, [check.name for check in found.checks]) == (status, ["one", "two", "job runner"])

    async def test_takes_an_outage_for_a_check_that_is_down(self) -> None:
        lost, odd = asyncpg.AdminShutdownError("x"), asyncpg.UndefinedTableError("x")
        found = await HealthChecks(checking("write probe", lost), checking("odd", odd)).ask(POOL)
        assert [(check.name, check.status, check.detail) for check in found.checks] == [
            ("write probe", "DOWN", "The database is unreachable."),
            ("odd", "DOWN", "no answer"),
        ]
        with pytest.raises(ZeroDivisionError):
            await HealthChecks(checking("bug", ZeroDivisionError())).ask(POOL)

    async def test_waits_so_long_and_starts_nothing_twice_that_hangs(self) -> None:
        begun, may_end = [], asyncio.Event()

        async def check_disk(pool: Any) -> Check:
            begun.append(pool)
            await may_end.wait()
            return Check(name="disk", status="OK", detail="50 % free")

        checks = HealthChecks(check_disk, timeout_s=0.01)
        for _ in range(2):
            [hanging] = (await checks.ask(POOL)).checks
            assert (hanging.name, hanging.status, hanging.detail) == ("disk", "DOWN", "no answer")
        may_end.set()
        await asyncio.wait(checks._asked.values())
        checks.timeout_s = 60
        assert (await checks.ask(POOL)).status == "OK"
        assert len(begun) == 2, "one that hung, and one anew"
