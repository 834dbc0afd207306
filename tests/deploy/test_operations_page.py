"""The page's way from an empty machine to production is walked: its own commands, in a root of the test's own.

Directories of the machine lie below that root, and ports are free ones. `apt-get`, `useradd` and the installation of
the wheel do nothing but write down that they were called; `systemctl` starts what the unit or the configuration says.
The rest is what the page has: Debian's PostgreSQL, nginx and Prometheus, and the service.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import string
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from subprocess import PIPE

import pytest
from tests.deploy.test_examples import program
from tests.journeys.service import wait_until
from tests.ports import free_port

from gridloom.platform.jobs.declare import jobs_of
from gridloom.wiring import JOB_MODULES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operations.md"
HEADING = "## From an empty Debian machine to production"
POSTGRES = Path("/usr/lib/postgresql/15/bin")
PORTS = ("8001", "9464", "443", "5432", "9090")

SHIMS = {
    "apt-get": 'echo "apt-get $*" >> "$WALK/called"',
    "useradd": 'echo "useradd $*" >> "$WALK/called"',
    "sudo": 'shift 2; PGHOST="$WALK/postgres" PGPORT="$PORT_5432" PGUSER=postgres exec "$@"',
    "python3": 'mkdir -p "$3/bin"; cp "$WALK/bin/pip" "$3/bin/pip"',
    "pip": 'echo "pip $*" >> "$WALK/called"; ln -sf "$GRIDLOOM" "$(dirname "$0")/gridloom"',
    "systemctl": 'exec "$PYTHON" "$WALK/systemctl.py" "$@"',
    "nginx": 'exec "$NGINX_PROGRAM" -p "$WALK" -c "$WALK/nginx.conf" "$@"',
}

SYSTEMCTL = """
import os, re, subprocess, sys
from pathlib import Path
walk, name = Path(os.environ["WALK"]), sys.argv[-1]
if name == "nginx":
    command = [os.environ["NGINX_PROGRAM"], "-p", str(walk), "-c", str(walk / "nginx.conf"), "-g", "daemon off;"]
    environment = {}
elif name == "prometheus":
    command = ["prometheus", f"--config.file={walk}/etc/prometheus/prometheus.yml",
               f"--storage.tsdb.path={walk}/tsdb", f"--web.listen-address=127.0.0.1:{os.environ['PORT_9090']}"]
    environment = {}
else:
    unit = (walk / "etc/systemd/system" / f"{name}.service").read_text()
    values = dict(re.findall(r"^(\\w+)=(.*)$", unit, re.M))
    environment = dict(line.split("=", 1) for line in Path(values["EnvironmentFile"]).read_text().split())
    environment |= dict([values["Environment"].split("=", 1)])
    Path(environment["GRIDLOOM_HOME"]).mkdir(parents=True, exist_ok=True)
    subprocess.run(values["ExecStartPre"].split(), env={**os.environ, **environment}, check=True)
    command = values["ExecStart"].split()
started = subprocess.Popen(command, env={**os.environ, **environment}, stdout=(walk / f"{name}.out").open("ab"),
                           stderr=(walk / f"{name}.log").open("ab"), stdin=subprocess.DEVNULL, start_new_session=True)
with (walk / "pids").open("a") as file:
    file.write(f"{started.pid}\\n")
"""


def read_commands() -> list[str]:
    """The shell commands of the page's section, block by block."""
    section = PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    return re.findall(r"```bash\n(.*?)```", section, re.S)


class Walk:
    """A root in which the page's commands run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.ports = {port: str(free_port()) for port in PORTS}
        self.environment = {
            "PATH": f"{place}/bin:{POSTGRES}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(place / "home"),
            "LANG": "C.UTF-8",
            "WALK": str(place),
            "PYTHON": sys.executable,
            "GRIDLOOM": str(Path(sys.executable).with_name("gridloom")),
            "NGINX_PROGRAM": program("nginx"),
            "PYTHONPATH": str(ROOT / "src"),
            **{f"PORT_{given}": port for given, port in self.ports.items()},
        }

    def prepare(self) -> None:
        for name in ("bin", "home", "etc/systemd/system", "etc/nginx/conf.d", "etc/prometheus", "etc/cron.daily"):
            (self.place / name).mkdir(parents=True)
        for name, body in SHIMS.items():
            (self.place / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
            (self.place / "bin" / name).chmod(0o755)
        (self.place / "systemctl.py").write_text(SYSTEMCTL)
        shutil.copytree(ROOT / "deploy", self.place / "deploy", ignore=shutil.ignore_patterns("__pycache__"))
        for path in (self.place / "deploy").rglob("*.*"):
            if path.suffix in (".service", ".conf", ".yml"):
                path.write_text(self.translate(path.read_text()))
        conf = self.place / "deploy" / "proxy" / "nginx.conf"
        conf.write_text(conf.read_text().replace("listen 80;", f"listen unix:{self.place}/plain.sock;"))
        self._write_nginx()

    def _write_nginx(self) -> None:
        """What Debian's package brings: a configuration that reads conf.d."""
        temporary = " ".join(
            f"{name}_temp_path {self.place}/tmp-{name};"
            for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (self.place / "nginx.conf").write_text(
            f"pid {self.place}/nginx.pid; error_log {self.place}/error.log; events {{}}\n"
            f"http {{ access_log off; {temporary} include {self.place}/etc/nginx/conf.d/*.conf; }}\n"
        )

    def translate(self, text: str) -> str:
        """Directories below the root, and free ports."""
        text = re.sub(r"(?<![\w.-])/(etc|opt|var)/", rf"{self.place}/\1/", text)
        for given, port in self.ports.items():
            text = re.sub(rf"(?<=[:= ]){given}(?=[/:;,\s\]]|$)", port, text, flags=re.M)
        return text.replace("https://gridloom.example.com/", f"https://gridloom.example.com:{self.ports['443']}/")

    def run(self, block: str) -> str:
        """One shell for all blocks would share variables; here each block is a shell of its own."""
        done = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", self.translate(block)],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}\n{self._read_logs()}"
        return done.stdout

    def _read_logs(self) -> str:
        return "\n".join(path.read_text()[-2000:] for path in self.place.glob("*.log"))

    def stop(self) -> None:
        with suppress(FileNotFoundError):
            for pid in (self.place / "pids").read_text().split()[::-1]:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGTERM)


