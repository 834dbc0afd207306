"""`gridloom serve`: it starts by itself, ends without a trace, and gets up again after any crash."""

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import asyncpg
import pytest
from tests.journeys.service import PASSWORD, Service, a_service, is_alive, name_of, wait_until
from tests.ports import free_port

from gridloom.platform.database.server.embedded import dsn_of_running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home() -> Iterator[Service]:
    with a_service(GRIDLOOM_METRICS_PORT=str(free_port())) as service:
        yield service


@pytest.fixture
def service(home: Service) -> Service:
    """A running service; whatever a test did to it, the next one starts it again on the same home."""
    if home.process is None or home.process.poll() is not None:
        home.start()
    return home


class TestServe:
    def test_says_where_it_is_and_who_may_sign_in(self, service: Service) -> None:
        wait_until(lambda: "Ctrl-C" in service.log.read_text())
        said = service.log.read_text()
        assert f"http://127.0.0.1:{service.port}/docs" in said
        assert "journey-operator" in said
        assert PASSWORD not in said  # it was given, not made up

    def test_tells_how_ready_it_is(self, service: Service) -> None:
        status, answer = service.call("GET", "/health/ready")
        assert (status, answer["status"]) == (200, "OK")

    def test_exposes_the_figures_of_all_workers_on_a_port_of_their_own(self, service: Service) -> None:
        wait_until(lambda: "Ctrl-C" in service.log.read_text())
        figures = ""

        def are_complete() -> bool:
            nonlocal figures
            with urlopen(f"http://127.0.0.1:{service.environment['GRIDLOOM_METRICS_PORT']}", timeout=60) as answer:
                figures = answer.read().decode()
            workers = service.workers()
            memory = [f'gridloom_process_resident_memory_bytes{{pid="{worker.pid}"}}' for worker in workers]
            wanted = [f"gridloom_workers {len(workers)}.0\n", f"gridloom_pool_max_connections {10 * len(workers)}.0\n"]
            return all(one in figures for one in (*wanted, *memory))

        wait_until(are_complete)
        read = {name: float(value) for name, value in re.findall(r"^(gridloom\S+) (\S+)$", figures, re.MULTILINE)}
        assert "gridloom_request_seconds" in figures
        pools, workers = read["gridloom_pool_max_connections"], len(service.workers())
        assert (pools, read["gridloom_pool_waiting"]) == (10 * workers, 0)
        assert 0 < sum(read[f'gridloom_pool_connections{{state="{state}"}}'] for state in ("idle", "used")) <= pools
        for worker in service.workers():
            assert read[f'gridloom_process_resident_memory_bytes{{pid="{worker.pid}"}}'] > 2**24
        assert 0 < read["gridloom_process_open_fds"] < read["gridloom_process_max_fds"]
        assert read["gridloom_process_cpu_seconds_total"] > 0
        wait_until(lambda: are_complete() and "gridloom_event_loop_lag_seconds_count 0" not in figures)

    def test_has_as_many_workers_as_asked_but_no_more_than_cores(self, service: Service) -> None:
        assert len(service.workers()) == min(2, os.cpu_count() or 1)

    def test_is_refused_on_a_home_in_use(self, service: Service) -> None:
        second = Service(service.home, free_port(), GRIDLOOM_METRICS_PORT=str(free_port()))
        figures = figure_files(service)
        assert figures
        assert second.launch().wait(60) == 1
        assert figures <= figure_files(service), "those of the running service stay"
        said = second.log.read_text().replace("\n", "")
        assert f"in use by process {service.supervisor.pid}" in said
        assert "Traceback" not in said
        assert service.is_ready()

    def test_is_refused_on_a_port_in_use(self, service: Service) -> None:
        with a_service(GRIDLOOM_PORT=str(service.port)) as second:
            assert second.launch().wait(60) == 1
            said = second.log.read_text()
            assert f"Port {service.port}" in said
            assert "Traceback" not in said

    def test_says_which_settings_make_no_sense(self) -> None:
        with a_service(GRIDLOOM_PORT="eight", GRIDLOOM_ENVIRONMENT="staging") as service:
            assert service.launch().wait(60) == 1
            said = service.log.read_text()
            assert "GRIDLOOM_PORT must be a whole number" in said
            assert "GRIDLOOM_ENVIRONMENT must be sandbox or production" in said

    def test_does_not_start_production_without_its_first_admin(self) -> None:
        nobody = {
            "GRIDLOOM_BOOTSTRAP_USERNAME": "",
            "GRIDLOOM_BOOTSTRAP_PASSWORD": "",
            "GRIDLOOM_SECRETS_KEY": "k" * 44,
        }
        with a_service(GRIDLOOM_ENVIRONMENT="production", **nobody) as service:
            assert service.launch().wait(60) == 1
            refusal = json.loads(service.log.read_text().splitlines()[-1])
            assert refusal["event"] == "service.failed"
            assert "GRIDLOOM_BOOTSTRAP_USERNAME" in refusal["reason"]


