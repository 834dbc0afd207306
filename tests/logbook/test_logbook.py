"""The logbook: written once, never changed, found again."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from tests.assets import pointers, register_asset

from gridloom.logbook.model import Impact, NewLogbookEntry
from gridloom.logbook.store import write_system_entries, write_system_entry
from gridloom.platform.database.commit import transaction

ENTRY = {
    "title": "Wechselrichterausfall",
    "description": "Inverter 3 tripped at 100 % load",
    "type": "INCIDENT",
    "impact": "NEGATIVE",
    "start": "2026-05-01T10:00:00Z",
    "end": "2026-05-01T12:00:00Z",
    "tags": ["inverter", "night_shift"],
}


async def write(asset, **changes):
    answer = await asset.owner.engineer.post(asset.path("/logbook"), json={**ENTRY, **changes})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def find(asset, **params):
    answer = await asset.owner.viewer.get(asset.path("/logbook"), params=params)
    assert answer.status_code == 200, answer.text
    return [entry["title"] for entry in answer.json()]


class TestEntry:
    async def test_says_who_wrote_what_when(self, new_organisation):
        asset = await register_asset(await new_organisation())
        entry = await write(asset)
        assert entry.items() >= ENTRY.items()
        assert entry["source"] == "USER"
        assert entry["correctsID"] is None
        me = (await asset.owner.engineer.get("/auth/me")).json()["id"]
        assert entry["authorID"] == me
        assert (await asset.owner.viewer.get(asset.path(f"/logbook/{entry['id']}"))).json() == entry

    async def test_has_a_type_and_tags_of_fifty_characters_and_as_many_tags_at_most(self, new_organisation):
        asset = await register_asset(await new_organisation())
        longest = {"type": "t" * 50, "tags": [f"{number:050}" for number in range(50)]}
        assert (await write(asset, **longest)).items() >= longest.items()
        for changes, pointer in (
            ({"type": "t" * 51}, "/type"),
            ({"type": ""}, "/type"),
            ({"tags": ["t" * 51]}, "/tags/0"),
            ({"tags": ["t", ""]}, "/tags/1"),
            ({"tags": ["t"] * 51}, "/tags"),
        ):
            refused = await asset.owner.engineer.post(asset.path("/logbook"), json={**ENTRY, **changes})
            assert (refused.status_code, pointers(refused)) == (400, [pointer])

    async def test_is_corrected_by_another_entry(self, new_organisation):
        asset = await register_asset(await new_organisation())
        entry = await write(asset)
        path = asset.path(f"/logbook/{entry['id']}/corrections")
        corrected = {**ENTRY, "title": "Inverter 4, not 3", "impact": "NEUTRAL", "tags": ["inverter"]}
        answer = await asset.owner.admin.post(path, json=corrected)
        assert answer.status_code == 201
        made = answer.json()
        assert made.items() >= {**corrected, "correctsID": entry["id"], "source": "USER"}.items()
        author = (await asset.owner.admin.get("/auth/me")).json()["id"]
        assert made["authorID"] == author != entry["authorID"]
        assert (await asset.owner.viewer.get(asset.path(f"/logbook/{entry['id']}"))).json() == entry
        assert answer.headers["Location"] == asset.path(f"/logbook/{made['id']}")
        assert (await asset.owner.viewer.get(answer.headers["Location"])).json() == made

    async def test_ends_after_it_starts(self, new_organisation):
        asset = await register_asset(await new_organisation())
        path = asset.path("/logbook")
        corrections = f"{path}/{(await write(asset))['id']}/corrections"
        for each in (path, corrections):
            for end in (ENTRY["start"], "2026-05-01T09:00:00Z"):
                answer = await asset.owner.engineer.post(each, json={**ENTRY, "end": end})
                assert (answer.status_code, pointers(answer)) == (400, ["/end"])
        assert len(await find(asset)) == 1, "nothing was written"


class TestASystemEntry:
    async def test_is_found_by_its_source_with_who_caused_it(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        await write(asset)
        author, start = uuid4(), datetime(2026, 6, 1, tzinfo=UTC)
        async with transaction(app.pool) as db:
            key = await db.fetchval("select key from asset where id = $1", UUID(asset.id))
            told: dict[str, Any] = {"type": "NOTE", "description": "d", "impact": Impact.POSITIVE, "start": start}
            ended: dict[str, Any] = {"end": datetime(2026, 6, 2, tzinfo=UTC), "tags": ["t", "s"]}
            await write_system_entry(db, key, title="One", author_id=author, **told, **ended)
            await write_system_entries(
                db, key, [NewLogbookEntry(title=name, tags=[], end=None, **told) for name in ("Two", "Three")], author
            )
        answer = await asset.owner.viewer.get(asset.path("/logbook"), params={"source": "SYSTEM"})
        assert sorted(entry["title"] for entry in answer.json()) == ["One", "Three", "Two"]
        for entry in answer.json():
            is_first = entry["title"] == "One"
            assert entry == {
                "id": entry["id"],
                "title": entry["title"],
                "type": "NOTE",
                "description": "d",
                "impact": "POSITIVE",
                "start": "2026-06-01T00:00:00Z",
                "end": "2026-06-02T00:00:00Z" if is_first else None,
                "tags": ["t", "s"] if is_first else [],
                "authorID": str(author),
                "createdAt": entry["createdAt"],
                "source": "SYSTEM",
                "correctsID": None,
                "figures": [],
            }
        assert await find(asset, source="USER") == [ENTRY["title"]]


class TestSearch:
    async def test_does_not_run_backwards(self, new_organisation):
        asset = await register_asset(await new_organisation())
        for end in (ENTRY["start"], "2026-05-01T09:00:00Z"):
            answer = await asset.owner.viewer.get(asset.path("/logbook"), params={"start": ENTRY["start"], "end": end})
            assert answer.status_code == 400
            assert pointers(answer) == ["query:end"]

    async def test_finds_by_text_anywhere_in_any_case_taken_literally(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await write(asset)
        await write(asset, title="Round", description="nothing found")
        for text in ("richter", "WECHSEL", "inverter 3 TRIPPED", "100 %", "t 1"):
            assert await find(asset, text=text) == ["Wechselrichterausfall"], text
        for text in ("100_%", "%", "_", "\\", "inverter%load"):
            assert await find(asset, text=text) == (["Wechselrichterausfall"] if text == "%" else []), text

    async def test_narrows_by_type_tags_source_and_impact(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await write(asset)
        await write(asset, title="Visit", type="INSPECTION", impact="NEUTRAL", tags=["inverter"])
        assert await find(asset, type="INSPECTION") == ["Visit"]
        assert len(await find(asset, tag="inverter")) == 2
        assert await find(asset, tag="inverter,night_shift") == ["Wechselrichterausfall"]
        assert await find(asset, impact="NEUTRAL") == ["Visit"]
        assert await find(asset, source="SYSTEM") == []

    async def test_narrows_to_what_overlaps_a_window(self, new_organisation):
        asset = await register_asset(await new_organisation())
        await write(asset)
        await write(asset, title="Moment", end=None, start="2026-05-02T00:00:00Z")
        assert await find(asset, start="2026-05-01T12:00:00Z") == ["Moment"]
        assert await find(asset, start="2026-05-01T11:59:59Z", end="2026-05-02T00:00:00Z") == ["Wechselrichterausfall"]
        assert await find(asset, start="2026-05-02T00:00:00Z") == ["Moment"]
        assert await find(asset, end="2026-05-01T10:00:00Z") == []

    async def test_pages_from_the_latest_start_without_skipping(self, new_organisation):
        asset = await register_asset(await new_organisation())
        for number in (2, 4, 0, 3, 1):  # not in the order in which they happened
            await write(asset, title=str(number), start=f"2026-04-0{1 + number // 2}T00:00:00Z")
        answer = await asset.owner.viewer.get(asset.path("/logbook"), params={"limit": 2})
        seen = answer.json()
        # A new entry before the cursor neither repeats nor hides one.
        await write(asset, title="late", start="2026-04-30T00:00:00Z")
        while "link" in answer.headers:
            answer = await asset.owner.viewer.get(answer.headers["link"][1:].split(">")[0])
            seen += answer.json()
        assert [entry["title"] for entry in seen] == ["4", "3", "2", "1", "0"]

    async def test_uses_the_index_for_words(self, app, new_organisation):
        asset = await register_asset(await new_organisation())
        async with app.pool.acquire() as connection:
            transaction = connection.transaction()
            await transaction.start()
            key = await connection.fetchval("select key from asset where id = $1", asset.id)
            await connection.execute(
                """
                insert into logbook_entry (asset_key, id, title, description, type, impact, starts_at, tags, source)
                select $1, gen_random_uuid(), 'Entry ' || n, md5(n::text), 'NOTE', 'NEUTRAL', now(), '{}', 'USER'
                from generate_series(1, 20000) n
                """,
                key,
            )
            await connection.execute("analyze logbook_entry")
            plan = await connection.fetch(
                f"""
                explain select 1 from logbook_entry
                where asset_key = {key} and lower(title || E'\\n' || description) like '%entry 12345%'
                """
            )
            await transaction.rollback()
        assert "logbook_by_words" in "\n".join(row[0] for row in plan)