def as_postgres(*command: str) -> list[str]:
    """PostgreSQL never runs as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else [*command]


@pytest.fixture(scope="module")
def walk() -> Iterator[Walk]:
    """An empty machine with PostgreSQL, as Debian's package leaves it."""
    for name in ("nginx", "prometheus", "promtool", "openssl", "curl"):
        program(name)
    if not (POSTGRES / "initdb").is_file():
        pytest.skip("PostgreSQL 15 is not installed (Debian: apt-get install postgresql-15).")
    place = Path(tempfile.mkdtemp(prefix="gl-walk-", dir="/tmp"))
    place.chmod(0o711)
    walk = Walk(place)
    walk.prepare()
    data = place / "postgres"
    data.mkdir()
    if os.geteuid() == 0:
        shutil.chown(data, "postgres")
    control = [*as_postgres(str(POSTGRES / "pg_ctl")), "-D", f"{data}/data"]
    try:
        made = as_postgres(str(POSTGRES / "initdb"), "-D", f"{data}/data", "-U", "postgres", "-E", "UTF8", "-N")
        subprocess.run(
            [*made, "--auth-local=trust", "--auth-host=scram-sha-256"], check=True, capture_output=True, cwd="/tmp"
        )
        options = f"-p {walk.ports['5432']} -k {data} -c fsync=off"
        subprocess.run(
            [*control, "-l", f"{data}/log", "-o", options, "-w", "start"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/tmp",
        )
        yield walk
    finally:
        walk.stop()
        time.sleep(0.2)
        subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd="/tmp")
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def blocks() -> dict[str, str]:
    found = read_commands()
    names = ("programs", "database", "service", "tls", "monitoring", "backups")
    assert len(found) == len(names)
    return dict(zip(names, found, strict=True))


@pytest.fixture(scope="module")
def serving(walk: Walk, blocks: dict[str, str]) -> Walk:
    """As far as the page has a service that answers; what follows needs no more of each other than that."""
    walk.run(blocks["programs"])
    walk.run(blocks["database"])
    assert '"status":"OK"' in walk.run(blocks["service"])
    return walk


def read_events(log: Path) -> list[str]:
    return [json.loads(line)["event"] for line in log.read_text().splitlines()]


@pytest.fixture(scope="module")
def settings(serving: Walk) -> dict[str, str]:
    """Of a second role of the database, the first one's member, whose password has every sign."""
    made = f"create role signs login in role gridloom password '{string.punctuation.replace(chr(39), chr(39) * 2)}'"
    subprocess.run(
        [str(POSTGRES / "psql"), "-q", "-h", f"{serving.place}/postgres", "-p", serving.ports["5432"], "-c", made],
        env={**serving.environment, "PGUSER": "postgres", "PGDATABASE": "postgres"},
        check=True,
    )
    address = f"postgresql://signs:{string.punctuation}@127.0.0.1:{serving.ports['5432']}/gridloom"
    lines = (serving.place / "etc/gridloom.env").read_text().splitlines()
    ports = {"GRIDLOOM_PORT": str(free_port()), "GRIDLOOM_METRICS_PORT": str(free_port())}
    return {**dict(line.split("=", 1) for line in lines), "GRIDLOOM_DATABASE_URL": address, **ports}


