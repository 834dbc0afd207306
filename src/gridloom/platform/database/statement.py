"""SQL that shares parts, SQL whose parameters have names, and parameters that are long arrays of numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

import asyncpg
import numpy as np
import orjson
from numpy.typing import NDArray

from gridloom.platform.database.pool import Database


def compose(template: str, **parts: str | int) -> str:
    """The template with its `{parts}` filled in. Constants of the code alone: what a request says is a parameter."""
    return template.format(**parts)


# Not the second colon of a cast, and not the colon of a slice, which has spaces around it.
_NAME: Final = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")


class NamedStatement:
    """A text with named parameters: `:name` is what is passed as `name`. PostgreSQL sees numbered parameters.

    Values that are not passed are attributes of the `source`, where there is one. `parts` are as `compose` has them.
    """

    def __init__(self, text: str, **parts: str) -> None:
        text = compose(text, **parts) if parts else text
        self.names = tuple(dict.fromkeys(_NAME.findall(text)))
        self._named = frozenset(self.names)
        self.text = _NAME.sub(lambda found: f"${self.names.index(found[1]) + 1}", text)

    def arguments(self, values: dict[str, Any], source: object = None) -> list[Any]:
        """The values in the order of the numbers; a statement is passed exactly what it names."""
        if source is not None:
            values = {name: getattr(source, name) for name in self.names if name not in values} | values
        if values.keys() != self._named:
            odd = ", ".join(sorted(values.keys() ^ self._named))
            raise TypeError(f"The statement and its caller disagree about {odd}.")
        return [values[name] for name in self.names]

    async def execute(self, db: Database, source: object = None, /, **values: Any) -> str:
        return str(await db.execute(self.text, *self.arguments(values, source)))

    async def fetch(self, db: Database, source: object = None, /, **values: Any) -> list[asyncpg.Record]:
        return await db.fetch(self.text, *self.arguments(values, source))

    async def execute_each(self, db: Database, rows: Iterable[dict[str, Any]]) -> None:
        await db.executemany(self.text, [self.arguments(row) for row in rows])

    async def executemany(self, db: Database, sources: Iterable[object], /, **values: Any) -> None:
        """Once for each source, with these values besides its own."""
        await db.executemany(self.text, [self.arguments(values, source) for source in sources])

    async def execute_part(self, db: Database, values: dict[str, Any]) -> str:
        """The same as one of several statements that share their values: each takes those that it names."""
        return str(await db.execute(self.text, *(values[name] for name in self.names)))

    async def fetchval_part(self, db: Database, values: dict[str, Any]) -> Any:
        return await db.fetchval(self.text, *(values[name] for name in self.names))

    async def fetchrow(self, db: Database, source: object = None, /, **values: Any) -> asyncpg.Record:
        """The row of a statement that always gives one."""
        row = await db.fetchrow(self.text, *self.arguments(values, source))
        assert row is not None, "the statement gives a row"
        return row


# --- long arrays of numbers: the driver would look at each by itself, which costs more than all else done with it ----


def format_float8_array(numbers: NDArray[np.float64]) -> str:
    """Numbers as PostgreSQL writes an array, for `::float8[]` behind a parameter of text; exact."""
    if numbers.size == 1:
        return f"{{{numbers.item()!r}}}"
    return f"{{{orjson.dumps(np.ascontiguousarray(numbers), option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].decode()}}}"


def format_int_array(numbers: Sequence[int]) -> str:
    """The same for `::int[]`."""
    return f"{{{','.join(map(str, numbers))}}}"


def decode_float8_arrays(packed: bytes | None, width: int) -> NDArray[np.float64]:
    """Rows of so many numbers each, from `string_agg(array_send(…), ''::bytea)` over arrays `float8[]`; exact."""
    arrays = np.frombuffer(packed or b"", _sent_array(width))
    return arrays["items"]["number"].astype(np.float64)


@cache
def _sent_array(width: int) -> np.dtype[np.void]:
    """How PostgreSQL sends an array of one dimension: dimensions, flags, type, length, lower bound; then each number
    behind its size in bytes."""
    return np.dtype([("head", ">i4", 5), ("items", [("size", ">i4"), ("number", ">f8")], width)])
