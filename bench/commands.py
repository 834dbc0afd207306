"""What a command costs its user: processor time of the process from its start to its end, not the service's."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import Harness

SIGNED_IN_S, UNKNOWN_S = 0.3, 0.15
GRIDLOOM = Path(sys.executable).parent / "gridloom"
SIGNED_IN = (
    "whoami",
    "assets list",
    "assets show Husum",
    "dispatch show Husum",
    "performance Husum",
    "auctions list",
    "virtual list",
    "prices",
    "revenue Husum",
    "organisations list --json",
)
UNKNOWN = ("bids", "assets lst", "schedule optimize")
WITHOUT_SERVICE = ("--help", "assets --help", "auctions create --help", "--version", "--complete schedule opt")


def run(harness: Harness) -> None:
    organisation = harness.new_organisation()
    rated = {"ratedChargePower": 1000, "ratedDischargePower": 1000, "energyCapacity": 2000}
    parameters = rated | {"chargeEfficiency": 0.9, "dischargeEfficiency": 0.9}
    battery = {"name": "Husum", "organisationID": str(organisation.id), "deliveryZone": "TenneT"}
    harness.operator.post("/physical-assets", battery | {"parameters": parameters})
    permissions = harness.operator.get("/auth/me")["permissions"]
    key = harness.operator.post("/auth/api-keys", {"name": "bench", "permissions": permissions})["secret"]
    with tempfile.TemporaryDirectory(prefix="gl-bench-") as home:
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"GRIDLOOM_URL": harness.address, "GRIDLOOM_API_KEY": key, "XDG_CONFIG_HOME": home}
        for words, limit_s, code in (
            *((words, SIGNED_IN_S, 0) for words in SIGNED_IN),
            *((words, UNKNOWN_S, 2) for words in UNKNOWN),
            *((words, UNKNOWN_S, 0) for words in WITHOUT_SERVICE),
        ):
            _run_command(words, environment, code)  # compiles what it imports
            rounds = range(max(3, harness.options.rounds))
            cpu_s = min(_run_command(words, environment, code) for _ in rounds)
            figures = {"cpu, ms": round(1000 * cpu_s)}
            harness.report(f"gridloom {words}", figures, target=f"<= {limit_s} s of CPU", met=cpu_s <= limit_s)


def _run_command(words: str, environment: dict[str, str], code: int) -> float:
    """Seconds of processor time of one process and no other: the bench starts one at a time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run([GRIDLOOM, *words.split()], env=environment, capture_output=True, check=False)
    assert ended.returncode == code, (words, ended.stdout, ended.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