class TestAPasswordOfEverySign:
    def gridloom(self, walk: Walk, settings: dict[str, str], command: str) -> list[str]:
        (walk.place / "signs").mkdir(exist_ok=True)
        command_line = [walk.environment["GRIDLOOM"], command]
        done = subprocess.run(
            command_line, cwd=walk.place / "signs", env={**walk.environment, **settings}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert string.punctuation not in done.stdout + done.stderr
        return done.stdout.split()

    def test_is_read_by_check_and_migrate(self, serving: Walk, settings: dict[str, str]):
        self.gridloom(serving, settings, "check")
        assert "date." in self.gridloom(serving, settings, "migrate")

    def test_is_read_from_a_file_by_serve_whose_life_is_lines_of_json(self, serving: Walk, settings: dict[str, str]):
        file, log = serving.place / "address", serving.place / "signs.log"
        file.write_text(settings["GRIDLOOM_DATABASE_URL"] + "\n")
        environment = {**serving.environment, **settings, "GRIDLOOM_DATABASE_URL_FILE": str(file)}
        del environment["GRIDLOOM_DATABASE_URL"]
        with log.open("wb") as errors:
            service = subprocess.Popen(
                [serving.environment["GRIDLOOM"], "serve"],
                cwd=serving.place,
                env=environment,
                stdout=PIPE,
                stderr=errors,
            )
            try:
                for event, sent in (("service.ready", signal.SIGHUP), ("service.reloaded", signal.SIGTERM)):
                    wait_until(lambda event=event: event in read_events(log))  # type: ignore[misc]
                    service.send_signal(sent)
                shown, _ = service.communicate(timeout=60)
            finally:
                service.kill()
        assert shown == b""
        life = [event.removeprefix("service.") for event in read_events(log) if event.startswith("service.")]
        assert life == ["starting", "ready", "reloading", "reloaded", "stopping", "stopped"]
        assert string.punctuation not in log.read_text()


class TestTheTableOfJobs:
    def test_says_of_every_kind_of_job_what_follows_while_it_does_not_run(self):
        """An alert names a kind; the page must have it."""
        table = PAGE.read_text().partition("| Kind | While it does not run |")[2].partition("\n\n")[0]
        named = set(re.findall(r"`([a-z.-]+)`", table))
        known = {kind.name for kind in jobs_of(*JOB_MODULES) if not kind.name.endswith(".retention")}
        assert named == known
        assert "`….retention`" in table


class TestThePage:
    def test_installs_what_it_uses_and_keeps_its_settings_from_others(self, serving: Walk):
        called = (serving.place / "called").read_text()
        assert "pip install gridloom[server]" in called
        assert {"postgresql", "nginx", "prometheus"} <= set(called.split())
        assert (serving.place / "etc/gridloom.env").stat().st_mode & 0o777 == 0o600

    def test_leads_to_a_service_behind_tls_to_which_its_administrator_signs_in(
        self, serving: Walk, blocks: dict[str, str]
    ):
        assert '"status":"OK"' in serving.run(blocks["tls"])
        self.see_signed_in(serving)

    def test_leads_to_monitoring_with_the_alert_rules(self, serving: Walk, blocks: dict[str, str]):
        assert "gridloom_" in serving.run(blocks["monitoring"])
        self.see_scraped(serving)

    def test_leads_to_a_backup_that_was_restored_and_compared(self, serving: Walk, blocks: dict[str, str]):
        assert "restored and compared" in serving.run(blocks["backups"])
        (dump,) = (serving.place / "var/backups/gridloom").glob("*.dump")
        assert dump.stat().st_size > 10_000

    def test_leads_to_a_log_of_json_alone(self, serving: Walk):
        events = read_events(serving.place / "gridloom.log")
        life = [event for event in events if event.startswith("service.")]
        assert (events[0], life[:2]) == ("service.starting", ["service.starting", "service.ready"])
        assert (serving.place / "gridloom.out").read_text() == ""

    def see_signed_in(self, walk: Walk) -> None:
        """As the administrator whom the settings name, over TLS."""
        lines = (walk.place / "etc/gridloom.env").read_text().splitlines()
        settings = dict(line.split("=", 1) for line in lines)
        trusting = ssl.create_default_context(cafile=str(walk.place / "etc/ssl/gridloom/fullchain.pem"))
        body = (
            f'{{"username": "{settings["GRIDLOOM_BOOTSTRAP_USERNAME"]}", '
            f'"password": "{settings["GRIDLOOM_BOOTSTRAP_PASSWORD"]}"}}'
        )
        with (
            socket.create_connection(("127.0.0.1", int(walk.ports["443"]))) as plain,
            trusting.wrap_socket(plain, server_hostname="gridloom.example.com") as secure,
        ):
            secure.sendall(
                b"POST /auth/public/authenticate HTTP/1.1\r\nHost: gridloom.example.com\r\nConnection: close\r\n"
                b"Content-Type: application/json\r\n" + f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
            )
            answer = b""
            while more := secure.recv(65536):
                answer += more
        assert answer.startswith(b"HTTP/1.1 200"), answer

    def see_scraped(self, walk: Walk) -> None:
        """Prometheus has the service among its targets and the alert rules loaded."""
        deadline = time.monotonic() + 20
        while True:
            with suppress(OSError):
                address = f"http://127.0.0.1:{walk.ports['9090']}/api/v1"
                targets = urllib.request.urlopen(f"{address}/targets", timeout=5).read().decode()
                rules = urllib.request.urlopen(f"{address}/rules", timeout=5).read().decode()
                if walk.ports["9464"] in targets:
                    assert "Gridloom" in rules
                    return
            assert time.monotonic() < deadline
            time.sleep(0.2)
