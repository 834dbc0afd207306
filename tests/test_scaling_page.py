"""docs/scaling.md says what the benches have measured."""

from bench.scaling import PAGE, write_page


class TestThePageOnScaling:
    def test_is_what_the_measurements_make_of_it(self) -> None:
        """`python -m bench.scaling` writes it anew."""
        assert PAGE.read_text(encoding="utf-8") == write_page()