class TestCommands:
    def test_migrate_and_openapi_work_beside_a_running_service(self, service: Service) -> None:
        assert "up to date" in gridloom(service, "migrate").stdout
        assert json.loads(gridloom(service, "openapi").stdout)["openapi"] == "3.1.0"

    def test_invite_lets_in_a_person_who_could_not_sign_in(self, service: Service) -> None:
        said = gridloom(service, "let-in", "new@example.com", "--role", "VIEWER").stdout
        person = {"username": "new-viewer", "password": "a long new password 8", "displayName": "New"}
        status, _ = service.call("POST", "/auth/public/invitations/accept", {"token": said.split()[-1], **person})
        assert status == 201

    def test_backup_and_restore_carry_everything_over(self, service: Service) -> None:
        with a_service() as other:
            file = str(other.home.parent / "backup")
            gridloom(service, "backup", file)
            gridloom(other, "restore", file)
            again = gridloom(other, "restore", file, check=False)
            assert again.returncode == 1
            assert "not empty" in again.stderr
            assert "up to date" in gridloom(other, "migrate").stdout

    def test_a_continuous_backup_restores_an_instant_of_the_past(self, service: Service) -> None:
        with a_service() as other:
            directory = other.home.parent / "continuous"
            command = [sys.executable, "-m", "gridloom.commands.cli", "backup", str(directory), "--continuous"]
            running = subprocess.Popen(command, env=service.environment, stdout=subprocess.PIPE, text=True)
            try:
                assert running.stdout is not None
                assert "copied" in running.stdout.readline()
                gridloom(service, "let-in", "before@example.com", "--role", "VIEWER")
                time.sleep(1)
                moment = datetime.now(UTC).isoformat()
                time.sleep(1)
                gridloom(service, "let-in", "after@example.com", "--role", "VIEWER")
                written = ask(service, "select pg_current_wal_flush_lsn()::text")
                received = "select max(flush_lsn) >= $1::text::pg_lsn from pg_stat_replication"
                wait_until(lambda: ask(service, received, written))
            finally:
                running.send_signal(signal.SIGINT)
                running.wait(60)
            assert "as it was at" in gridloom(other, "restore", str(directory), "--at", moment).stdout
            other.start()
            token = other.operator_token()
            _, organisations = other.call("GET", "/organisations", token=token)
            (operators,) = [one["id"] for one in organisations if one["kind"] == "OPERATOR"]
            _, invited = other.call("GET", f"/organisations/{operators}/invitations", token=token)
            addresses = {one["email"] for one in invited}
            assert "before@example.com" in addresses
            assert "after@example.com" not in addresses


