"""Readiness on a distributed database some of whose nodes do not answer."""

from __future__ import annotations

import pytest

from gridloom.platform.database.nodes import WorkerNode
from gridloom.platform.health_checks import HealthChecks
from gridloom.platform.worker import health
from gridloom.platform.worker.health import NodeCheck, describe_nodes

WELL = (
    WorkerNode("10.0.0.2:5432", True, {"asset": 11, "auction": 10}),
    WorkerNode("10.0.0.3:5432", True, {"asset": 21, "auction": 22}),
)
ONE_LOST = (WorkerNode("10.0.0.2:5432", False, {"auction": 10, "asset": 11}), WELL[1])


class TestNodes:
    def test_are_none_on_a_single_server(self):
        assert describe_nodes(()).status == "OK"

    def test_that_do_not_answer_are_named_with_what_is_lost(self):
        check = describe_nodes(ONE_LOST)
        assert check.status == "DEGRADED"
        assert check.detail == (
            "1 of 2 worker nodes do not answer; lost until they are back: "
            "11 of 32 shards by asset, 10 of 32 shards by auction (10.0.0.2:5432)"
        )

    def test_that_hold_nothing_lose_nothing(self):
        check = describe_nodes((WorkerNode("10.0.0.2:5432", False, {}), WELL[1]))
        assert check.detail == (
            "1 of 2 worker nodes do not answer; lost until they are back: no shards (10.0.0.2:5432)"
        )


class TestReadiness:
    @pytest.fixture
    def nodes(self, app, monkeypatch):
        """What the database says of its nodes."""
        found = [WELL]

        async def read(db):
            return found[0]

        check = NodeCheck()
        monkeypatch.setattr(health, "read_worker_nodes", read)
        checks = app.resources[HealthChecks]
        # Alone: other tests may have left the service with jobs that failed.
        monkeypatch.setattr(checks, "checks", [check.check_nodes])
        return found

    async def test_shows_addresses_to_the_operator_only(self, anonymous, operator, nodes):
        nodes[0] = ONE_LOST
        shown = (await anonymous.get("/health/ready")).text
        assert "11 of 32 shards by asset" in shown
        assert "10.0.0.2" not in shown
        assert "10.0.0.2:5432" in (await operator.get("/health/ready")).text
