"""Whether the service lives, and whether it is ready."""

import asyncio

import pytest
import structlog
from tests.people import client_of

from gridloom.platform.events.sequencer import Sequencer
from gridloom.platform.health_checks import CHECK_TIMEOUT_S, Check, HealthChecks
from gridloom.platform.webhooks.dispatcher import Dispatcher
from gridloom.platform.worker.health import DiskSpaceCheck, standard_checks


class TestTheCheckOfWhatRunsBesideRequests:
    """The events are given no place any more, or no webhook is called."""

    @pytest.mark.parametrize(("name", "runner"), [("check_event_sequencer", Sequencer), ("check_webhooks", Dispatcher)])
    async def test_is_down_once_it_has_ended(self, app, monkeypatch, name, runner):
        [check] = [one for one in app.resources[HealthChecks].checks if one.__name__ == name]
        # Webhooks that another test had disabled degrade the service for a week.
        await app.pool.execute(
            "update webhook set disabled_at = disabled_at - interval '8 days' where disabled_because is not null"
        )
        assert (await check(app.pool)).status == "OK"
        monkeypatch.setattr(runner, "alive", lambda _: False)
        assert (await check(app.pool)).status == "DOWN"


class TestReadiness:
    async def test_probes_a_write(self, app, anonymous):
        await app.pool.execute("delete from write_probe")
        app.resources[HealthChecks].checks[1].__self__._written_at = -10.0
        checks = {check["name"]: check for check in (await anonymous.get("/health/ready")).json()["checks"]}
        assert checks["writes"]["status"] == "OK"
        assert await app.pool.fetchval("select count(*) from write_probe") == 1

    async def test_is_down_when_nothing_can_be_written(self, app, anonymous, monkeypatch):
        app.resources[HealthChecks].checks[1].__self__._written_at = -10.0
        await app.pool.execute("alter table write_probe add constraint full_disk check (probed_at < 'epoch') not valid")
        try:
            answer = await anonymous.get("/health/ready")
        finally:
            await app.pool.execute("alter table write_probe drop constraint full_disk")
        assert answer.status_code == 503
        assert answer.json()["status"] == "DOWN"

    async def test_is_down_while_writes_are_refused_for_a_full_disk(self, app, anonymous, new_organisation):
        """A small row still finds its place there, so what needs room is tried once a request was refused."""
        organisation = await new_organisation()
        await app.pool.execute(
            """create function is_full() returns trigger language plpgsql as $$
               begin raise exception 'no space left on device' using errcode = '53100'; end $$"""
        )
        full = ("logbook_entry", "space_probe", "invitation")
        for table in full:
            await app.pool.execute(f"create trigger full_disk before insert on {table} execute function is_full()")

        async def ready(status):
            async with asyncio.timeout(20):
                while (answer := await anonymous.get("/health/ready")).status_code != status:
                    await asyncio.sleep(0.1)
            return next(check for check in answer.json()["checks"] if check["name"] == "writes")

        try:
            assert (await ready(200))["status"] == "OK"
            path, body = f"/organisations/{organisation.id}/invitations", {"email": "ada@x.org", "role": "VIEWER"}
            assert (await organisation.admin.post(path, json=body)).status_code == 503
            refused = await ready(503)
            assert (refused["status"], refused["detail"].rpartition(";")[2]) == ("DOWN", " reads are answered.")
            assert (await organisation.admin.get(path)).status_code == 200
        finally:
            await app.pool.execute("drop function is_full cascade")
        assert (await ready(200))["status"] == "OK"
        assert (await organisation.admin.post(path, json=body)).status_code == 201
        assert await app.pool.fetchval("select count(*) from space_probe") == 0

    async def test_answers_within_two_seconds_whatever_hangs(self, app):
        async def check_what_hangs(pool):
            await asyncio.sleep(30)
            raise AssertionError

        async def check_what_refuses_to_be_cancelled(pool):
            while True:
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    continue

        checks = standard_checks(check_what_hangs)
        assert CHECK_TIMEOUT_S < 2
        async with asyncio.timeout(120):
            first, second = await asyncio.gather(checks.ask(app.pool), checks.ask(app.pool))
        assert first.status == second.status == "DEGRADED"
        assert [check.detail for check in first.checks if check.name == "what hangs"] == ["no answer"]
        checks._asked["what hangs"].cancel()

    async def test_is_logged_where_it_changes_and_not_at_each_probe(self, app):
        async def check_luck(pool):
            return Check(name="luck", status=luck, detail="spun")

        checks = HealthChecks(check_luck)
        with structlog.testing.capture_logs() as lines:
            for luck in ("OK", "DOWN", "DOWN", "DEGRADED", "DOWN", "OK", "OK"):  # noqa: B007 — read by the check
                await checks.ask(app.pool)
        errors = [(line["event"], line["checks"]) for line in lines if line["log_level"] == "error"]
        assert errors == [("readiness.changed", {"luck": "spun"})] * 2

    async def test_fails_while_the_replica_stops(self, app, anonymous, operator):
        app.stopping.set()
        try:
            with structlog.testing.capture_logs() as lines:
                answer = await anonymous.get("/health/ready")
            told = (await operator.get("/health/ready")).text
        finally:
            app.stopping.clear()
        assert not [line for line in lines if line["log_level"] == "error"], "a probe is no failed request"
        assert answer.status_code == 503
        assert answer.json()["checks"][0] == {"name": "service", "status": "DOWN", "detail": "is stopping"}
        assert "PostgreSQL" not in told, "nobody is looked up while it is down"

    async def test_tells_the_release_of_the_database_to_the_operator_only(
        self, app, anonymous, operator, new_organisation
    ):
        stranger = (await new_organisation()).admin
        for client in (anonymous, stranger):
            answer = await client.get("/health/ready")
            assert answer.status_code == 200
            assert "PostgreSQL" not in answer.text
        assert "PostgreSQL" in (await operator.get("/health/ready")).text
        async with client_of(app, "no-token-at-all") as confused:
            assert (await confused.get("/health/ready")).status_code == 200

    async def test_says_when_the_disk_is_nearly_full(self, app, tmp_path, monkeypatch):
        import shutil

        assert (await DiskSpaceCheck(tmp_path).check_disk(app.pool)).name == "disk"
        usage = type(shutil.disk_usage(tmp_path))
        # Little in bytes, or little of a large disk, or both.
        for total, free, is_scarce in (
            (10**12, 10**8, True),
            (10**9, 5 * 10**8, True),
            (10**12, 4 * 10**10, True),
            (10**12, 6 * 10**10, False),
        ):
            found = usage(total, (total - free) // 2, free)  # a file system keeps some for itself
            monkeypatch.setattr(shutil, "disk_usage", lambda _, found=found: found)
            check = await DiskSpaceCheck(tmp_path).check_disk(app.pool)
            assert check.status == ("DEGRADED" if is_scarce else "OK")
            assert ("nearly full" in check.detail) is is_scarce
