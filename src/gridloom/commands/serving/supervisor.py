"""The supervisor: granian's master with a longer breath, which keeps workers, database and simulator alive."""

from __future__ import annotations

import gc
import http.client
import importlib
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import structlog
from granian.constants import Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from gridloom.commands.serving.logs import configure_logs
from gridloom.commands.serving.ports import listening_address
from gridloom.commands.serving.simulator_process import SimulatorProcess
from gridloom.platform.database.server.embedded import EmbeddedPostgres
from gridloom.platform.database.server.processes import EmbeddedPostgresError, end_with_parent
from gridloom.platform.worker.malloc import configure_malloc
from gridloom.platform.worker.prometheus_multiprocess import mark_worker_dead
from gridloom.platform.worker.signals import END_STREAMS
from gridloom.settings import Settings, address_of

log = structlog.get_logger()

POLL_INTERVAL_S = 0.2  # between two checks of the processes
STARTING_S = 0.05  # the same before the service has been ready
STABLE_S = 2.0  # a worker that lived this long has got to its work
FREE_RESTARTS = 3  # in a row and at once; then with growing pauses
MAX_FAILED_STARTS = 8  # before the service has ever been ready: then something is wrong with it
MAX_PAUSE_S = 1.0
MAX_START_S = 30.0
ROTATION_EVERY_S = 30.0
THREAD_SWITCH_INTERVAL_S = (
    0.001  # of a thread, while the event loop waits for the interpreter; by itself Python lets it have 5 ms
)
MAX_CONNECTIONS_PER_WORKER = 65_536  # connections; who says nothing on one is closed by edge/admit/connection_reaper.py

_TCP_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTENING = "0A"


def load_service() -> None:
    """Load all rooms once, to be shared by all workers through fork: they start at once and share their memory."""
    gc.disable()  # hardly anything of it is garbage
    try:
        importlib.import_module("gridloom.app")
        importlib.import_module("gridloom.market_calendar").calendar_edges_s()  # or each fork finds it out anew
    finally:
        gc.enable()


def load_application(settings: Settings, supervisor: int) -> Any:
    """In a worker, before anything else: its application, and that it ends with its supervisor."""
    end_with_parent(supervisor, signal.SIGKILL)
    os.setsid()  # Ctrl-C goes to the supervisor, which lets requests finish
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # until the server sets its own
    signal.signal(END_STREAMS, signal.SIG_IGN)  # until the service sets its own
    configure_malloc()
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL_S)
    from gridloom.app import create_app
    from gridloom.platform.http.long_bodies.decoder_process import leave_pandas_out, start_fork_server

    leave_pandas_out()
    start_fork_server()  # while nothing runs here beside us
    configure_logs(settings.log_format, settings.log_level.upper())
    return create_app(settings)


