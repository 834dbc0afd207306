"""A change that is one statement: its rows are gathered first and written together, committed by the statement itself.

Without a transaction around it, it takes one way to the database and back instead of four; or two instead of five,
where something is read first and the statement is one that breaks off if that has changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from gridloom.platform.database.commit.insert_target import InsertTarget, Row
    from gridloom.platform.database.pool import Database

    RowSink: TypeAlias = Database | "SingleStatementWrite"
    """Accepts rows. A function that takes only this reads nothing, so it may be called before anything is written."""


class SingleStatementWrite:
    """The rows of one change, and what is to be called once they are written."""

    __slots__ = ("_callbacks", "connection", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[InsertTarget, Row]] = []
        self.connection: Database | None = None
        """Where there is something to read first."""
        self._callbacks: dict[Callable[[], None], None] = {}

    def after_commit(self, callback: Callable[[], None]) -> None:
        self._callbacks[callback] = None

    def committed(self) -> None:
        """Call it after the rows were written: runs the callbacks."""
        self.rows = []
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks:
            callback()
