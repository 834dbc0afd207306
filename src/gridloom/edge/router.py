"""From method and path to an operation: one dictionary step per segment, however many operations there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gridloom.edge.operation import Operation


@dataclass(slots=True)
class _RouteNode:
    fixed: dict[str, _RouteNode] = field(default_factory=dict)
    variable: _RouteNode | None = None
    operations: dict[str, Operation] = field(default_factory=dict)


class Router:
    def __init__(self, operations: Iterable[Operation]) -> None:
        self._root = _RouteNode()
        for operation in operations:
            self._add(operation)

    def _add(self, operation: Operation) -> None:
        junction = self._root
        for segment in operation.path.strip("/").split("/"):
            if segment.startswith("{"):
                junction.variable = junction.variable or _RouteNode()
                junction = junction.variable
            else:
                junction = junction.fixed.setdefault(segment, _RouteNode())
        assert operation.method not in junction.operations, f"{operation.method} {operation.path} is declared twice"
        junction.operations[operation.method] = operation

    def find(self, path: str) -> tuple[dict[str, Operation], list[str]] | None:
        """The operations at a path by their method, and the path's variable parts; None where nothing stands."""
        junction, values = self._root, []
        segments = path.strip("/").split("/")
        for segment in segments:
            fixed, variable = junction.fixed.get(segment), junction.variable
            if fixed is not None and variable is not None:
                return self._walk(self._root, segments, 0, [])  # either may be meant: what follows tells
            if fixed is None:
                if variable is None or not segment:
                    return None
                values.append(segment)
                fixed = variable
            junction = fixed
        return (junction.operations, values) if junction.operations else None

    def _walk(
        self, junction: _RouteNode, segments: list[str], depth: int, values: list[str]
    ) -> tuple[dict[str, Operation], list[str]] | None:
        if depth == len(segments):
            return (junction.operations, values) if junction.operations else None
        segment = segments[depth]
        fixed = junction.fixed.get(segment)
        if fixed is not None:
            found = self._walk(fixed, segments, depth + 1, values)
            if found is not None:
                return found
        if junction.variable is not None and segment:
            return self._walk(junction.variable, segments, depth + 1, [*values, segment])
        return None
