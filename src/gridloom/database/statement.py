"""SQL whose parameters have names, for statements with more of them than anyone can count."""

from __future__ import annotations

import re
from typing import Any, Final

import asyncpg

from gridloom.database.pool import Database

# Not the second colon of a cast, and not the colon of a slice, which has spaces around it.
_NAME: Final = re.compile(r"(?<!:):([a-z_][a-z0-9_]*)")


class NamedStatement:
    """A text in which `:name` stands for what is passed as `name`; PostgreSQL sees numbered parameters as ever."""

    def __init__(self, text: str) -> None:
        self.names = tuple(dict.fromkeys(_NAME.findall(text)))
        self._named = frozenset(self.names)
        self.text = _NAME.sub(lambda found: f"${self.names.index(found[1]) + 1}", text)

    def arguments(self, values: dict[str, Any]) -> list[Any]:
        """The values in the order of the numbers; a statement is passed exactly what it names."""
        if values.keys() != self._named:
            odd = ", ".join(sorted(values.keys() ^ self._named))
            raise TypeError(f"The statement and its caller disagree about {odd}.")
        return [values[name] for name in self.names]

    async def execute(self, db: Database, **values: Any) -> str:
        return str(await db.execute(self.text, *self.arguments(values)))

    async def fetchrow(self, db: Database, **values: Any) -> asyncpg.Record:
        """The row of a statement that always gives one."""
        row = await db.fetchrow(self.text, *self.arguments(values))
        assert row is not None, "the statement gives a row"
        return row
