"""docs/schema/ tells of the database that the migrations make."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tests.conftest import migrated_database

ROOT = Path(__file__).parents[1]


async def test_the_pages_of_the_schema_are_those_of_a_migrated_database() -> None:
    specification = importlib.util.spec_from_file_location("schema", ROOT / "guide" / "schema.py")
    assert specification is not None
    assert specification.loader is not None
    schema = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(schema)
    async with migrated_database() as url:
        pages = await schema.describe_schema(url)
    kept = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "schema").glob("*.md")}
    stale = sorted(name for name in kept.keys() | pages.keys() if kept.get(name) != pages.get(name))
    assert stale == [], "run `make schema`"
