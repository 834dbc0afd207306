"""The slips of `make lot` are those that somebody could make, each at one place of a file that can still be read."""

import ast

import pytest
from bench.mutation_candidates import find_slips
from bench.mutation_lot import draw
from bench.mutation_tests import ROOT

pytestmark = pytest.mark.pure


def changed(body: str) -> set[str]:
    """What becomes of a function's one statement."""
    text = f"def f(a, b):\n    {body}\n"
    return {text.replace(slip.old, slip.new).removeprefix("def f(a, b):\n    ").strip() for slip in find_slips(text)}


class TestASlip:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("return a.end < b", {"return a.end <= b", "return a.start < b"}),
            ("return a is None and b", {"return a is not None and b", "return a is None or b", "return a is None"}),
            ("return not a", {"return (a)"}),
            ("return a * b - 1", {"return a / b - 1", "return a * b + 1"}),
            ("return min(a, b)", {"return max(a, b)"}),
            ("return f(b=b)", set()),
            ("return f(a, b=b, c=1)", {"return f(a, c=1)", "return f(a, b=b)"}),
            ("a.tell(b)", {"pass"}),
            ("return [c for c in a if c]", {"return [c for c in a if True]"}),
            ("return a.charge_power_kw", {"return a.discharge_power_kw"}),
            (
                'return "select 1 from a where b < $1 and c for update"',
                {
                    'return "select 1 from a where b <= $1 and c for update"',
                    'return "select 1 from a where b < $1 and c"',
                },
            ),
        ],
    )
    def test_is_a_small_change_of_what_is_meant(self, body: str, expected: set[str]) -> None:
        assert changed(body) == expected

    def test_is_none_of_an_assertion_or_a_text_for_people(self) -> None:
        assert changed('"""Whether a < b."""') == changed("assert a < b") == changed('log.info("a", b=b)') == set()

    def test_forgets_a_check(self) -> None:
        [slip] = find_slips("def f(a):\n    if a:\n        raise ValueError\n")
        assert (slip.line, slip.function, slip.old, slip.new) == (2, "f", "    if a:", "    if False:")


class TestALot:
    def test_is_drawn_again_by_its_seed_from_all_sources_or_some(self) -> None:
        lot = draw(2, 7, "/kernel/")
        assert len(lot) == 2
        assert lot == draw(2, 7, "/kernel/") != draw(2, 8, "/kernel/")
        for drawn in lot:
            text = (ROOT / drawn.file).read_text(encoding="utf-8")
            assert drawn.file.startswith("src/gridloom/kernel/")
            assert text.count(drawn.old) == 1
            ast.parse(text.replace(drawn.old, drawn.new))
