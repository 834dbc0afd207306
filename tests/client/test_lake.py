"""Days of a lake, in a directory and in a bucket: whole or without a catalogue, and the same to the byte."""

from __future__ import annotations

import asyncio
import contextlib
import io
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pyarrow as pa
import pyarrow.parquet
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs
from tests.client.test_command_journeys import RATED, call_app, key_of
from tests.people import OrganisationUnderTest

from gridloom_client.lake import LakeTable, open_lake, read_catalogue, write_day

DAY = date(2026, 11, 17)
WINDOW = datetime(2026, 11, 16, 23, tzinfo=UTC), datetime(2026, 11, 17, 23, tzinfo=UTC)


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a lake in a bucket of a server that speaks S3."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "mine")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        host, port = server.get_host_and_port()
        options = f"scheme=http&endpoint_override={host}:{port}&region=eu-central-1"
        fs.S3FileSystem(
            endpoint_override=f"{host}:{port}", scheme="http", region="eu-central-1", allow_bucket_creation=True
        ).create_dir("nordlicht")
        yield f"s3://nordlicht/lake?{options}"
    server.stop()


def list_files(address: str) -> dict[str, bytes]:
    files, root = open_lake(address)
    found = files.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    return {one.path: files.open_input_stream(one.path).read() for one in found if one.type == fs.FileType.File}


def parquet(*values: float) -> bytes:
    sink = io.BytesIO()
    pa.parquet.write_table(pa.table({"value": [*values]}), sink)
    return sink.getvalue()


def tables(*contents: bytes, fails: bool = False) -> Iterator[LakeTable]:
    """Of one asset each; `fails` as where the process or the service is lost on the way."""
    for number, content in enumerate(contents):
        yield LakeTable("revenue", "o", f"a{number}", content)
    if fails:
        raise ConnectionError


@pytest.fixture(params=["directory", "bucket"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "directory":
        return str(tmp_path / "lake")
    bucket: str = request.getfixturevalue("bucket")
    return bucket.replace("/lake?", f"/{tmp_path.name}?")


class TestADay:
    def test_is_whole_or_as_it_was_wherever_a_run_ends(self, lake: str) -> None:
        files, root = open_lake(lake)
        first, second, third = parquet(1), parquet(2), parquet(3)
        with contextlib.suppress(ConnectionError):
            write_day(files, root, WINDOW, DAY, ["revenue"], tables(first, second, fails=True))
        assert len(list_files(lake)) == 2
        assert read_catalogue(files, root, DAY) is None
        write_day(files, root, WINDOW, DAY, ["revenue"], tables(first, second))
        whole = list_files(lake)
        with contextlib.suppress(ConnectionError):
            write_day(files, root, WINDOW, DAY, ["revenue"], tables(first, third, fails=True))
        assert list_files(lake).items() > whole.items()
        changed = write_day(files, root, WINDOW, DAY, ["revenue"], tables(first, third))
        named = {f"{root}/{file.path}" for file in changed.files}
        assert named == {path for path in list_files(lake) if path.endswith(".parquet")}
        assert [list_files(lake)[f"{root}/{file.path}"] for file in changed.files] == [first, third]

    def test_is_completed_after_half_a_file(self, lake: str) -> None:
        """A process may be killed while it writes into a directory."""
        files, root = open_lake(lake)
        with contextlib.suppress(ConnectionError):
            write_day(files, root, WINDOW, DAY, ["revenue"], tables(parquet(1), fails=True))
        [path] = list_files(lake)
        with files.open_output_stream(path) as stream:
            stream.write(b"PAR1 half")
        write_day(files, root, WINDOW, DAY, ["revenue"], tables(parquet(1)))
        assert list_files(lake)[path] == parquet(1)

    def test_has_again_files_that_were_deleted_or_cut_off(self, lake: str) -> None:
        files, root = open_lake(lake)
        write_day(files, root, WINDOW, DAY, ["revenue"], tables(parquet(1), parquet(2)))
        whole = list_files(lake)
        deleted, cut = (path for path in whole if path.endswith(".parquet"))
        files.delete_file(deleted)
        with files.open_output_stream(cut) as stream:
            stream.write(b"PAR1")
        write_day(files, root, WINDOW, DAY, ["revenue"], tables(parquet(1), parquet(2)))
        assert list_files(lake) == whole


@pytest.fixture
async def owner(operator: httpx2.AsyncClient, new_organisation: Any) -> OrganisationUnderTest:
    """With a battery that was measured yesterday, at noon of the market day."""
    made: OrganisationUnderTest = await new_organisation()
    battery = {"name": "Husum", "organisationID": str(made.id), "deliveryZone": "TenneT", "parameters": RATED}
    asset = (await operator.post("/physical-assets", json=battery)).json()["id"]
    now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
    noon = now.replace(hour=11, minute=0, second=0, microsecond=0) - timedelta(days=1)
    points = [{"signal": "active_power", "time": noon.isoformat(), "value": 50}]
    assert (await made.admin.post(f"/monitoring/{asset}/datapoints", json=points)).status_code == 200
    return made


class TestTheCommand:
    async def test_writes_what_its_key_reads_twice_the_same(
        self,
        owner: OrganisationUnderTest,
        operator: httpx2.AsyncClient,
        address: str,
        bucket: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        monkeypatch.setenv("GRIDLOOM_URL", address)
        monkeypatch.setenv("GRIDLOOM_API_KEY", await key_of(owner))
        now = datetime.fromisoformat((await operator.get("/sandbox/clock")).json()["now"])
        day = (now - timedelta(days=1)).date()
        for _ in range(2):
            written = list_files(bucket)
            code = await asyncio.to_thread(call_app, ("lake", "write", bucket, "--day", day.isoformat()))
            assert code == 0, capsys.readouterr().err
        assert list_files(bucket) == written
        catalogue = read_catalogue(*open_lake(bucket), day)
        assert catalogue is not None
        assert {file.organisation for file in catalogue.files} == {str(owner.id)}
        assert {file.dataset: file.rows for file in catalogue.files} == {"telemetry": 1, "revenue": 96}
        page = (Path(__file__).parents[2] / "docs" / "lake.md").read_text()
        [code_block] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        names: dict[str, Any] = {"lake": bucket, "day": day.isoformat()}
        exec(compile(code_block, "lake.md", "exec"), names)
        assert names["revenue"].num_rows == 96
        assert {"day", "organisation", "asset", "revenue_total_revenue"} <= set(names["revenue"].column_names)
        wrong = await asyncio.to_thread(call_app, ("lake", "write", bucket, "--only", "prices"))
        assert (wrong, "prices: expected telemetry" in capsys.readouterr().err) == (2, True)
