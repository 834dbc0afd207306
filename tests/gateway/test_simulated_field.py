"""`gridloom gateway field`: batteries of a sandbox's simulated world get sites, and a gateway that dispatches them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.gateway.field import sleep_until
from tests.journeys.service import Service, a_service
from tests.ports import free_port

pytestmark = pytest.mark.slow  # a service with a simulated world, a broker and a gateway

QUARTER = timedelta(minutes=15)


@pytest.fixture(scope="module")
def world() -> Iterator[Service]:
    with a_service(GRIDLOOM_WORKERS="1", GRIDLOOM_SIMULATOR="on", GRIDLOOM_SIMULATOR_DAYS="0") as service:
        del service.environment["GRIDLOOM_BOOTSTRAP_USERNAME"], service.environment["GRIDLOOM_BOOTSTRAP_PASSWORD"]
        service.start()
        yield service


def start_field(world: Service, mqtt_port: int | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from gridloom.entry import main; main()", "gateway", "field"]
    ports = ["--mqtt-port", str(mqtt_port or free_port()), "--modbus-port", str(free_port())]
    return subprocess.Popen([*command, *ports], env=world.environment, stderr=subprocess.PIPE, text=True)


class Operator:
    def __init__(self, world: Service) -> None:
        sign_in = json.loads((world.home / "operator.json").read_bytes())
        self._world = world
        self._token: str = world.call("POST", "/auth/public/authenticate", sign_in)[1]["access_token"]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        status, answer = self._world.call(method, path, body, self._token)
        assert status < 300, (status, answer)
        return answer

    def applied(self, quarter: datetime) -> dict[str, bool]:
        """By the names of the batteries that the sites acknowledge for a quarter-hour."""
        query = f"start={written(quarter)}&end={written(quarter + QUARTER)}"
        return {
            asset["name"]: "APPLIED"
            in [one["status"] for one in self.ask("GET", f"{path}/dispatch/acknowledgements?{query}")]
            for asset in self.ask("GET", "/physical-assets")
            for path in [f"/physical-assets/{asset['id']}"]
        }

    def signals_since(self, asset_id: str, start: datetime) -> set[str]:
        query = f"start={written(start)}&end={written(start + QUARTER)}"
        return {
            name
            for name, points in self.ask("GET", f"/monitoring/{asset_id}/datapoints?{query}")["data"].items()
            if points
        }


def written(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


class TestASimulatedField:
    def test_acknowledges_dispatch_and_reports_in_the_place_of_the_simulator(self, world: Service) -> None:
        field = start_field(world)
        operator = Operator(world)

        def quarter_now() -> datetime:
            now = datetime.fromisoformat(operator.ask("GET", "/sandbox/clock")["now"])
            return now.replace(minute=now.minute - now.minute % 15, second=0, microsecond=0)

        try:
            sleep_until(lambda: sum(operator.applied(quarter_now()).values()) == 8, 90)
            following = quarter_now() + QUARTER
            operator.ask("PUT", "/sandbox/clock", {"now": written(following + timedelta(seconds=5))})
            sleep_until(lambda: sum(operator.applied(following).values()) == 8, 60)
            operator.ask("PUT", "/sandbox/clock", {"now": written(following + timedelta(seconds=65))})
            at_site = operator.applied(following)
            for asset in operator.ask("GET", "/physical-assets"):
                signals = operator.signals_since(asset["id"], following)
                assert {"active_power", "state_of_charge"} <= signals, asset["name"]
                assert ("frequency" in signals) is not at_site[asset["name"]], "the simulator's own report"
        finally:
            field.terminate()
            _, said = field.communicate(timeout=30)
        assert field.returncode == 0
        assert "MQTT broker at 127.0.0.1" in said

    def test_says_which_port_is_taken(self, world: Service) -> None:
        refused = start_field(world, world.port)
        _, said = refused.communicate(timeout=60)
        assert (refused.returncode, f"Port {world.port} is taken" in " ".join(said.split())) == (2, True)
