"""Answers as frames, and frames as bodies."""

from __future__ import annotations

import inspect
import io
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import httpx2
import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.script import ORGANISATION
from tests.each import for_each

from gridloom_client import (
    ARROW,
    JSON,
    PARQUET,
    AsyncClient,
    Client,
    PointsRefusedError,
    Table,
    UnprocessableError,
)
from gridloom_client.batching import cut_frame
from gridloom_client.frames import arrow_of, plain_body, plain_row
from gridloom_client.inputs import Point
from gridloom_client.operations import OPERATIONS

START = datetime(2026, 10, 24, 22, tzinfo=UTC)
TIMES = [START + timedelta(minutes=15 * step) for step in range(100)]
"""The market day that has 100 quarter-hours."""


class Recorder:
    """A service that answers one thing and keeps what it was sent."""

    def __init__(self, content: bytes, media_type: str = JSON) -> None:
        self.content, self.media_type = content, media_type
        self.requests: list[httpx2.Request] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        return httpx2.Response(200, content=self.content, headers={"Content-Type": self.media_type})

    @property
    def client(self) -> Client:
        return Client(api_key="k", transport=httpx2.MockTransport(self))

    @property
    def awaiting(self) -> AsyncClient:
        return AsyncClient(api_key="k", transport=httpx2.MockTransport(self))

    @property
    def sent(self) -> Any:
        return msgspec.json.decode(self.requests[-1].content)


