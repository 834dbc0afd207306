"""The background work of each process: what it is given, when it begins and ends, and what readiness says of it."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.kernel.networks import parse_network
from gridloom.kernel.shares import Share, ShareLimits
from gridloom.platform.database.listener import Listener
from gridloom.platform.database.sealing import Sealing
from gridloom.platform.events.hub import EventHub
from gridloom.platform.events.stream_slots import StreamSlots
from gridloom.platform.health_checks import HealthChecks
from gridloom.platform.http.application import ServedConnections
from gridloom.platform.http.shares import Shares, ShareUse
from gridloom.platform.identity.store.revocations import CHANNEL as RIGHTS_CHANGED
from gridloom.platform.jobs.store import QueueHealth
from gridloom.platform.outbound.url_policy import UrlPolicy
from gridloom.platform.worker import lifespans
from gridloom.platform.worker.signals import END_STREAMS
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

WELL = QueueHealth(dead=0, stuck=0, failing=0, overdue_s=0.0, troubled_kinds=(), troubled=())


class Resources(dict[type, Any]):
    def add(self, resource: object) -> None:
        self[type(resource)] = resource


class Process:
    """What a lifespan sees of its process."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.pool = "pool"
        self.shares = Shares()
        self.stopping = asyncio.Event()
        self.connections = ServedConnections()
        self.resources = Resources({HealthChecks: HealthChecks(), Listener: self, UrlPolicy: "rules"})
        self.resources[Sealing] = SimpleNamespace(webhooks="seal")
        self.is_alive = True
        self.heard: dict[str, Any] = {}

    def subscribe(self, channel: str, heard: Any) -> None:
        self.heard[channel] = heard
        self.done.append(("subscribe", channel))

    def part(self, name: str) -> Any:
        """In place of a class: notes how it is made and what is called."""
        process = self

        class Part:
            def __init__(self, *arguments: Any, **options: Any) -> None:
                process.done.append((name, *arguments, options))

            def attach(self, listener: Any) -> None:
                assert listener is process
                process.done.append(f"attach {name}")

            async def start(self) -> None:
                process.done.append(f"start {name}")

            async def stop(self) -> None:
                process.done.append(f"stop {name}")

            async def close(self) -> None:
                process.done.append(f"close {name}")

            def alive(self) -> bool:
                return process.is_alive

        return Part

    async def check(self) -> tuple[str, str, str]:
        [check] = self.resources[HealthChecks].checks
        found = await check("pool")
        return found.name, found.status, found.detail


class TestTheRunnerOfJobs:
    @pytest.mark.parametrize(
        ("running", "workers", "slots"), [(2, 1, 3), (2, 2, 2), (2, 3, 1), (3, 2, 2), (1, 4, 1), (4, 2, 3)]
    )
    async def test_leaves_a_slot_to_other_organisations_on_the_workers_together(
        self, monkeypatch: pytest.MonkeyPatch, running: int, workers: int, slots: int
    ) -> None:
        process: Any = Process()
        monkeypatch.setattr(lifespans, "JobRunner", process.part("runner"))
        limits = ShareLimits(jobs_running=running, jobs_queued=9)
        async with lifespans.run_jobs(process, Settings(workers=workers, shares=limits)):
            assert process.done == [
                ("runner", "pool", {"organisation_slots": slots, "max_running": running}),
                "attach runner",
                "start runner",
            ]

            async def fetchrow(*_: Any) -> dict[str, int]:
                return {"running": 1, "queued": 5}

            use = await process.shares.meters[Share.JOBS](SimpleNamespace(fetchrow=fetchrow), UUID(int=1))
            assert use == ShareUse(used=1, limit=running, waiting=5, max_waiting=9)
        assert process.done[3:] == ["stop runner"]

    async def test_is_well_unless_it_is_late_or_a_job_needs_attention(self, monkeypatch: pytest.MonkeyPatch) -> None:
        process: Any = Process()
        seen = [WELL]

        async def health(pool: Any) -> QueueHealth:
            assert pool == "pool"
            return seen[0]

        monkeypatch.setattr(lifespans, "JobRunner", process.part("runner"))
        monkeypatch.setattr("gridloom.platform.jobs.store.health", health)
        async with lifespans.run_jobs(process, Settings()):
            for late_s, status in ((59.9, "OK"), (60.0, "DEGRADED")):
                seen[0] = replace(WELL, overdue_s=late_s, failing=4)
                assert await process.check() == ("job runner", status, "0 dead, 4 failing, 60 s late")
            seen[0] = replace(WELL, dead=1, stuck=2, troubled_kinds=("clear", "fold"))
            name, status, detail = await process.check()
            assert (name, status) == ("job runner", "DEGRADED")
            assert detail == (
                "1 dead, 0 failing, 0 s late; 3 in need of attention (clear, fold): `gridloom jobs` says why"
            )
            process.is_alive = False
            assert await process.check() == ("job runner", "DOWN", "has stopped")


