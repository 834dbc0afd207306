"""InfluxDB's line protocol: read as its reference says, and stored over HTTP."""

from __future__ import annotations

import gzip
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.assets import register_asset
from tests.monitoring.calls import DAY, read

from gridloom.monitoring.ingest.line_protocol import NO_TIME, parse_lines
from gridloom.monitoring.model import TimeUnit

Point = tuple[str, str, int, float]
"""Asset, signal, microseconds (−1 for now) and value."""

AT_NS = 1556813561098000000
AT = AT_NS // 1000
EXAMPLES: list[tuple[str, list[Point]]] = [
    # The reference's own examples, with a tag that names the battery.
    (f'myMeasurement,asset=a,tag1=value1,tag2=value2 fieldKey="fieldValue" {AT_NS}', []),
    ("myMeasurement,asset=a fieldKey=1.0", [("a", "fieldKey", -1, 1.0)]),
    ("myMeasurement,asset=a fieldKey=1", [("a", "fieldKey", -1, 1.0)]),
    ("myMeasurement,asset=a fieldKey=-1.234456e+78", [("a", "fieldKey", -1, -1.234456e78)]),
    (
        f"myMeasurement,asset=a fieldKey=1i,b=12485903i,c=-12485903i {AT_NS}",
        [("a", "fieldKey", AT, 1.0), ("a", "b", AT, 12485903.0), ("a", "c", AT, -12485903.0)],
    ),
    ("myMeasurement,asset=a fieldKey=12485903u", [("a", "fieldKey", -1, 12485903.0)]),
    ("m,asset=a x=t,y=TRUE,z=F", [("a", "x", -1, 1.0), ("a", "y", -1, 1.0), ("a", "z", -1, 0.0)]),
    (f'myMeasurement,asset=a fieldKey="this is \\"text\\", a=b",n=2 {AT_NS}', [("a", "n", AT, 2.0)]),
    ('m,asset=a text="two\nlines",n=2', [("a", "n", -1, 2.0)]),
    ("my\\ Measurement,asset=a value=100", [("a", "my Measurement", -1, 100.0)]),
    ("my\\,m,asset=Husum\\ 1\\,\\ north\\=left f\\ 1=1", [("Husum 1, north=left", "f 1", -1, 1.0)]),
    ("m,asset=Lübbenau🔋 value=1", [("Lübbenau🔋", "m", -1, 1.0)]),
    ('"m",asset=a value=1', [("a", '"m"', -1, 1.0)]),
    ("m,asset=a\\b value=1", [("a\\b", "m", -1, 1.0)]),
    ("# a comment\n\n  \nm,asset=a value=1\r\n", [("a", "m", -1, 1.0)]),
    ("m,asset=a  value=1   1000  ", [("a", "m", 1, 1.0)]),
    # What makes a signal of it.
    ("active_power,asset=a value=4950 1000", [("a", "active_power", 1, 4950.0)]),
    ("x,asset=a,signal=active_power value=4950 1000", [("a", "active_power", 1, 4950.0)]),
    ("b,asset=a value=1,soc=2 1000", [("a", "b", 1, 1.0), ("a", "soc", 1, 2.0)]),
]
FAULTY = [
    "m,asset=a",
    "m,asset=a value= 1",
    "m,asset=a value=1,=2 1",
    "m,asset=a value",
    "m value=1",
    "m,asset= value=1",
    f"m,asset={'x' * 201} value=1",
    'm,asset=a text="open',
    "m,asset=a value=1 2 3",
    "\\",
]


def points_of(text: str, unit: TimeUnit = TimeUnit.NANOSECONDS) -> list[Point]:
    lines = parse_lines(text.encode(), unit)
    assert not lines.line_faults
    assert not lines.faults.any()
    columns = (lines.asset_codes, lines.codes, lines.times, lines.values)
    return [
        (lines.assets[asset], lines.names[code], -1 if time == NO_TIME else time, value)
        for asset, code, time, value in zip(*(column.tolist() for column in columns), strict=True)
    ]


class TestLines:
    @pytest.mark.parametrize(("text", "points"), EXAMPLES)
    def test_are_read_as_the_reference_says(self, text: str, points: list[Point]) -> None:
        assert points_of(text) == points

    def test_are_read_the_same_alone_and_among_lines_of_any_kind(self) -> None:
        """Lines of one shape are read by the column, all others line by line."""
        drawn = random.Random(5)
        for _ in range(200):
            chosen = drawn.choices([one for one in EXAMPLES if "\n\n" not in one[0]], k=4)
            expected = [point for _, points in chosen for point in points]
            assert points_of("\n".join(text for text, _ in chosen)) == expected

    @pytest.mark.parametrize("text", FAULTY)
    def test_that_cannot_be_read_are_named_by_number(self, text: str) -> None:
        lines = parse_lines(f"a,asset=a value=1\n{text}\nb,asset=a value=2".encode(), TimeUnit.SECONDS)
        assert (list(lines.line_faults), lines.faulty_lines) == ([2], 1)
        assert lines.values.tolist() == [1, 2]

    def test_time_is_of_the_precision_that_was_named(self) -> None:
        for unit, number in ((TimeUnit.SECONDS, 1), (TimeUnit.MILLISECONDS, 1000), (TimeUnit.MICROSECONDS, 10**6)):
            assert points_of(f"m,asset=a value=1 {number}", unit) == [("a", "m", 1_000_000, 1.0)]