def arrow_answer() -> bytes:
    table = pa.table(
        {"time": pa.array(TIMES, pa.timestamp("ms", tz="UTC")), "stateOfChargePercentage": np.linspace(0, 100, 100)}
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


BLOCK = {
    **{"id": str(UUID(int=1)), "start": "2026-10-24T22:00:00Z", "end": "2026-10-25T22:00:00Z", "market": "WHOLESALE"},
    **{"ratedChargePower": 1, "ratedDischargePower": 1, "schedule": [], "powerCapacity": [], "expectedCuts": []},
    "version": 1,
    "imbalance": {
        **{"balanced": True, "endStateOfChargePercentage": 50, "imbalanceCharge": 0, "imbalanceDischarge": 0},
        "feedback": "",
    },
}


class TestATable:
    async def test_comes_to_an_awaiting_client_too(self):
        table = await Recorder(arrow_answer(), ARROW).awaiting.virtual_assets.state_of_charge.table("1", "2")
        assert len(table.to_polars("Europe/Berlin")) == 100

    def test_is_what_an_answer_lists(self):
        block = {**BLOCK, "schedule": [{"time": "2026-10-24T22:00:00Z", "power": 5.0}]}
        service = Recorder(msgspec.json.encode(block))
        answer = service.client.virtual_assets.asset_schedule("1", "2")
        assert answer.to_pandas("Europe/Berlin").to_dict("list")["power"] == [5.0]
        assert service.client.virtual_assets.asset_schedule.table("1", "2").to_polars()["power"].to_list() == [5.0]
        assert answer._repr_html_().startswith("<table>")

    def test_shows_itself_in_a_notebook(self):
        html = Table.read(arrow_answer())._repr_html_()
        assert html.startswith("<table>")
        assert "100 rows" in html

    def test_takes_in_what_is_left_of_a_collection(self):
        organisation = {**ORGANISATION, "id": str(UUID(int=1))}
        listed = Recorder(msgspec.json.encode([organisation])).client.organisations.list()
        assert listed.to_polars()["name"].to_list() == ["A"]


class TestARow:
    class Kind(Enum):
        FIRST = "first"

    class Part(msgspec.Struct):
        battery: UUID
        share: Decimal

    def test_has_plain_values_however_deep_they_lie(self):
        one, part = UUID(int=1), self.Part(UUID(int=1), Decimal("0.5"))
        plain = {"battery": str(one), "share": 0.5}
        item = {
            **{"physicalAssetID": one, "kind": self.Kind.FIRST, "part": part, "parts": [part], "price": Decimal("1.5")},
            **{"more": {"a": [1]}, "time": START, "soc": None},
        }
        assert plain_row(item) == {
            **{"physical_asset_id": str(one), "kind": "first", "part": plain, "parts": [plain], "price": 1.5},
            **{"more": '{"a":[1]}', "time": START, "soc": None},
        }
        assert plain_row(part) == plain
        assert isinstance(plain_row(item)["price"], float)


class TestAFrame:
    @pytest.mark.parametrize(
        "frame",
        [
            pd.DataFrame({"time": TIMES, "power": np.arange(100)}),
            pd.DataFrame({"power": np.arange(100.0)}, index=pd.DatetimeIndex(TIMES)),
            pd.Series(np.arange(100.0), index=pd.DatetimeIndex(TIMES).tz_convert("Europe/Berlin"), name="power"),
            pl.DataFrame({"time": TIMES, "power": range(100)}),
            pa.table({"time": TIMES, "power": range(100)}),
            [Point(time=time, power=power) for power, time in enumerate(TIMES)],
        ],
        ids=["pandas", "indexed", "series", "polars", "arrow", "points"],
    )
    def test_is_a_schedule(self, frame: Any):
        service = Recorder(msgspec.json.encode(BLOCK))
        service.client.virtual_assets.set_schedule("1", "2", "3", schedule=frame)
        schedule = service.sent["schedule"]
        assert [datetime.fromisoformat(point["time"]) for point in schedule] == TIMES
        assert [point["power"] for point in schedule] == list(range(100))

    def test_of_facts_goes_as_parquet_with_the_wires_names(self):
        service = Recorder(msgspec.json.encode({"received": 0, "inserted": 0, "replaced": 0, "unchanged": 0}))
        service.client.settlements.add_net_off(pd.DataFrame({"asset_id": ["1"], "time": TIMES[:1], "volume": [1.5]}))
        assert service.requests[0].headers["Content-Type"] == PARQUET
        assert pq.read_table(io.BytesIO(service.requests[0].content)).column_names == ["assetID", "time", "volume"]

    def test_with_refused_points_raises_unless_part_of_it_will_do(self):
        refusal = {"reason": "INVALID_VALUE", "detail": "the value is not a number", "count": 2, "pointers": []}
        written = {"received": 3, "written": 1, "overwritten": 0, "refused": 2, "refusals": [refusal]}
        nothing = {**written, "written": 0, "refused": 3, "type": "/docs/problems/nothing-written", "status": 422}
        stored = Recorder(msgspec.json.encode(written)).client.monitoring
        with pytest.raises(
            PointsRefusedError, match="2 of 3 points were refused: 2 since the value is not a number"
        ) as it:
            stored.write("1", {})
        assert it.value.written == stored.write("1", {}, partial=True)
        refusing = Client(api_key="k", transport=httpx2.MockTransport(lambda _: httpx2.Response(422, json=nothing)))
        assert refusing.monitoring.write("1", {}, partial=True).refused == 3
        with pytest.raises(UnprocessableError):
            refusing.monitoring.write_many({})

    def test_adds_up_what_differs_from_piece_to_piece(self, monkeypatch: pytest.MonkeyPatch):
        """Assets and reasons come in the order in which they were met first."""
        monkeypatch.setattr("gridloom_client.batching.CELLS_AT_ONCE", 100)

        def answer(assets: dict[int, tuple[int, int]], refusals: dict[str, tuple[int, list[int]]]) -> httpx2.Response:
            return httpx2.Response(
                200,
                json={"received": 50, "written": 40, "overwritten": 3, "refused": 7}
                | {
                    "assets": [
                        {"physicalAssetID": str(UUID(int=n)), "written": written, "overwritten": overwritten}
                        for n, (written, overwritten) in assets.items()
                    ],
                    "refusals": [
                        {"reason": reason, "detail": reason.lower(), "count": count}
                        | {"pointers": [f"/{row}/time" for row in rows]}
                        for reason, (count, rows) in refusals.items()
                    ],
                },
            )

        replies = [
            answer({2: (1, 10), 1: (2, 20)}, {"INVALID_TIME": (5, [3, 49])}),
            answer({3: (4, 40), 2: (8, 80)}, {"BAD_QUALITY": (2, [0]), "INVALID_TIME": (11, [7])}),
        ]
        client = Client(api_key="k", transport=httpx2.MockTransport(lambda _: replies.pop(0)))
        frame = pd.DataFrame({"physical_asset_id": "1", "active_power": 1.5}, index=pd.DatetimeIndex(TIMES))
        outcome = client.monitoring.write_many(frame, partial=True)
        assert [(one.physical_asset_id.int, one.written, one.overwritten) for one in outcome.assets] == [
            *((2, 9, 90), (1, 2, 20), (3, 4, 40))
        ]
        assert [(one.reason, one.count, one.pointers) for one in outcome.refusals] == [
            ("INVALID_TIME", 16, ("/3/time", "/49/time", "/57/time")),
            ("BAD_QUALITY", 2, ("/50/time",)),
        ]

    def test_of_many_signals_goes_in_pieces_of_as_many_points_as_the_service_takes(self):
        """A row of a hundred signals is a hundred points of the million that one request may have."""
        pieces = cut_frame(pa.table({"time": range(9000), **{f"s{n}": range(9000) for n in range(100)}}), ARROW)
        assert [piece.num_rows for piece in pieces] == [4000, 4000, 1000]
        written = {"received": 1, "written": 1, "overwritten": 0, "refused": 0, "refusals": []}
        service = Recorder(msgspec.json.encode(written))
        service.client.monitoring.write("1", pl.DataFrame({f"s{n}": range(9000) for n in range(101)}))
        assert len(service.requests) == 3

    def test_that_is_refused_halfway_says_what_has_been_taken(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("gridloom_client.batching.ROWS_AT_ONCE", 60)
        good = msgspec.json.encode({"received": 60, "inserted": 60, "replaced": 0, "unchanged": 0})
        replies = [httpx2.Response(200, content=good), httpx2.Response(422, json={"title": "No"})]
        client = Client(api_key="k", transport=httpx2.MockTransport(lambda _: replies.pop(0)))
        with pytest.raises(UnprocessableError) as refused:
            client.settlements.add_net_off(pl.DataFrame({"volume": [1.5] * 100}))
        assert refused.value.__notes__[0] == "The rows before row 60 of the frame have been taken."

    def test_with_naive_times_is_refused_before_anything_is_sent(self):
        service = Recorder(b"")
        naive = pd.DataFrame({"time": pd.DatetimeIndex(["2026-10-25 00:00"]), "power": [1.0]})
        with pytest.raises(ValueError, match="have no zone"):
            service.client.virtual_assets.set_schedule("1", "2", "3", schedule=naive)
        for body in ([{"time": START.replace(tzinfo=None)}], Point(time=START.replace(tzinfo=None), power=1)):
            with pytest.raises(ValueError, match="has no offset"):
                plain_body(body)
        assert service.requests == []
        second = pa.table({"time": TIMES, "stored": pa.array([0] * 100, pa.timestamp("us"))})
        with pytest.raises(ValueError, match="in column stored have no zone"):
            arrow_of(second)


class TestABody:
    def test_takes_stamps_and_numbers_of_pandas_and_numpy(self):
        body = plain_body(
            [{"time": pd.Timestamp(START), "power": np.float32(1.5), "n": np.int64(3), "v": np.arange(2)}]
        )
        assert msgspec.json.decode(msgspec.json.encode(body)) == [
            {"time": "2026-10-24T22:00:00Z", "power": 1.5, "n": 3, "v": [0, 1]}
        ]

    def test_of_bytes_needs_its_type(self):
        service = Recorder(b"{}")
        with pytest.raises(ValueError, match="content_type"):
            service.client.monitoring.write("1", b"signal,time,value")
        assert service.requests == []


BLOCKING, AWAITING = Client(), AsyncClient()


class TestAMethod:
    @for_each(sorted(OPERATIONS.values()))
    def test_tells_its_parameters_and_what_it_does(self, name: str):
        surface, _, method = name.partition(".")
        for client in (BLOCKING, AWAITING):
            found = getattr(getattr(client, surface), method)
            assert inspect.isfunction(found)
            assert found.__doc__
            assert not {"args", "kwargs", "self"} & set(inspect.signature(found).parameters)
