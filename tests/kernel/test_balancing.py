"""Which way a product of balancing power moves a battery."""

from __future__ import annotations

import pytest

from gridloom.kernel.balancing import Direction

pytestmark = pytest.mark.pure


class TestADirection:
    @pytest.mark.parametrize(
        ("direction", "exports", "imports"),
        [(Direction.POS, True, False), (Direction.NEG, False, True), (Direction.NEGPOS, True, True)],
    )
    def test_exports_imports_or_does_both(self, direction: Direction, exports: bool, imports: bool) -> None:
        assert (direction.exports, direction.imports) == (exports, imports)
