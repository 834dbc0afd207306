"""One test of many cases that names every one that fails: for checks of a millisecond, of which a run would have
thousands, and spend more on keeping book of them than on making them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def for_each(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`@for_each(PAIRS)`: the method is called with each case, a tuple as several arguments, whatever the others do."""
    listed = [case if isinstance(case, tuple) else (case,) for case in cases]

    def decorate(check: Callable[..., None]) -> Callable[..., None]:
        def test(self: Any) -> None:
            faults = {}
            for case in listed:
                try:
                    check(self, *case)
                except Exception as fault:  # noqa: BLE001  # of whatever kind: the test says which case it was
                    faults[" ".join(map(str, case))] = f"{type(fault).__name__}: {fault}"
            assert listed
            assert not faults, "\n".join(f"{case}: {fault}" for case, fault in faults.items())

        test.__doc__ = check.__doc__
        return test

    return decorate
