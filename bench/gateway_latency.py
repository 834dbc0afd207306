"""From the moment at which a quarter-hour's dispatch is final to the register of a Modbus server: the service's run at
the gate, its event, the gateway's read of the dispatch and its write. What the batteries do changes with every
quarter-hour, and is not planned before its gate."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from bench.harness import Client, Harness, Organisation, free_port
from gridloom_gateway.simulated_sites import ModbusSite, SimulatedBattery

SITES = 4
RATED_KW, FIRST_KW = 1000.0, 400.0
PARAMETERS = {
    "ratedChargePower": RATED_KW,
    "ratedDischargePower": RATED_KW,
    "energyCapacity": 4 * RATED_KW,
    "chargeEfficiency": 0.95,
    "dischargeEfficiency": 0.95,
}
MAX_WAIT_S = 30.0


class DispatchedSite:
    """A battery behind a Modbus server of this process, which the gateway writes."""

    def __init__(self, organisation: Organisation, name: str) -> None:
        self._owner = organisation.admin
        self.name = name
        body = {"name": name, "organisationID": organisation.id, "deliveryZone": "TenneT", "parameters": PARAMETERS}
        self.asset = str(self._owner.post("/physical-assets", body)["id"])
        self.battery = SimulatedBattery(RATED_KW, 4 * RATED_KW, 2 * RATED_KW)
        self.server = ModbusSite(self.battery, free_port())

    def schedule(self, time: datetime, power_kw: float) -> None:
        points = [{"time": time.isoformat(), "power": power_kw}]
        self._owner.put(f"/physical-assets/{self.asset}/schedule", {"schedule": points})

    def await_power(self, power_kw: float) -> float:
        """When its register was written, in seconds since 1970."""
        deadline_s = time.monotonic() + MAX_WAIT_S
        while time.monotonic() < deadline_s:
            for at_s, written_kw in reversed(self.battery.set_points[-5:]):
                if abs(written_kw - power_kw) < 0.05:
                    return at_s
            time.sleep(0.005)
        raise RuntimeError(f"{self.name}: {power_kw} kW were not written within {MAX_WAIT_S:g} s")


def describe_batteries(sites: Sequence[DispatchedSite]) -> str:
    return "".join(
        f'[[batteries]]\nasset = "{one.asset}"\nname = "{one.name}"\n[batteries.modbus]\nhost = "127.0.0.1"\n'
        f"port = {one.server.port}\n[batteries.modbus.signals]\n"
        'active_power = { register = 100, table = "input", type = "int32", scale = 0.1 }\n'
        'state_of_charge = { register = 102, type = "uint16", scale = 0.01 }\n'
        '[batteries.modbus.set_point]\nregister = 200\ntype = "int32"\nscale = 0.1\ncontrol_register = 202\n'
        f"[batteries.dispatch]\nmax_charge_kw = {RATED_KW}\nmax_discharge_kw = {RATED_KW}\n"
        for one in sites
    )


def back_virtual_asset(operator: Client, sites: Sequence[DispatchedSite], start: datetime) -> None:
    holder = operator.post("/organisations", {"name": f"Holder {time.time_ns()}", "kind": "PARTICIPANT"})
    body = {
        "name": "Loom",
        "start": start.isoformat(),
        "end": (start + timedelta(days=1)).isoformat(),
        "deliveryZone": "TenneT",
        **{"ratedChargePower": 100, "ratedDischargePower": 100, "energyCapacity": 200},
        **{"chargeEfficiency": 0.9, "dischargeEfficiency": 0.9},
        "backing": [{"physicalAssetID": one.asset, "share": 1 / len(sites)} for one in sites],
    }
    operator.post(f"/organisations/{holder['id']}/virtual-assets", body)


def measure_latency(harness: Harness, changes: int) -> dict[str, Any]:
    operator = harness.operator
    organisation = Organisation(operator.get("/auth/me")["organisationID"], operator)
    sites = [DispatchedSite(organisation, f"modbus-{place}") for place in range(SITES)]
    now = datetime.fromisoformat(operator.get("/sandbox/clock")["now"])
    start = (now + timedelta(hours=2)).replace(minute=0, second=0, microsecond=0)
    back_virtual_asset(operator, sites, start)
    for one in sites:
        one.schedule(start, FIRST_KW)
    key = operator.post(
        "/auth/api-keys",
        {
            "name": "gateway",
            "permissions": ["Create:monitoring", "Read:schedules"],
            "physicalAssetIDs": [one.asset for one in sites],
        },
    )["secret"]
    operator.put("/sandbox/clock", {"now": start.isoformat()})
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        (directory / "key").write_text(key)
        (directory / "gateway.toml").write_text(
            f'[service]\nurl = "{harness.address}"\nkey_file = "{directory / "key"}"\nsandbox = true\n'
            f'[gateway]\ndirectory = "{directory / "state"}"\nclock_every_s = 0.05\n' + describe_batteries(sites)
        )
        for one in sites:
            one.server.start()
        command = [sys.executable, "-c", "from gridloom.entry import main; main()", "gateway", "run"]
        gateway = subprocess.Popen([*command, str(directory / "gateway.toml")], stderr=subprocess.DEVNULL)
        try:
            latencies_s = _turn_quarter_hours(operator, sites, start, changes // len(sites))
        finally:
            gateway.terminate()
            gateway.wait(30)
            for one in sites:
                one.server.stop()
    return {
        "set_points": len(latencies_s),
        "p50_ms": round(1000 * float(np.quantile(latencies_s, 0.5))),
        "p99_ms": round(1000 * float(np.quantile(latencies_s, 0.99))),
    }


def _turn_quarter_hours(
    operator: Client, sites: Sequence[DispatchedSite], start: datetime, quarters: int
) -> list[float]:
    for one in sites:
        one.await_power(FIRST_KW)
    latencies_s = []
    for number in range(1, quarters + 1):
        time_of_quarter, power_kw = start + number * timedelta(minutes=15), FIRST_KW - 3 * number
        if number % 2:
            power_kw = -power_kw  # or the batteries are empty after five hours
        for one in sites:
            one.schedule(time_of_quarter, power_kw)
        moved_s = time.time()
        operator.put("/sandbox/clock", {"now": time_of_quarter.isoformat()})
        latencies_s += [one.await_power(power_kw) - moved_s for one in sites]
    return latencies_s
