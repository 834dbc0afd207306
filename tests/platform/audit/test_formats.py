"""The audit log as a table: CSV, NDJSON, Parquet, whole however long it is."""

import csv
import io
import json
from datetime import datetime

import pyarrow.parquet
import pytest

from gridloom.platform.audit import routes


@pytest.fixture
async def organisation(new_organisation):
    made = await new_organisation()
    for number in range(5):
        await made.admin.change(f"/organisations/{made.id}", json={"name": f'Name {number}, "quoted"'})
    return made


async def read(organisation, media_type):
    answer = await organisation.admin.get("/audit-log", headers={"Accept": media_type}, params={"limit": 2})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    ending = media_type.rpartition("/")[2].removeprefix("x-").rpartition(".")[2]
    assert answer.headers["content-disposition"] == f'attachment; filename="audit-log.{ending}"'
    return answer.content


def told(entry):
    """The same of an entry in whatever form a format gives its values."""
    details, time = entry["details"], datetime.fromisoformat(str(entry["time"]))
    shown = {name: str(value) for name, value in entry.items() if value not in (None, "")}
    return {**shown, "time": time, "details": json.loads(details or "null") if isinstance(details, str) else details}


class TestTheAuditLog:
    async def test_is_the_same_in_every_format_and_whole(self, organisation, monkeypatch):
        monkeypatch.setattr(routes, "MAX_ENTRIES_AT_ONCE", 2)
        entries = (await organisation.admin.get("/audit-log", params={"limit": 1000})).json()
        assert len(entries) >= 5
        lines = [json.loads(line) for line in (await read(organisation, "application/x-ndjson")).splitlines()]
        assert lines == entries
        spreadsheet = io.StringIO((await read(organisation, "text/csv")).decode())
        parquet = io.BytesIO(await read(organisation, "application/vnd.apache.parquet"))
        for rows in (list(csv.DictReader(spreadsheet)), pyarrow.parquet.read_table(parquet).to_pylist()):
            assert [list(row) for row in rows] == [list(entry) for entry in entries]
            assert [told(row) for row in rows] == [told(entry) for entry in entries]

    async def test_guards_texts_that_a_spreadsheet_would_compute(self, new_organisation):
        formulas = ("=cmd|' /C calc'!A0", "+1", "-2", "@sum(1)", "quiet")
        for name in formulas:
            made = await new_organisation(name)
            await made.admin.change(f"/organisations/{made.id}", json={"address": "Here"})
            rows = list(csv.DictReader(io.StringIO((await read(made, "text/csv")).decode())))
            assert {row["organisationName"] for row in rows} == {name if name == "quiet" else f"'{name}"}
            assert {row["status"] for row in rows} == {"200"}

    async def test_goes_on_where_a_page_ended_in_every_format(self, organisation):
        first = await organisation.admin.get("/audit-log", params={"limit": 2})
        following = first.links["next"]["url"]
        pages, link = [], following
        while link:
            page = await organisation.admin.get(link)
            pages += page.json()
            link = page.links.get("next", {}).get("url")
        lines = await organisation.admin.get(following, headers={"Accept": "application/x-ndjson"})
        assert [json.loads(line) for line in lines.content.splitlines()] == pages
        assert len(pages) == 3

    async def test_shows_others_nothing_in_any_format(self, organisation):
        for media_type in ("text/csv", "application/x-ndjson", "application/vnd.apache.parquet"):
            refused = await organisation.viewer.get("/audit-log", headers={"Accept": media_type})
            assert refused.status_code == 403
