"""The interface that is committed is the one that is served, and every operation keeps to it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from tests.conftest import counting_reads, migrated_database, read_from_standby
from tests.people import PASSWORD

from gridloom.app import create_edge
from gridloom.commands.operator import openapi_json
from gridloom.platform.database.pool import create_pool
from gridloom.platform.identity.bootstrap import bootstrap_operator
from gridloom.sandbox import simulator_routes
from gridloom.settings import Settings

ROOT = Path(__file__).parents[1]

# Ends the session that the run is signed in with, empties the sandbox, or never ends.
NOT_FUZZED = ("logout", "updatePassword", "resetSandbox", "moveClock")
CHECKS = (
    *("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance"),
    *("response_headers_conformance", "negative_data_rejection", "unsupported_method"),
)
# Telemetry keeps the good points of a body and tells of each bad one: such a body is not refused as a whole. (A check
# that the command line names is made of every operation, whatever is said here; so it names none.) Of the methods that
# a path does not have, two do: one that others have, and one that nobody knows.
CONFIGURATION = f"""
[phases.coverage]
unexpected-methods = ["DELETE", "TRACE"]
[checks]
enabled = false
{"".join(f"{check}.enabled = true{chr(10)}" for check in CHECKS)}
[[operations]]
include-path-regex = "^/monitoring(/.*)?/datapoints$"
checks.negative_data_rejection.enabled = false
"""
STREAMS = ("/events", "/monitoring/{physicalAssetID}/stream")
PARTS = 4
# The edges of each parameter and field, the same requests in every run; with EXPLORE=1 random ones as well.
CASES = ("coverage", "--seed", "7") if "EXPLORE" not in os.environ else ("coverage,fuzzing", "--max-examples", "20")


ALIKE = re.compile(r"/settlements/[\w-]+|/revenue-reporting/[\w-]+/\{\w+\}/(data-points|statement|benchmark)")
"""Reads that are one function: of each kind of settlement, and of each subject of a report."""


def list_fuzzed(part: int) -> list[str]:
    """Every fourth operation: each part by itself, and in whichever process has time."""
    document = json.loads((ROOT / "openapi.json").read_text())
    names: dict[str, str] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = "" if method == "parameters" else operation["operationId"]
            if not name or path in STREAMS or name in NOT_FUZZED:
                continue
            alike = ALIKE.fullmatch(path) if method == "get" and "EXPLORE" not in os.environ else None
            names.setdefault(name if alike is None else f"{path.split('/')[1]} {alike[1]}", name)
    return list(names.values())[part::PARTS]


class TestTheCommittedInterface:
    def test_is_what_the_service_declares(self):
        committed = (ROOT / "openapi.json").read_text()
        assert json.loads(committed) == json.loads(openapi_json(Settings())), "run `make openapi`"

    def test_names_each_operation_once_in_camel_case(self):
        document = json.loads((ROOT / "openapi.json").read_text())
        names = [o["operationId"] for path in document["paths"].values() for o in path.values()]
        assert len(names) == len(set(names))
        assert all(name[0].islower() and name.isalnum() for name in names)

    def test_has_no_pattern_that_lets_a_line_break_through_at_the_end(self):
        patterns = set(re.findall(r'"pattern": (".*")', (ROOT / "openapi.json").read_text()))
        assert patterns
        assert not [each for each in patterns if json.loads(each)[-1] == "$" and r"(?!\n)$" not in json.loads(each)]


@pytest.fixture
async def served(settings: Settings) -> AsyncIterator[str]:
    """The service on uvicorn and a real port, with an operator who can sign in."""
    async with migrated_database() as url:
        pool = await create_pool(url, size=1)
        await bootstrap_operator(pool, "operator", PASSWORD)
        await pool.close()
        async with serve_on_port(replace(settings, database_url=url)) as address:
            yield address


@asynccontextmanager
async def serve_on_port(settings: Settings) -> AsyncIterator[str]:
    """The service's address, in a thread of its own."""
    edge = create_edge(await read_from_standby(settings))
    server = uvicorn.Server(uvicorn.Config(edge, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    async with asyncio.timeout(60):
        while not server.started:
            await asyncio.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with counting_reads(edge):
            yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await asyncio.to_thread(thread.join, 20)


async def make_samples(client: httpx2.AsyncClient, token: str) -> dict[str, str]:
    """Real resources for the path parameters, so that requests get further than a 404."""
    client.headers["Authorization"] = f"Bearer {token}"
    organisation = (await client.get("/auth/me")).json()["organisationID"]
    now = datetime.fromisoformat((await client.get("/sandbox/clock")).json()["now"])
    day = (now + timedelta(days=2)).replace(hour=0, minute=0, second=0, microsecond=0)
    rating = {
        "ratedChargePower": 10_000,
        "ratedDischargePower": 10_000,
        "energyCapacity": 20_000,
        "chargeEfficiency": 0.95,
        "dischargeEfficiency": 0.95,
    }
    window = {"start": day.isoformat(), "end": (day + timedelta(days=2)).isoformat(), "deliveryZone": "Amprion"}

    async def made(path: str, **body: Any) -> str:
        answer = await client.post(path, json=body)
        assert answer.status_code == 201, answer.text
        assert (await client.get(answer.headers["Location"])).status_code == 200
        identifier: str = answer.json()["id"]
        return identifier

    asset = await made(
        "/physical-assets", name="Battery", organisationID=organisation, deliveryZone="Amprion", parameters=rating
    )
    backing = [{"physicalAssetID": asset, "share": 1}]
    small = {name: value / 10 if value > 1 else value for name, value in rating.items()}
    virtual = await made(
        f"/organisations/{organisation}/virtual-assets", name="Virtual", backing=backing, **window, **small
    )
    blocks = await client.get(f"/organisations/{organisation}/virtual-assets/{virtual}")
    return {
        "organisationID": organisation,
        "physicalAssetID": asset,
        "virtualAssetID": virtual,
        "blockID": blocks.json()["blockIDs"][0],
        "fleetID": await made("/fleets", name="Fleet", organisationID=organisation, physicalAssetIDs=[asset]),
        "portfolioID": await made(f"/organisations/{organisation}/portfolios", name="Portfolio"),
        "auctionID": await made(
            "/auctions",
            start=now.isoformat(),
            end=(now + timedelta(hours=3)).isoformat(),
            item={**window, **small},
            backing=backing,
            participants=[await made("/organisations", name="Bidder", kind="PARTICIPANT")],
        ),
        "webhookID": await made("/webhooks", url="http://127.0.0.1:9/", types=["auction.cleared"]),
        "assetName": "swagger-ui.css",
        "problemName": "bad-request",
    }


class TestEveryOperation:
    @pytest.mark.slow  # some sixty requests an operation
    @pytest.mark.parametrize("part", range(PARTS))
    async def test_keeps_to_the_interface_whatever_it_is_sent(
        self, served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: int
    ):
        """No 5xx, no undocumented status, bodies that match their schema, bad data refused."""
        for wait in ("PATIENCE_S", "STAND_BY_S"):  # of a simulator's long poll; the service runs in this process
            monkeypatch.setattr(simulator_routes, wait, 0.1)
        async with httpx2.AsyncClient(base_url=served, timeout=120) as client:
            credentials = {"username": "operator", "password": PASSWORD}
            token = (await client.post("/auth/public/authenticate", json=credentials)).json()["access_token"]
            samples = await make_samples(client, token)
        parameters = "".join(f'"path.{name}" = "{value}"\n' for name, value in samples.items())
        (tmp_path / "schemathesis.toml").write_text(f"[parameters]\n{parameters}{CONFIGURATION}")
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", str(ROOT / "openapi.json"), "--url", served),
            *("--header", f"Authorization: Bearer {token}"),
            *("--phases", *CASES),
            *("--workers", "1", "--request-timeout", "60", "--no-color"),
            *(option for name in list_fuzzed(part) for option in ("--include-operation-id", name)),
        ]
        # A small environment: it is searched for proxies at every request. And the tables of characters, which take
        # seconds to compute, are kept where the tests keep theirs.
        environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(ROOT / ".hypothesis")
        done = await asyncio.to_thread(
            subprocess.run,
            command,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        assert done.returncode == 0, done.stdout[-30_000:] + done.stderr[-2_000:]
