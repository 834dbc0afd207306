"""What a room needs from one above it: declared where it is needed, given by the wiring, and never silently absent."""

from __future__ import annotations

from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Need(Generic[Thing]):
    """A room cannot import from the floors above. It says what it needs of them, and asks for it when it is used.

    `gridloom.wiring` gives every need its answer before a process does any work; to ask before is a bug, and says so.
    """

    declared: list[Need[object]] = []

    def __init__(self, what: str) -> None:
        self.what = what
        self._given: Thing | None = None
        Need.declared.append(self)  # type: ignore[arg-type]

    def give(self, thing: Thing) -> None:
        self._given = thing

    @property
    def is_met(self) -> bool:
        return self._given is not None

    def get(self) -> Thing:
        assert self._given is not None, f"{self.what}: nobody has wired it; call gridloom.wiring.wire() first"
        return self._given