async def write_lines(person: Any, lines: str, status: int = 204, **sent: Any) -> Any:
    headers = {"Content-Type": "text/plain; charset=utf-8", **sent.pop("headers", {})}
    body = sent.pop("content", lines.encode())
    answer = await person.post("/monitoring/write", content=body, headers=headers, params={"precision": "s"})
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


class TestWriting:
    async def test_stores_what_telegraf_sends_by_id_and_by_name(self, owner: Any) -> None:
        asset = await register_asset(owner)
        name = (await owner.viewer.get(f"/physical-assets/{asset.id}")).json()["name"].replace(" ", "\\ ")
        lines = (
            f'battery,asset={asset.id},host=plc active_power=4950.5,state_of_charge=61i,mode="auto" 1774738800\n'
            f"temperature,asset={name} value=21.5 1774738801\n"
        )
        packed = gzip.compress(lines.encode())
        await write_lines(owner.engineer, "", content=packed, headers={"Content-Encoding": "gzip"})
        found = await read(owner, str(asset.id), start=DAY[0], end=DAY[1])
        assert {signal: [tuple(point.values()) for point in points] for signal, points in found["data"].items()} == {
            "active_power": [("2026-03-28T23:00:00Z", 4950.5)],
            "state_of_charge": [("2026-03-28T23:00:00Z", 61.0)],
            "temperature": [("2026-03-28T23:00:01Z", 21.5)],
        }

    async def test_is_how_the_documented_telegraf_sends(self, owner: Any) -> None:
        """The configuration of the guide, and a line as Telegraf makes it from its inputs."""
        config = tomllib.loads(re.findall(r"```toml\n(.*?)```", Path("docs/monitoring.md").read_text(), re.DOTALL)[0])
        [output], [source] = config["outputs"]["http"], config["inputs"]["modbus"]
        asset = await register_asset(owner, name=source["tags"]["asset"])
        fields = ",".join(f"{register['name']}=5i" for register in source["holding_registers"])
        name = source["tags"]["asset"].replace(" ", "\\ ")
        line = (
            f"{source['name']},asset={name},name={source['name']},slave_id=1,type=holding_register {fields} {AT_NS}\n"
        )
        url, headers = httpx2.URL(output["url"]), output["headers"] | {"Content-Encoding": output["content_encoding"]}
        del headers["Authorization"]
        answer = await owner.engineer.request(
            output["method"], url.raw_path.decode(), content=gzip.compress(line.encode()), headers=headers
        )
        assert answer.status_code == 204, answer.text
        latest = (await owner.viewer.get(f"/monitoring/{asset.id}/datapoints/latest")).json()["data"]
        point = {"time": "2019-05-02T16:12:41.098Z", "value": 5.0}
        assert latest == {"active_power": point, "state_of_charge": point}

    async def test_of_which_some_are_refused_stores_the_others(self, owner: Any, asset: str) -> None:
        lines = f"m,asset={asset} value=1 1774738800\nnonsense\nm,asset={asset} value=nan 1774738801\nm value=1\n"
        problem = await write_lines(owner.engineer, lines, 400)
        assert [error["pointer"] for error in problem["errors"]] == ["/2", "/3", "/4"]
        assert (problem["written"], problem["refused"], problem["refusedLines"]) == (1, 1, 2)
        assert len((await read(owner, asset, start=DAY[0], end=DAY[1]))["data"]["m"]) == 1

    async def test_without_a_time_is_at_the_platforms_now(self, owner: Any, asset: str) -> None:
        await write_lines(owner.engineer, f"m,asset={asset} value=1")
        assert len((await read(owner, asset))["data"]["m"]) == 1, "the window ends now"

    async def test_for_an_asset_out_of_reach_writes_nothing(
        self, owner: Any, asset: str, new_organisation: Any
    ) -> None:
        stranger = await register_asset(await new_organisation())
        for other in (stranger.id, "01890a5d-ac96-774b-bcce-b302099a8057", "no\\ such\\ battery"):
            lines = f"m,asset={asset} value=1 1774738800\nm,asset={other} value=1 1774738800"
            await write_lines(owner.engineer, lines, 403)
        assert (await read(owner, asset, start=DAY[0], end=DAY[1]))["data"] == {}

    async def test_by_a_name_of_several_batteries_is_refused_line_by_line(self, owner: Any, asset: str) -> None:
        name = (await owner.viewer.get(f"/physical-assets/{asset}")).json()["name"]
        await register_asset(owner, name=name)
        escaped = name.replace(" ", "\\ ")
        problem = await write_lines(owner.engineer, f"m,asset={asset} value=1\nm,asset={escaped} value=1", 400)
        assert [error["pointer"] for error in problem["errors"]] == ["/2"]

    @pytest.mark.parametrize(
        ("content", "status"),
        [
            (b"no gzip", 400),
            (gzip.compress(b"m,asset=a value=1", mtime=0)[:-9], 400),
            (gzip.compress(b" " * (65 << 20), 1), 413),
        ],
    )
    async def test_takes_gzip_only_where_it_is_whole_and_bounded(self, owner: Any, content: bytes, status: int) -> None:
        await write_lines(owner.engineer, "", status, content=content, headers={"Content-Encoding": "gzip"})
