"""Statements are found wherever a store may have put them: one that is not found is not checked."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from tests.platform.database.statements import gather_module

STORE = '''
from enum import Enum
from typing import Final

from gridloom.platform.database.statement import NamedStatement

_PLAIN = "select 1 from a"
_NAMED: Final = NamedStatement("select :x from b")
_ONE_AFTER_ANOTHER = ("delete from c", "delete from d")
_BY_NAME = {"e": "select 1 from e", "f": [NamedStatement("select :x from f")]}
_TABLE = "g"
_COMPOSED = f"select 1 from {_TABLE}"
_LISTED = {name: f"select 1 from {name}" for name in ("h", "i")}


class Kept:
    """select 1 from nowhere"""

    BY_CLASS = "select 1 from j"

    async def read(self, db):
        """select 1 from nowhere"""
        return await db.fetch("""
            -- Why it is so.
            select 1 from k
            """)


class Kind(Enum):
    """With texts that are none."""

    ONE = "one"


async def write(db, name):
    await db.execute(f"update {_TABLE} set x = 1")
    await db.execute(_PLAIN + " where x")
    await db.execute("with l as (select 1) select * from l")
    await db.execute(f"select 1 from {name}")
'''


class TestGathering:
    def test_finds_every_statement_of_a_module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        module = f"store_{uuid.uuid4().hex}"
        (tmp_path / f"{module}.py").write_text(STORE, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        found, composed = gather_module("store.py", module)
        texts = [one.sql.strip().split("\n")[-1].strip() for one in found]
        assert sorted(texts) == sorted(
            [
                *("select 1 from a", "select $1 from b", "delete from c", "delete from d", "select 1 from e"),
                *("select $1 from f", "select 1 from g", "select 1 from h", "select 1 from i", "select 1 from j"),
                *("select 1 from k", "update g set x = 1", "select 1 from a where x"),
                "with l as (select 1) select * from l",
            ]
        )
        assert [one.place for one in composed] == ["store.py:write"]