class TestCrash:
    def test_of_a_worker_is_repaired(self, service: Service) -> None:
        before = {worker.pid for worker in service.workers()}
        for _ in range(3):  # thrice within moments, which must not end the service
            victim = service.workers()[0]
            victim.kill()
            wait_until(lambda v=victim: not is_alive(v) and len(service.workers()) == len(before))  # type: ignore[misc]
        wait_until(service.is_ready)
        assert {worker.pid for worker in service.workers()} != before
        assert f"pid={victim.pid}" in service.log.read_text()
        assert "signal SIGKILL" in service.log.read_text()

    def test_of_the_database_is_repaired(self, service: Service) -> None:
        before = service.postgres().pid
        service.postgres().kill()
        wait_until(lambda: any(name_of(c) == "postgres" and c.pid != before for c in service.supervisor.children()))
        wait_until(service.is_ready)

    def test_of_the_supervisor_takes_everything_along(self, service: Service) -> None:
        tree = service.tree()
        assert service.process is not None
        service.process.kill()
        service.process.wait()
        wait_until(lambda: not any(is_alive(process) for process in tree))

    def test_of_everything_is_followed_by_a_start_that_recovers(self, service: Service) -> None:
        service.kill_everything()
        service.start()
        assert service.operator_token()


class TestRenewal:
    def test_by_sighup_ends_streams_cleanly_and_answers_all_the_while(self, service: Service) -> None:
        stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        stream.request("GET", "/events", headers={"Authorization": f"Bearer {service.operator_token()}"})
        answer = stream.getresponse()
        assert answer.status == 200
        old = {worker.pid for worker in service.workers()}
        wait_until(lambda: any(name.startswith("gauge_live") for name in figure_files(service)))
        service.supervisor.send_signal(signal.SIGHUP)
        answer.read()  # ends as it should, not cut off
        answered = set()

        def is_renewed() -> bool:
            with suppress(ConnectionResetError):  # taken by a worker in its last moment: asked again
                answered.add(service.call("GET", "/health/live")[0])
            return not any(process.pid in old for process in service.workers())

        wait_until(is_renewed)
        assert answered == {200}
        wait_until(service.is_ready)
        assert not [
            name
            for name in figure_files(service)
            if name.startswith("gauge_live") and name.rpartition("_")[2].removesuffix(".db") in map(str, old)
        ], "what workers that are gone had open counts no more"

    def test_by_sighup_does_not_keep_the_database_from_being_revived(self, service: Service) -> None:
        old = {worker.pid for worker in service.workers()}
        database = service.postgres()
        service.supervisor.send_signal(signal.SIGHUP)
        database.kill()
        wait_until(lambda: service.is_ready() and not any(process.pid in old for process in service.workers()))
        assert service.operator_token()


class TestStop:
    def test_by_ctrl_c_leaves_no_process(self, service: Service) -> None:
        tree = service.tree()
        assert service.stop(signal.SIGINT) == 0
        assert not any(is_alive(process) for process in tree)

    def test_by_sigterm_ends_open_streams_and_leaves_no_process(self, service: Service) -> None:
        stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        stream.request("GET", "/events", headers={"Authorization": f"Bearer {service.operator_token()}"})
        answer = stream.getresponse()
        assert answer.status == 200
        tree = service.tree()
        assert service.stop(signal.SIGTERM) == 0
        assert not any(is_alive(process) for process in tree)
        answer.read()  # ends as it should, not cut off by a worker that was killed

    def test_is_followed_by_a_start_that_costs_little(self, service: Service) -> None:
        used = sum(sum(process.cpu_times()[:2]) for process in service.tree())
        assert used < 10, "seconds of processor time, whatever else the machine does"


def ask(service: Service, statement: str, *values: object) -> Any:
    """Of the database itself."""

    async def fetch() -> object:
        connection = await asyncpg.connect(dsn_of_running(service.home))
        try:
            return await connection.fetchval(statement, *values)
        finally:
            await connection.close()

    return asyncio.run(fetch())


def figure_files(service: Service) -> set[str]:
    """The names of the files in which the workers keep their figures."""
    places = [*Path("/dev/shm").glob(f"gridloom-metrics-{service.supervisor.pid}-*"), *service.home.glob("gridloom-m*")]
    return {file.name for place in places for file in place.iterdir()}


def gridloom(service: Service, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "gridloom.commands.cli", *arguments]
    done = subprocess.run(command, env=service.environment, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done
