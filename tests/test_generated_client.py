"""A client that a standard generator makes of the interface does what matters most: a bid and a schedule."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
from tests.conftest import migrated_database
from tests.people import PASSWORD
from tests.test_interface import ROOT, make_samples, serve_on_port

from gridloom.platform.database.pool import create_pool
from gridloom.platform.identity.bootstrap import bootstrap_operator
from gridloom.settings import Settings

NAME = "generated_gridloom"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package, made anew of the committed document."""
    place = tmp_path_factory.mktemp("generated")
    target, configuration = place / NAME, place / "configuration.yml"
    configuration.write_text("post_hooks: []")  # nobody reads it, so it need not be formatted
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(ROOT / "openapi.json")]
    done = subprocess.run(
        [*command, "--output-path", str(target), "--meta", "none", "--config", str(configuration)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    return target


@asynccontextmanager
async def signed_in(settings: Settings) -> AsyncIterator[tuple[str, str, dict[str, str]]]:
    async with migrated_database() as url:
        pool = await create_pool(url, size=1)
        await bootstrap_operator(pool, "operator", PASSWORD)
        await pool.close()
        async with serve_on_port(replace(settings, database_url=url)) as address:
            async with httpx2.AsyncClient(base_url=address, timeout=120) as client:
                credentials = {"username": "operator", "password": PASSWORD}
                token = (await client.post("/auth/public/authenticate", json=credentials)).json()["access_token"]
                samples = await make_samples(client, token)
                samples["bidder"] = await sign_in_as_bidder(client, samples["auctionID"])
            yield address, token, samples


async def sign_in_as_bidder(client: httpx2.AsyncClient, auction_id: str) -> str:
    """The token of a trader whose organisation is invited."""
    [organisation] = (await client.get(f"/auctions/{auction_id}")).json()["participants"]
    invitation = {"email": "bidder@example.org", "role": "TRADER"}
    invited = (await client.post(f"/organisations/{organisation}/invitations", json=invitation)).json()
    credentials = {"username": "bidder", "password": PASSWORD}
    accepted = {"token": invited["token"], "displayName": "Bidder", **credentials}
    assert (await client.post("/auth/public/invitations/accept", json=accepted)).status_code == 201
    token: str = (await client.post("/auth/public/authenticate", json=credentials)).json()["access_token"]
    return token


class TestAGeneratedClient:
    def test_has_every_operation(self, generated: Path):
        document = json.loads((ROOT / "openapi.json").read_text())
        wanted = {each["operationId"].lower() for item in document["paths"].values() for each in item.values()}
        made = {path.stem.replace("_", "") for path in (generated / "api").rglob("*.py")}
        assert wanted - made == set()

    def test_has_every_schema(self, generated: Path):
        document = json.loads((ROOT / "openapi.json").read_text())
        wanted = {
            name.lower()
            for name, schema in document["components"]["schemas"].items()
            if "properties" in schema or "enum" in schema
        }
        made = {path.stem.replace("_", "") for path in (generated / "models").glob("*.py")}
        assert wanted - made == set()

    async def test_places_a_bid_and_puts_a_schedule(
        self, generated: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.syspath_prepend(str(generated.parent))
        part: Any = lambda name: importlib.import_module(f"{NAME}.{name}")  # noqa: E731
        async with signed_in(settings) as (address, token, samples):
            client = part("client").AuthenticatedClient(base_url=address, token=token)
            bid = await asyncio.to_thread(
                part("api.auctions.place_bid").sync_detailed,
                UUID(samples["auctionID"]),
                client=part("client").AuthenticatedClient(base_url=address, token=samples["bidder"]),
                body=part("models.new_bid").NewBid(price="1250.50"),
            )
            assert bid.status_code == 201, bid.content
            assert bid.parsed.price == 1250.5

            models = part("models")
            tomorrow = (datetime.now(UTC) + timedelta(days=2)).replace(hour=12, minute=0, second=0, microsecond=0)
            point = models.SchedulePoint(time=tomorrow, power=500.0)
            scheduled = await asyncio.to_thread(
                part("api.virtual_assets.schedule_block").sync_detailed,
                UUID(samples["organisationID"]),
                UUID(samples["virtualAssetID"]),
                UUID(samples["blockID"]),
                client=client,
                body=models.NewSchedule(schedule=[point]),
            )
            assert scheduled.status_code == 200, scheduled.content
            assert scheduled.parsed.imbalance.balanced is False
