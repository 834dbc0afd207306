"""Table, columns and value expressions of rows that are inserted by a composed statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Row = Sequence[object]


@dataclass(frozen=True, slots=True, eq=False)
class InsertTarget:
    """Where rows go: a table, its columns, and the expression for the value of each.

    `{}` is the row's next value, as it is, cast or within an expression; anything else is written as it is.
    """

    table: str
    columns: Sequence[tuple[str, str]]
    on_conflict: str = ""

    @classmethod
    def of_columns(cls, table: str, columns: str) -> InsertTarget:
        """Each column, of a list as in SQL, takes the row's next value as it is."""
        return cls(table, [(name, "{}") for name in columns.replace(",", " ").split()])

    @property
    def width(self) -> int:
        return sum(value.count("{}") for _, value in self.columns)

    def insert(self, rows: int, before: int) -> str:
        """The statement for so many rows, whose first value is the parameter after `before`."""
        names = ", ".join(name for name, _ in self.columns)
        return f"insert into {self.table} ({names}) values {self._write_values(rows, before)} {self.on_conflict}"  # noqa: S608 — declared targets

    def _write_values(self, rows: int, before: int) -> str:
        written = []
        for _ in range(rows):
            values = []
            for _, value in self.columns:
                taken = value.count("{}")
                values.append(value.format(*(f"${before + index}" for index in range(1, taken + 1))))
                before += taken
            written.append(f"({', '.join(values)})")
        return ", ".join(written)
