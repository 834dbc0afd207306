"""The audit log as a table: CSV, NDJSON, Parquet, whole however long it is."""

import io
import json

import pyarrow.csv
import pyarrow.parquet
import pytest

from gridloom.audit import routes


@pytest.fixture
async def organisation(new_organisation):
    made = await new_organisation()
    for number in range(5):
        await made.admin.patch(f"/organisations/{made.id}", json={"name": f'Name {number}, "quoted"'})
    return made


async def read(organisation, media_type):
    answer = await organisation.admin.get("/audit-log", headers={"Accept": media_type}, params={"limit": 2})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith(media_type)
    ending = media_type.rpartition("/")[2].removeprefix("x-").rpartition(".")[2]
    assert answer.headers["content-disposition"] == f'attachment; filename="audit-log.{ending}"'
    return answer.content


class TestTheAuditLog:
    async def test_is_the_same_in_every_format_and_whole(self, organisation, monkeypatch):
        monkeypatch.setattr(routes, "MAX_ENTRIES_AT_ONCE", 2)
        entries = (await organisation.admin.get("/audit-log", params={"limit": 1000})).json()
        assert len(entries) >= 5
        lines = [json.loads(line) for line in (await read(organisation, "application/x-ndjson")).splitlines()]
        assert lines == entries
        for media_type, table in (
            ("text/csv", pyarrow.csv.read_csv(io.BytesIO(await read(organisation, "text/csv")))),
            (
                "application/vnd.apache.parquet",
                pyarrow.parquet.read_table(io.BytesIO(await read(organisation, "application/vnd.apache.parquet"))),
            ),
        ):
            rows = table.to_pylist()
            assert [str(row["id"]) for row in rows] == [entry["id"] for entry in entries], media_type
            assert [json.loads(row["details"] or "null") for row in rows] == [one["details"] for one in entries]
            assert [row["status"] for row in rows] == [entry["status"] for entry in entries]

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
