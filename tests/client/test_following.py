"""Streams of the real service through connections that break: nothing is lost, nothing comes twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import httpx2
import pytest
from tests.people import OPERATOR_USERNAME, PASSWORD

from gridloom_client import AsyncClient, Client
from gridloom_client.streams import FollowedPoints

START = datetime(2026, 3, 29, tzinfo=UTC)
RATED = {"ratedChargePower": 1, "ratedDischargePower": 1, "energyCapacity": 1}
RATED |= {"chargeEfficiency": 1, "dischargeEfficiency": 1}


class BrittleLine:
    """Passes bytes on to the service until it is cut."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._host, self._port = parts.hostname, parts.port
        self._open: set[asyncio.StreamWriter] = set()
        self.address = ""

    async def serve(self) -> asyncio.Server:
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward = await asyncio.open_connection(self._host, self._port)
        self._open |= {writer, onward[1]}
        with contextlib.suppress(OSError):
            await asyncio.gather(self._copy(reader, onward[1]), self._copy(onward[0], writer))

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await source.read(65536):
                sink.write(chunk)
                await sink.drain()
        sink.close()

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()


@pytest.fixture
async def line(address: str) -> AsyncIterator[BrittleLine]:
    made = BrittleLine(address)
    server = await made.serve()
    yield made
    made.cut()
    server.close()


@pytest.fixture
async def battery(operator: httpx2.AsyncClient) -> str:
    me = (await operator.get("/auth/me")).json()
    body = {"name": "B", "organisationID": me["organisationID"], "deliveryZone": "TenneT", "parameters": RATED}
    id: str = (await operator.post("/physical-assets", json=body)).json()["id"]
    return id


async def write(operator: httpx2.AsyncClient, battery: str, number: int) -> None:
    column = {"time": [(START + timedelta(minutes=number)).isoformat()], "value": [number]}
    answer = await operator.post(f"/monitoring/{battery}/datapoints", json={"active_power": column})
    assert answer.json()["written"] == 1


def values_of(followed: FollowedPoints) -> list[float | None]:
    return [value for _, _, value in followed.points()] if followed.kind == "datapoints" else []


class TestAStream:
    async def test_of_an_awaiting_client_goes_on_after_each_cut(
        self, line: BrittleLine, operator: httpx2.AsyncClient, battery: str
    ):
        seen: list[float | None] = []
        async with AsyncClient(line.address, username=OPERATOR_USERNAME, password=PASSWORD) as client:
            points = client.monitoring.follow(battery)
            assert (await anext(points)).kind == "latest"
            for number in range(1, 4):
                await write(operator, battery, number)
                seen += values_of(await asyncio.wait_for(anext(points), 120))
                line.cut()
            await points.aclose()
        assert seen == [1.0, 2.0, 3.0]

    async def test_of_a_blocking_client_goes_on_with_what_happened_meanwhile(
        self, line: BrittleLine, operator: httpx2.AsyncClient, battery: str
    ):
        with Client(line.address, username=OPERATOR_USERNAME, password=PASSWORD) as client:
            points = client.monitoring.follow(battery)
            assert (await asyncio.to_thread(next, points)).kind == "latest"
            line.cut()
            await write(operator, battery, 1)
            await write(operator, battery, 2)
            seen = [values_of(await asyncio.wait_for(asyncio.to_thread(next, points), 120)) for _ in range(2)]
            points.close()
        assert seen == [[1.0], [2.0]]

    async def test_of_events_has_types_and_a_place_to_go_on_from(
        self, line: BrittleLine, operator: httpx2.AsyncClient, battery: str
    ):
        async def report(description: str) -> None:
            window = {"start": "2031-05-06T06:00:00Z", "end": "2031-05-06T14:00:00Z", "type": "TESTING"}
            volume = {"energyCapacity": 0, "powerCapacity": {"charge": 1, "discharge": 1}}
            body = {"description": description, "volume": volume, **window}
            assert (await operator.post(f"/physical-assets/{battery}/unavailability", json=body)).status_code == 201

        async with AsyncClient(line.address, username=OPERATOR_USERNAME, password=PASSWORD) as client:
            subject = [f"physical-assets/{battery}"]
            await report("before")
            first = await anext(client.events.follow(subjects=subject, last_event_id="0"))
            events = client.events.follow(subjects=subject, last_event_id=first.place)
            waiting = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.5)
            line.cut()
            await report("after")
            second = await asyncio.wait_for(waiting, 120)
            await events.aclose()
        assert (first.type, second.type) == ("unavailability.created", "unavailability.created")
        assert int(second.place) > int(first.place)