class TestBackgroundWork:
    async def test_gives_events_their_places(self, monkeypatch: pytest.MonkeyPatch) -> None:
        process: Any = Process()
        monkeypatch.setattr(lifespans, "Sequencer", process.part("sequencer"))
        async with lifespans.sequence_events(process, Settings()):
            assert process.done == [("sequencer", "pool", {}), "start sequencer"]
            assert await process.check() == ("event sequencer", "OK", "running")
            process.is_alive = False
            assert await process.check() == ("event sequencer", "DOWN", "has stopped")
        assert process.done[2:] == ["stop sequencer"]

    async def test_wakes_streams_for_events_and_changed_rights(self, monkeypatch: pytest.MonkeyPatch) -> None:
        process: Any = Process()
        started: list[str] = []

        async def stop(_: StreamSlots) -> None:
            started.append("stop")

        monkeypatch.setattr(EventHub, "rights_changed", lambda _: started.append("rights"))
        monkeypatch.setattr(StreamSlots, "start", lambda _: started.append("start"))
        monkeypatch.setattr(StreamSlots, "stop", stop)
        async with lifespans.stream_events(process, Settings(shares=ShareLimits(event_streams=7))):
            assert process.done == [("subscribe", "gridloom_event"), ("subscribe", RIGHTS_CHANGED)]
            assert started == ["start"]
            assert isinstance(process.resources[EventHub], EventHub)
            slots = process.resources[StreamSlots]
            assert process.shares.meters[Share.EVENT_STREAMS] == slots.read_use

            async def fetchval(*_: Any) -> int:
                return 2

            counted: Any = SimpleNamespace(fetchval=fetchval)
            assert await slots.read_use(counted, UUID(int=1)) == ShareUse(used=2, limit=7)
            process.heard[RIGHTS_CHANGED](None)
        assert started == ["start", "rights", "stop"]

    async def test_calls_webhooks_by_the_rules_of_addresses(self, monkeypatch: pytest.MonkeyPatch) -> None:
        process: Any = Process()
        for name in ("WebhookClient", "Dispatcher"):
            monkeypatch.setattr(lifespans, name, process.part(name))
        async with lifespans.deliver_webhooks(process, Settings()):
            client, dispatcher, *rest = process.done
            assert client == ("WebhookClient", "rules", {})
            assert (dispatcher[0], dispatcher[1], dispatcher[3]) == ("Dispatcher", "pool", "seal")
            assert rest == ["attach Dispatcher", "start Dispatcher"]
            asked: list[Any] = []

            async def disabled_since(*of: Any) -> list[str]:
                asked.append(of)
                return ["one"] * (len(asked) - 1)

            monkeypatch.setattr("gridloom.platform.webhooks.store.disabled_since", disabled_since)
            detail = "disabled in the last week after failing for three days"
            assert await process.check() == ("webhooks", "OK", f"0 {detail}")
            assert await process.check() == ("webhooks", "DEGRADED", f"1 {detail}")
            assert asked == [("pool", timedelta(days=7))] * 2
            process.is_alive = False
            assert await process.check() == ("webhooks", "DOWN", "the dispatcher has stopped")
        assert process.done[4:] == ["stop Dispatcher", "close WebhookClient"], "what is under way still needs it"

    @pytest.mark.parametrize(
        ("behind", "limit"), [({}, 512), ({"trusts_proxy": True}, None), ({"trusted_proxies": "10.0.0.0/8"}, None)]
    )
    async def test_closes_idle_connections_and_limits_no_proxy(
        self, monkeypatch: pytest.MonkeyPatch, behind: dict[str, Any], limit: int | None
    ) -> None:
        process: Any = Process()
        watching = asyncio.Event()

        class Reaper:
            def __init__(self, *of: Any, **options: Any) -> None:
                process.done.append((*of, options))

            async def watch(self) -> None:
                try:
                    await asyncio.Event().wait()
                finally:
                    watching.set()

        if "trusted_proxies" in behind:
            behind = {"trusted_proxies": (parse_network(behind["trusted_proxies"]),)}
        monkeypatch.setattr(lifespans, "ConnectionReaper", Reaper)
        async with lifespans.close_idle_connections(process, Settings(port=8123, **behind)):
            await asyncio.sleep(0)
            assert process.done == [(8123, process.connections, {"max_per_address": limit})]
            assert not watching.is_set()
        async with asyncio.timeout(120):
            await watching.wait()

    async def test_ends_streams_at_a_signal_and_leaves_the_rest(self) -> None:
        process: Any = Process()
        async with lifespans.end_streams_on_signal(process, Settings()):
            signal.raise_signal(END_STREAMS)
            async with asyncio.timeout(120):
                await process.stopping.wait()
        assert signal.getsignal(END_STREAMS) is signal.SIG_DFL
