"""The faults that `make mutants` plants still find the lines that they are about, and are spread over the rooms."""

import ast
from collections.abc import Sequence
from pathlib import Path

from bench.mutation_lives import Lives
from bench.mutation_tests import MUTANTS, ROOT, Mutant
from tests.each import for_each
from tests.quick import STOREYS


def _name_room(path: str) -> str:
    """The platform's and the commands' rooms are a storey deeper."""
    first, _, rest = path.partition("/")
    second = rest.partition("/")[0]
    return f"{first}/{second}" if first in STOREYS and not second.endswith(".py") else first


class TestAFault:
    @for_each(MUTANTS)
    def test_stands_once_and_leaves_a_file_that_can_be_read(self, mutant: Mutant):
        changed = mutant.applied_to((ROOT / mutant.path).read_text(encoding="utf-8"))
        if mutant.file.endswith(".py"):
            ast.parse(changed)

    @for_each(MUTANTS)
    def test_names_tests_of_its_own_room(self, mutant: Mutant):
        assert (ROOT / "tests" / mutant.tests).exists()
        room = "client" if mutant.file.startswith("gridloom_client/") else _name_room(mutant.file)
        is_migration = mutant.file.startswith("platform/database/migrations/")
        assert is_migration or _name_room(mutant.tests) == room


class TestTheFaults:
    def test_are_many_and_half_of_them_across_two_rooms(self):
        assert len(MUTANTS) >= 60
        assert 2 * sum(bool(mutant.across) for mutant in MUTANTS) >= len(MUTANTS)

    def test_are_in_all_rooms(self):
        assert len({_name_room(mutant.file) for mutant in MUTANTS}) >= 20


class TestSimulatedLives:
    """`printed` is what a run of all lives says, without a fault and then with one."""

    def find(self, *printed: str) -> list[str]:
        said = iter(printed)

        def run(copy: Path, environment: dict[str, str], command: Sequence[str]) -> tuple[int | None, str]:
            text = next(said)
            return (1 if text else 0), text

        lives = Lives(run, 6, 60)
        lives.live_unplanted(Path(), {})
        return lives.find_broken(Path(), {})

    def test_find_a_fault_by_a_life_that_is_whole_without_it(self):
        assert self.find("", "seed 2, step 40 of the run: store: 3 kWh") == ["seed 2, step 40 of the run: store: 3 kWh"]

    def test_find_nothing_by_a_life_that_breaks_without_the_fault_too(self):
        assert self.find("seed 2, step 9: events", "seed 2, step 40: store") == []
        assert self.find("seed 2, step 9: events", "seed 2, step 9: events\nseed 5, step 12: book") == [
            "seed 5, step 12: book"
        ]

    def test_find_nothing_where_all_are_lived_to_the_end(self):
        assert self.find("", "") == []

    def test_find_a_fault_with_which_no_life_can_be_lived(self):
        (said,) = self.find("", "Traceback\nKeyError: 'id'")
        assert said == "seed 0: the lives broke off: KeyError: 'id'"
