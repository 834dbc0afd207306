"""From a path to the operations that stand there."""

from __future__ import annotations

import random
from typing import Any

from gridloom.app import ROUTE_MODULES
from gridloom.platform.http import operations_of
from gridloom.platform.http.operation import Router

OPERATIONS = operations_of(*ROUTE_MODULES)


def known_paths() -> list[str]:
    return sorted({operation.path for operation in OPERATIONS})


class TestAPath:
    def test_is_found_as_by_trying_every_way(self) -> None:
        """Where a part may be a fixed one or a variable, what follows tells."""
        router, dice = Router(OPERATIONS), random.Random(4)
        words = sorted({part for path in known_paths() for part in path.split("/") if not part.startswith("{")})
        for path in known_paths():
            for _ in range(40):
                parts = [dice.choice([*words, "x", ""]) if part.startswith("{") else part for part in path.split("/")]
                if dice.random() < 0.3:
                    parts[dice.randrange(len(parts))] = dice.choice([*words, "y", ""])
                asked = "/".join(parts)
                assert router.find(asked) == match_every_path(asked), asked

    def test_without_an_operation_is_not_found(self) -> None:
        router = Router(OPERATIONS)
        for path in ("/organisations//virtual-assets", "/nowhere", "/organisations/1/nowhere"):
            assert router.find(path) is None, path


def match_every_path(path: str) -> Any:
    """The operations of the matching path whose parts are fixed soonest, and its variable parts."""
    asked = path.strip("/").split("/")
    matching = []
    for known in known_paths():
        parts = known.strip("/").split("/")
        is_variable = [part.startswith("{") for part in parts]
        if len(parts) == len(asked) and all(
            bool(text) if variable else part == text
            for part, variable, text in zip(parts, is_variable, asked, strict=True)
        ):
            values = [text for text, variable in zip(asked, is_variable, strict=True) if variable]
            matching.append((is_variable, known, values))
    if not matching:
        return None
    first = min(matching)[0]
    chosen = [(known, values) for is_variable, known, values in matching if is_variable == first]
    paths = {known for known, _ in chosen}
    return {each.method: each for each in OPERATIONS if each.path in paths}, chosen[0][1]
