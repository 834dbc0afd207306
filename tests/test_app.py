"""What the settings make of the service."""

from __future__ import annotations

from dataclasses import replace
from datetime import time, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.conftest import running

from gridloom.ancillary.gates import TenderGates
from gridloom.app import (
    create_app,
    create_edge,
)
from gridloom.capacity.model import ReserveMinutes
from gridloom.kernel.shares import ShareLimits
from gridloom.platform.audit.recording import record_audit
from gridloom.platform.http.caller import Caller
from gridloom.platform.http.run import POSITION
from gridloom.platform.identity.authorization import reauthorize_replay
from gridloom.platform.worker.transport_security import WithTransportSecurity
from gridloom.sandbox.simulator.credentials import SimulatorCredentials, member_name, write_credentials
from gridloom.sandbox.simulator.scenario import ORGANISATIONS
from gridloom.settings import Settings

PRODUCTION = Settings(environment="production", port=8123)


class TestAService:
    def test_tells_browsers_to_stay_with_https_where_it_is_reached_so(self):
        for environment, address, is_told in (
            ("production", "https://grid.example", True),
            ("production", "http://grid.example", False),
            ("sandbox", "https://grid.example", False),
        ):
            settings = Settings(environment=environment, base_url=address, simulator=False)  # type: ignore[arg-type]
            assert isinstance(create_app(settings), WithTransportSecurity) is is_told

    def test_has_the_limits_that_are_set_and_counts_for_all_its_workers(self):
        limits = replace(ShareLimits(), requests_per_minute=7)
        without_database = replace(PRODUCTION, shares=limits)
        made = create_edge(without_database).shares
        assert (made.limits, made.replica.rpartition(":")[2]) == (limits, "8123")
        assert create_edge(replace(without_database, port=8000)).shares.replica.endswith(":8000")

    async def test_closes_gates_and_keeps_reserve_for_as_long_as_the_settings_say(self, settings):
        changed = replace(
            settings,
            gate_closure_fcr=time(8, 1),
            gate_closure_afrr_capacity=time(9, 2),
            gate_closure_afrr_energy_minutes=26,
            gate_opening=time(10, 3),
            gate_opening_fcr_days=15,
            gate_opening_afrr_days=8,
            reserve_minutes_fcr=16,
            reserve_minutes_afrr=61,
            reserve_minutes_afrr_energy=31,
        )
        async with running(changed) as made:
            gates, kept = made.resources[TenderGates], made.resources[ReserveMinutes]
        assert (gates.fcr_day_before, gates.afrr_capacity_day_before, gates.opens_at) == (
            time(8, 1),
            time(9, 2),
            time(10, 3),
        )
        assert (gates.afrr_energy_lead, gates.fcr_days_ahead, gates.afrr_days_ahead) == (timedelta(minutes=26), 15, 8)
        assert (kept.fcr, kept.afrr, kept.afrr_energy) == (16, 61, 31)

    def test_exempts_the_simulator_of_its_own_sandbox_from_limits(self, tmp_path: Path):
        credentials = SimulatorCredentials("words")
        write_credentials(tmp_path, credentials)
        ours = Settings(environment="sandbox", home=tmp_path, simulator=True)
        exempt = {member_name(credentials, slug) for slug in ("operator", *(one.slug for one in ORGANISATIONS))}

        def is_exempt(without_database: Settings, username: str) -> bool:
            person = Caller(uuid4(), "USER", uuid4(), "OPERATOR", "ADMIN", frozenset(), uuid4(), username, "")
            return create_edge(without_database).shares.holder_of(person) is None

        assert all(is_exempt(ours, username) for username in exempt)
        assert not is_exempt(ours, "another")
        for other in (
            replace(ours, simulator=False),
            replace(ours, environment="production"),
            replace(ours, home=tmp_path / "other"),
        ):
            assert not any(is_exempt(other, username) for username in exempt)

    async def test_records_its_changes_and_gives_no_stored_answer_to_who_may_not_have_it_any_more(self, app):
        assert (app.audit, app.check_replay) == (record_audit, reauthorize_replay)


class TestAPageOfAnotherOrigin:
    """As a browser asks, where the settings name the origin."""

    async def ask(self, method: str, **headers: str) -> dict[str, str]:
        application = create_app(Settings(environment="production", cors_origins=("https://a.example",)))
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request"}

        async def send(message: Any) -> None:
            sent.append(message)

        asked = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": "/nowhere", "query_string": b"", "headers": asked}
        await application({**scope, "client": ("203.0.113.7", 1)}, receive, send)
        return {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}

    async def test_may_send_and_read_what_our_clients_do(self):
        asked = {"origin": "https://a.example", "access_control_request_method": "PATCH"}
        told = await self.ask("OPTIONS", **asked)
        assert told["access-control-allow-origin"] == "https://a.example"
        assert set(told["access-control-allow-methods"].split(", ")) == {"GET", "POST", "PUT", "PATCH", "DELETE"}
        may_send = {"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Last-Event-ID", "X-Request-Id"}
        assert may_send | {POSITION} <= set(told["access-control-allow-headers"].split(", "))
        told = await self.ask("GET", origin="https://a.example")
        assert set(told["access-control-expose-headers"].split(", ")) == {
            *("ETag", "Link", "X-Request-Id", "RateLimit", "RateLimit-Policy", "Idempotency-Replayed", "Retry-After"),
            POSITION,
        }

    async def test_that_is_not_named_learns_nothing(self):
        assert "access-control-allow-origin" not in await self.ask("GET", origin="https://b.example")
