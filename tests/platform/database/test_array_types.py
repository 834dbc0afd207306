"""Connections know the array types of the service's statements without reading the catalogue."""

import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import gridloom
from gridloom.platform.database.pool import ARRAY_TYPES

VALUES = {
    "bool": True,
    "bytea": b"\0",
    "int2": 2,
    "int4": 4,
    "int8": 8,
    "float8": 0.5,
    "text": "a",
    "timestamptz": datetime(2026, 10, 25, tzinfo=UTC),
    "date": date(2026, 10, 25),
    "interval": timedelta(minutes=15),
    "numeric": Decimal("0.01"),
    "uuid": UUID(int=1),
    "jsonb": {"a": [1]},
}
SPELLINGS = {"int": "int4", "smallint": "int2", "bigint": "int8", "boolean": "bool", "double precision": "float8"}
_CAST = re.compile(r"::\s*(double precision|[a-z0-9]+)\[\]")


class TestArrayTypes:
    def test_are_all_that_statements_cast_to(self):
        written = {
            SPELLINGS.get(name, name)
            for file in Path(gridloom.__file__).parent.rglob("*.py")
            for name in _CAST.findall(file.read_text())
        }
        assert written <= {str(one["elemtype_name"]) for one in ARRAY_TYPES}
        assert set(VALUES) == {str(one["elemtype_name"]) for one in ARRAY_TYPES}
