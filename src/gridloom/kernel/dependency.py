"""A dependency of a package on one above it: declared where it is used, provided by the wiring."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Dependency(Generic[T]):
    """A value that a package cannot import because it is defined in a layer above.

    `gridloom.wiring` provides every dependency before a process does any work; `get` before that is a bug and raises.
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
            f"{self.description}: not provided; call gridloom.wiring.provide_dependencies() first"
        )
        return self._given