class Supervisor(MPServer):
    """granian's master with a longer breath: a dead worker is replaced at once and for ever, a dead database too.

    granian's own loop gives up when a worker dies twice within six seconds; nothing here should end because of that as
    long as workers get to their work.
    """

    def __init__(self, settings: Settings, postgres: EmbeddedPostgres | None, on_ready: Callable[[], None]) -> None:
        super().__init__(
            target="gridloom.app:create_app",
            address=listening_address(settings.host, settings.port)[4][0],
            port=settings.port,
            interface=Interfaces.ASGI,
            workers=settings.workers,
            websockets=False,
            backlog=2048,
            backpressure=MAX_CONNECTIONS_PER_WORKER,
            http1_settings=HTTP1Settings(header_read_timeout=15_000),
            log_level=LogLevels.critical,  # we log what happens to workers ourselves
            workers_kill_timeout=settings.shutdown_grace_s,
        )
        self.settings = settings
        self.postgres = postgres
        self.on_ready = on_ready
        self.short_lives: dict[int, int] = {}
        self.restarts_due: dict[int, float] = {}
        self.revival_due = 0.0
        self.rotation_due = 0.0
        self.is_ready = False
        self.failure: str | None = None
        self.simulator = SimulatorProcess(settings)

    def run(self) -> str | None:
        """Runs until stopped; the error, if the service never started."""
        load_service()
        gc.collect()
        gc.freeze()
        try:
            self.serve(target_loader=partial(load_application, self.settings, os.getpid()), wrap_loader=False)
        except BaseException:
            self._stop_workers()
            raise
        return self.failure

    def _serve_loop(self, spawn_target: Any, target_loader: Any) -> None:
        while not self.interrupt_signal:
            self.main_loop_interrupt.wait(POLL_INTERVAL_S if self.is_ready else STARTING_S)
            if self.interrupt_signal:
                break
            self.main_loop_interrupt.clear()
            self._revive_database()
            self._replace_dead_workers(spawn_target, target_loader)
            self._rotate_log()
            if self.reload_signal:
                self._rolling_restart(spawn_target, target_loader)
            if not self.is_ready and _is_answering(self.settings):
                self.is_ready = True
                self._expose_metrics()
                self.on_ready()
            if self.is_ready:
                self.simulator.keep_alive()
        self.interrupt_children.clear()

    def _rolling_restart(self, spawn_target: Any, target_loader: Any) -> None:
        """At SIGHUP: worker after worker, each new one before its old one leaves. Streams of the old one end cleanly,
        and the database is looked after meanwhile."""
        self.reload_signal = False
        began = time.monotonic()
        log.info("service.reloading", workers=len(self.wrks))
        for index, old in enumerate(list(self.wrks)):
            self.respawned_wrks[index] = time.monotonic()
            new = self._spawn_worker(idx=index, target=spawn_target, callback_loader=target_loader)
            new.start()  # type: ignore[no-untyped-call]
            self.wrks[index] = new
            self._await_listening(new)
            self._end_worker(old)
        log.info("service.reloaded", workers=len(self.wrks), seconds=round(time.monotonic() - began, 2))

    def _await_listening(self, worker: Any) -> None:
        """Until then only the old worker can accept a connection; one that does not get there is replaced later."""
        deadline = time.monotonic() + MAX_START_S
        while (
            worker.is_alive()
            and time.monotonic() < deadline
            and not _is_listening(worker.inner.pid, self.settings.port)
        ):
            time.sleep(POLL_INTERVAL_S / 4)
            self._revive_database()

    def _end_worker(self, worker: Any) -> None:
        pid = worker.inner.pid
        with suppress(ProcessLookupError):
            os.kill(pid, END_STREAMS)
        worker.terminate()
        deadline = time.monotonic() + self.settings.shutdown_grace_s
        while worker.is_alive() and time.monotonic() < deadline:
            worker.join(POLL_INTERVAL_S)
            self._revive_database()
        if worker.is_alive():
            log.error("worker.stop_timed_out", pid=pid, action="killing it")
            worker.kill()
            worker.join()
        mark_worker_dead(pid)

    def _rotate_log(self) -> None:
        now = time.monotonic()
        if self.postgres is None or now < self.rotation_due:
            return
        self.rotation_due = now + ROTATION_EVERY_S
        self.postgres.rotate_log()

    def _expose_metrics(self) -> None:
        """On a port of their own, for those who would rather not give their Prometheus a token."""
        if self.settings.metrics_port is None:
            return
        from prometheus_client import CollectorRegistry, multiprocess, start_http_server

        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        start_http_server(self.settings.metrics_port, self.settings.host, registry)

    def _stop_workers(self) -> None:
        """The simulator first, for it is a client; then streams, which would hold the workers until they are killed."""
        log.info("service.stopping", grace_s=self.settings.shutdown_grace_s)
        self.simulator.stop()
        for worker in self.wrks:
            with suppress(ProcessLookupError):
                os.kill(worker.inner.pid, END_STREAMS)
        super()._stop_workers()  # type: ignore[no-untyped-call]

    def _revive_database(self) -> None:
        if self.postgres is None or self.postgres.is_running() or time.monotonic() < self.revival_due:
            return
        log.error("postgres.exited", action="starting it again")
        try:
            self.postgres.revive()
        except EmbeddedPostgresError as error:  # a full disk, say: the workers answer 503 until there is space
            log.error("postgres.start_failed", error=str(error))
            self.revival_due = time.monotonic() + MAX_PAUSE_S

    def _replace_dead_workers(self, spawn_target: Any, target_loader: Any) -> None:
        now = time.monotonic()
        for index in sorted(set(self.interrupt_children)):
            short_lives = self.short_lives.get(index, 0) + 1 if now - self.wrks[index].birth < STABLE_S else 0
            self.short_lives[index] = short_lives
            if short_lives > MAX_FAILED_STARTS and not self.is_ready:
                self.failure = "The workers do not start; the messages above say why."
                self.interrupt_signal = True
                return
            pause_s = min(0.05 * 2 ** (short_lives - FREE_RESTARTS), MAX_PAUSE_S)
            self.restarts_due[index] = now + (pause_s if short_lives > FREE_RESTARTS else 0)
            dead = self.wrks[index].inner
            log.error("worker.exited", worker=index + 1, pid=dead.pid, cause=_cause_of(dead), action="replacing it")
            mark_worker_dead(dead.pid)
        self.interrupt_children.clear()
        for index in [index for index, due in self.restarts_due.items() if due <= now]:
            del self.restarts_due[index]
            self._respawn_workers([index], spawn_target, target_loader)


def _is_listening(pid: int, port: int) -> bool:
    """Whether a process takes connections on this port; where the system does not tell, it is taken for granted."""
    try:
        lines = [line.split() for table in _TCP_TABLES if table.exists() for line in table.read_text().splitlines()[1:]]
        listening = {
            f"socket:[{row[9]}]" for row in lines if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port
        }
        descriptors = [entry.readlink() for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return not _TCP_TABLES[0].exists()
    return any(str(target) in listening for target in descriptors)


def _cause_of(process: Any) -> str:
    """The reason why a process ended, in words."""
    process.join(0.1)  # its exit code is known once it has been waited for
    code = process.exitcode
    if code is None:
        return "unknown"
    if code >= 0:
        return f"it left with code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"


def _is_answering(settings: Settings) -> bool:
    where = urlsplit(address_of(settings))
    connection = http.client.HTTPConnection(where.hostname or "", settings.port, timeout=2)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
