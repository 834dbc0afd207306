"""`gridloom serve`: it starts by itself, ends without a trace, and gets up again after any crash."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest
from tests.journeys.service import Service, a_service, is_alive, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Service]:
    """One service for the tests that leave it as they found it."""
    with a_service() as service:
        service.start()
        yield service


class TestServe:
    def test_is_ready_soon_and_ends_without_a_trace(self) -> None:
        with a_service() as service:
            service.start()
            assert len(service.workers()) == min(2, os.cpu_count() or 1)
            tree = service.tree()
            assert service.stop(signal.SIGTERM) == 0
            assert not any(is_alive(process) for process in tree)
            service.start()
            tree = service.tree()
            assert sum(sum(process.cpu_times()[:2]) for process in tree) < 10  # seconds, whatever else the machine does
            assert service.stop(signal.SIGINT) == 0
            assert not any(is_alive(process) for process in tree)

    def test_does_not_wait_for_open_streams(self) -> None:
        with a_service() as service:
            service.start()
            stream = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            stream.request("GET", "/events", headers={"Authorization": f"Bearer {service.operator_token()}"})
            answer = stream.getresponse()
            assert answer.status == 200
            began = time.monotonic()
            assert service.stop() == 0
            assert time.monotonic() - began < 10
            answer.read()  # ends as it should, not cut off

    def test_says_where_it_is_and_who_may_sign_in(self) -> None:
        with a_service(GRIDLOOM_BOOTSTRAP_USERNAME="", GRIDLOOM_BOOTSTRAP_PASSWORD="") as service:
            service.start()
            wait_until(lambda: "Ctrl-C" in service.log.read_text())
            said = service.log.read_text()
            assert f"http://127.0.0.1:{service.port}/docs" in said
            assert "operator" in said
            assert "Password" in said
            service.stop()

    def test_shows_no_password_that_was_given(self, shared: Service) -> None:
        wait_until(lambda: "Ctrl-C" in shared.log.read_text())
        assert shared.environment["GRIDLOOM_BOOTSTRAP_PASSWORD"] not in shared.log.read_text()

    def test_tells_how_ready_it_is(self, shared: Service) -> None:
        status, answer = shared.call("GET", "/health/ready")
        assert (status, answer["status"]) == (200, "OK")

    def test_is_refused_on_a_home_in_use(self, shared: Service) -> None:
        second = Service(shared.home, shared.port + 1)
        assert second.launch().wait(30) == 1
        said = second.log.read_text().replace("\n", "")
        assert f"in use by process {shared.supervisor.pid}" in said
        assert "Traceback" not in said
        assert shared.is_ready()

    def test_is_refused_on_a_port_in_use(self, shared: Service) -> None:
        with a_service() as second:
            second.environment["GRIDLOOM_PORT"] = str(shared.port)
            assert second.launch().wait(30) == 1
            said = second.log.read_text()
            assert f"Port {shared.port}" in said
            assert "Traceback" not in said

    def test_says_which_setting_makes_no_sense(self) -> None:
        with a_service(GRIDLOOM_PORT="eight", GRIDLOOM_ENVIRONMENT="staging") as service:
            assert service.launch().wait(30) == 1
            said = service.log.read_text()
            assert "GRIDLOOM_PORT must be a whole number" in said
            assert "GRIDLOOM_ENVIRONMENT must be sandbox or production" in said

    def test_does_not_start_production_without_its_first_admin(self) -> None:
        with a_service(
            GRIDLOOM_ENVIRONMENT="production", GRIDLOOM_BOOTSTRAP_USERNAME="", GRIDLOOM_BOOTSTRAP_PASSWORD=""
        ) as service:
            assert service.launch().wait(60) == 1
            assert "GRIDLOOM_BOOTSTRAP_USERNAME" in service.log.read_text()

    def test_exposes_metrics_on_a_port_of_their_own(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with a_service(GRIDLOOM_METRICS_PORT=str(port)) as service:
            service.start()
            wait_until(lambda: "Ctrl-C" in service.log.read_text())
            exposed = subprocess.run(
                [
                    "python3",
                    "-c",
                    f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}').read().decode())",
                ],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            assert "gridloom_request_seconds" in exposed


class TestCrash:
    def test_of_a_worker_is_repaired(self, shared: Service) -> None:
        before = {worker.pid for worker in shared.workers()}
        for _ in range(3):  # thrice within moments, which must not end the service
            victim = shared.workers()[0]
            victim.kill()
            wait_until(lambda v=victim: not is_alive(v) and len(shared.workers()) == len(before))  # type: ignore[misc]
        wait_until(shared.is_ready)
        assert {worker.pid for worker in shared.workers()} != before

    def test_of_the_database_is_repaired(self, shared: Service) -> None:
        before = shared.postgres().pid
        shared.postgres().kill()
        wait_until(lambda: any(c.name() == "postgres" and c.pid != before for c in shared.supervisor.children()))
        wait_until(shared.is_ready)

    def test_of_the_supervisor_takes_everything_along(self) -> None:
        with a_service() as service:
            service.start()
            tree = service.tree()
            assert service.process is not None
            service.process.kill()
            service.process.wait()
            wait_until(lambda: not any(is_alive(process) for process in tree), seconds=20)

    def test_of_everything_is_followed_by_a_start_that_recovers(self) -> None:
        with a_service() as service:
            service.start()
            service.kill_everything()
            service.start()
            assert service.stop() == 0


class TestCommands:
    def test_migrate_and_openapi_work_beside_a_running_service(self, shared: Service) -> None:
        done = _gridloom(shared, "migrate")
        assert "up to date" in done.stdout
        assert json.loads(_gridloom(shared, "openapi").stdout)["openapi"] == "3.1.0"

    def test_invite_lets_somebody_in_who_could_not_sign_in(self, shared: Service) -> None:
        said = _gridloom(shared, "invite", "new@example.com", "--role", "VIEWER").stdout
        person = {"username": "new-viewer", "password": "a long new password 8", "displayName": "New"}
        status, _ = shared.call("POST", "/auth/public/invitations/accept", {"token": said.split()[-1], **person})
        assert status == 201

    def test_rotate_signing_key_signs_nobody_out(self, shared: Service) -> None:
        token = shared.operator_token()
        kid = _gridloom(shared, "rotate-signing-key").stdout.split()[-1].rstrip(".")
        status, published = shared.call("GET", "/auth/public/jwks")
        assert status == 200
        assert kid in {key["kid"] for key in published["keys"]}
        assert shared.call("GET", "/auth/me", token=token)[0] == 200

    def test_backup_and_restore_carry_everything_over(self, shared: Service) -> None:
        with a_service() as other:
            file = str(other.home.parent / "backup")
            _gridloom(shared, "backup", file)
            _gridloom(other, "restore", file)
            other.start()
            assert other.operator_token()
            again = _gridloom(other, "restore", file, check=False)
            assert again.returncode == 1
            assert "not empty" in again.stderr


def _gridloom(service: Service, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
    import sys

    command = [sys.executable, "-m", "gridloom.cli", *arguments]
    done = subprocess.run(command, env=service.environment, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done
