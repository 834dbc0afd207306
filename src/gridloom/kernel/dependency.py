"""What a room needs from one above it: declared where it is needed, given by the wiring, and never silently absent."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Dependency(Generic[T]):
    """A room cannot import from the floors above. It says what it needs of them, and asks for it when it is used.

    `gridloom.wiring` gives every need its answer before a process does any work; to ask before is a bug, and says so.
    """

    registry: list[Dependency[object]] = []

    def __init__(self, description: str) -> None:
        self.description = description
        self._given: T | None = None
        Dependency.registry.append(self)  # type: ignore[arg-type]

    def provide(self, thing: T) -> None:
        self._given = thing

    @property
    def is_provided(self) -> bool:
        return self._given is not None

    def get(self) -> T:
        assert self._given is not None, (
            f"{self.description}: nobody has wired it; call gridloom.wiring.provide_dependencies() first"
        )
        return self._given
