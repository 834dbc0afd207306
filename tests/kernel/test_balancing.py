"""Which way a product of balancing power moves a battery."""

from __future__ import annotations

import pytest

from gridloom.kernel.balancing import PRODUCT_OF_BLOCK, Direction, ReserveProduct, block_product

pytestmark = pytest.mark.pure


class TestADirection:
    @pytest.mark.parametrize(
        ("direction", "exports", "imports"),
        [(Direction.POS, True, False), (Direction.NEG, False, True), (Direction.NEGPOS, True, True)],
    )
    def test_exports_imports_or_does_both(self, direction: Direction, exports: bool, imports: bool) -> None:
        assert (direction.exports, direction.imports) == (exports, imports)


class TestABlock:
    def test_is_named_by_its_direction_and_its_hours_and_belongs_to_one_product(self) -> None:
        assert block_product(Direction.POS, 8) == "POS_08_12"
        hours = ("00_04", "04_08", "08_12", "12_16", "16_20", "20_24")
        words = {"NEGPOS": ReserveProduct.FCR, "POS": ReserveProduct.AFRR_POS, "NEG": ReserveProduct.AFRR_NEG}
        assert {f"{word}_{of}": product for word, product in words.items() for of in hours} == PRODUCT_OF_BLOCK
