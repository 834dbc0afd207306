"""The interface that is committed is the one that is served, and every operation keeps to it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
import uvicorn
from tests.conftest import migrated_database
from tests.people import PASSWORD

from gridloom.app import create_edge
from gridloom.database.pool import create_pool
from gridloom.identity.bootstrap import bootstrap_operator
from gridloom.operate import interface_json
from gridloom.settings import Settings

ROOT = Path(__file__).parents[1]

# Ends the session that the run is signed in with, empties the sandbox, or never ends.
NOT_FUZZED = ("logout", "changePassword", "resetSandbox", "moveClock")
STREAMS = ("/events", "/monitoring/{physicalAssetID}/stream")


class TestTheCommittedInterface:
    def test_is_what_the_service_declares(self):
        committed = (ROOT / "openapi.json").read_text()
        assert json.loads(committed) == json.loads(interface_json(Settings())), "run `make openapi`"

    def test_names_each_operation_once_in_camel_case(self):
        document = json.loads((ROOT / "openapi.json").read_text())
        names = [o["operationId"] for path in document["paths"].values() for o in path.values()]
        assert len(names) == len(set(names))
        assert all(name[0].islower() and name.isalnum() for name in names)


@pytest.fixture(scope="module")
async def served(settings: Settings) -> AsyncIterator[str]:
    """The service on uvicorn and a real port, with an operator who can sign in."""
    async with migrated_database() as url:
        pool = await create_pool(url, size=1)
        await bootstrap_operator(pool, "operator", PASSWORD)
        await pool.close()
        server = uvicorn.Server(
            uvicorn.Config(create_edge(replace(settings, database_url=url)), port=0, log_level="warning")
        )
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
        server.should_exit = True
        await asyncio.to_thread(thread.join, 20)


async def make_samples(client: httpx2.AsyncClient, token: str) -> dict[str, str]:
    """Real resources for the path parameters, so that requests get further than a 404."""
    client.headers["Authorization"] = f"Bearer {token}"
    me = (await client.get("/auth/me")).json()
    asset = await client.post(
        "/physical-assets",
        json={
            "name": "Battery",
            "organisationID": me["organisationID"],
            "deliveryZone": "Amprion",
            "parameters": {
                "ratedChargePower": 10_000,
                "ratedDischargePower": 10_000,
                "energyCapacity": 20_000,
                "chargeEfficiency": 0.95,
                "dischargeEfficiency": 0.95,
            },
        },
    )
    fleet = await client.post(
        "/fleets", json={"name": "Fleet", "organisationID": me["organisationID"], "physicalAssetIDs": []}
    )
    virtual = await client.post(
        f"/organisations/{me['organisationID']}/virtual-assets",
        json={
            "name": "Loom",
            "start": "2030-01-01T00:00:00Z",
            "end": "2030-01-08T00:00:00Z",
            "deliveryZone": "Amprion",
            "ratedChargePower": 5_000,
            "ratedDischargePower": 5_000,
            "energyCapacity": 10_000,
            "chargeEfficiency": 0.95,
            "dischargeEfficiency": 0.95,
            "backing": [{"physicalAssetID": asset.json()["id"], "share": 1}],
        },
    )
    portfolio = await client.post(f"/organisations/{me['organisationID']}/portfolios", json={"name": "Portfolio"})
    return {
        "organisationID": me["organisationID"],
        "virtualAssetID": virtual.json()["id"],
        "blockID": virtual.json()["blockIDs"][0],
        "portfolioID": portfolio.json()["id"],
        "physicalAssetID": asset.json()["id"],
        "fleetID": fleet.json()["id"],
        "assetName": "swagger-ui.css",
        "problemName": "bad-request",
    }


class TestEveryOperation:
    async def test_keeps_to_the_interface_whatever_it_is_sent(self, served: str, tmp_path: Path):
        """No 5xx, no undocumented status, bodies that match their schema, bad data refused."""
        async with httpx2.AsyncClient(base_url=served) as client:
            credentials = {"username": "operator", "password": PASSWORD}
            token = (await client.post("/auth/public/authenticate", json=credentials)).json()["access_token"]
            samples = await make_samples(client, token)
        parameters = "".join(f'"path.{name}" = "{value}"\n' for name, value in samples.items())
        (tmp_path / "schemathesis.toml").write_text(f"[parameters]\n{parameters}")
        checks = (
            "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,"
            "response_headers_conformance,negative_data_rejection,unsupported_method"
        )
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{served}/openapi.json"),
            *("--header", f"Authorization: Bearer {token}"),
            *("--checks", checks, "--phases", "coverage,fuzzing"),
            *("--max-examples", "5", "--workers", "1", "--request-timeout", "10", "--seed", "7", "--no-color"),
            *(part for name in NOT_FUZZED for part in ("--exclude-operation-id", name)),
            *(part for path in STREAMS for part in ("--exclude-path", path)),
        ]
        done = await asyncio.to_thread(
            subprocess.run, command, capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path
        )
        assert done.returncode == 0, done.stdout[-30_000:] + done.stderr[-2_000:]
