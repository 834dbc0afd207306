"""The simulator of lives itself: what it is made of, before it is trusted to judge anything."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

from tests.simulation.actors import every_action
from tests.simulation.calls import Answer, Finding, Person, Request
from tests.simulation.exploring import EXPLORE, FLOODED, RARE, list_targets, resolve_step
from tests.simulation.harness import script_of
from tests.simulation.invariants import INVARIANTS
from tests.simulation.kinds import CALM, EVERYTHING, KINDS, ORDER, kind_of
from tests.simulation.market import block_quarters, quarters_of_day
from tests.simulation.model import Battery, Organisation, Outage, Parameters, VirtualAsset, World
from tests.simulation.oracle.availability import available_in
from tests.simulation.oracle.measured import measure_quarter
from tests.simulation.oracle.netting import net_off
from tests.simulation.oracle.statements import find_unbalanced_line
from tests.simulation.reach import Reach
from tests.simulation.report import NOT_DRIVEN
from tests.simulation.schemas import list_problem_types, read_interface
from tests.simulation.shrinking import shrink
from tests.simulation.steps import Pick, Step, draw_script
from tests.simulation.test_lives import SEEDS
from tests.simulation.twists import TWISTS, change_body, is_repeatable

HERE = Path(__file__).parent
KNOWS_THE_SERVICE = {"service.py", "served.py", "harness.py", "test_engine.py"}


def imported_modules(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


class TestTheOracle:
    def test_and_the_actors_import_nothing_of_the_service(self):
        files = [path for path in HERE.rglob("*.py") if path.name not in KNOWS_THE_SERVICE]
        assert len(files) > 15
        guilty = {
            path.name: module
            for path in files
            for module in imported_modules(path)
            if module.partition(".")[0] in ("gridloom", "gridloom_client")
        }
        assert guilty == {}

    def test_reaches_the_service_only_through_those_who_start_it(self):
        judging = [
            *(HERE / "oracle").glob("*.py"),
            *(HERE / "actors").rglob("*.py"),
            HERE / "model.py",
            HERE / "market.py",
        ]
        assert not [path.name for path in judging if "tests.simulation.service" in imported_modules(path)]

    def test_counts_the_quarter_hours_of_both_clock_changes(self):
        assert [len(quarters_of_day(date(2027, *day))) for day in ((3, 28), (10, 31), (6, 1))] == [92, 100, 96]
        assert len(block_quarters(date(2027, 3, 28), "00_04")) == 12
        assert len(block_quarters(date(2027, 10, 31), "00_04")) == 20

    def test_lets_a_quarter_hour_do_what_its_worst_moment_can(self):
        one = Fraction(1)
        rated = Parameters(None, 10 * one, 10 * one, 20 * one, one, one, 0 * one, one, one, None)
        owner = Organisation("owner", "", "PARTICIPANT", {})
        battery = Battery("battery", "", owner, "TenneT", "ACTIVE", [rated])
        first, second = datetime(2027, 1, 1, 12, 5, tzinfo=UTC), datetime(2027, 1, 1, 12, 10, tzinfo=UTC)
        quarter = int(first.timestamp() // 900)
        battery.outages["a"] = Outage("a", first, second, 4 * one, 10 * one, 0 * one)
        battery.outages["b"] = Outage("b", second, datetime(2027, 1, 1, 13, tzinfo=UTC), 7 * one, 0 * one, 0 * one)
        _, available = available_in(battery, quarter)
        assert (available.charge, available.discharge) == (Fraction(3), Fraction(0))

    def test_holds_a_sample_until_the_next_at_most_three_median_steps_and_never_past_the_quarter_hour(self):
        start = datetime(2027, 1, 1, 12, tzinfo=UTC)
        quarter = int(start.timestamp() // 900)
        minutes = {0: 100.0, 1: 200.0, 14: 300.0, 16: 900.0}
        samples = {start + timedelta(minutes=minute): power for minute, power in minutes.items()}
        held = (1, 6, 1)  # the median step is two minutes
        power = Fraction(100 * held[0] + 200 * held[1] + 300 * held[2], sum(held))
        assert measure_quarter(samples, quarter) == (Fraction(sum(held), 15), power)
        assert measure_quarter(samples, quarter + 3) is None

    def test_nets_opposite_powers_pro_rata_of_their_side(self):
        owner = Organisation("owner", "", "PARTICIPANT", {})
        world = World(datetime(2027, 1, 1, tzinfo=UTC), owner, [], [])
        one = Fraction(1)
        for name, power in (("a", 3000), ("b", 1000), ("c", -2000)):
            made = VirtualAsset(
                name, name, owner, "TenneT", 0, 9, one, one, one, one, one, 480, one / 2, one / 2, one, []
            )
            made.schedule[4] = Fraction(power)
            world.virtuals[name] = made
        found = [net_off(world, made, 4) for made in world.virtuals.values()]
        assert found == [Fraction(3, 8), Fraction(1, 8), Fraction(-1, 2)]

    def test_finds_the_line_of_a_summary_that_does_not_add_up(self):
        lines = [{"line": "TOLLING", "amount": 0.1}, {"line": "TOLLING", "amount": -0.1}, {"line": "FCR", "amount": 1}]
        assert find_unbalanced_line(lines) == {"FCR": 100}

    def test_counts_only_invariants_that_it_names(self):
        text = "".join(path.read_text() for path in HERE.rglob("*.py"))
        counted = set(re.findall(r'compared\["([^"]+)"\]', text))
        assert len(counted) > 30
        assert counted <= set(INVARIANTS)


class TestAKind:
    def test_draws_only_actions_that_there_are(self):
        for one in KINDS.values():
            assert set(one.list_weights()) | set(one.opening) <= set(every_action())

    def test_replaces_a_step_by_its_own_actions_alone(self):
        organisation = Organisation("owner", "", "PARTICIPANT", dict.fromkeys(("ADMIN", "TRADER", "VIEWER"), ADMIN))
        for number in range(20):
            world = World(datetime(2027, 1, 1, tzinfo=UTC), organisation, [organisation], [organisation])
            step = Step("schedule_day", "plain", (number, 6, 7), kind=CALM)
            found, _ = resolve_step(step, world, Reach())
            assert found.action in KINDS[CALM].list_weights()

    def test_of_every_sort_is_lived_by_the_seeds_of_the_suite(self):
        assert {kind_of(seed) for seed in SEEDS} == set(KINDS)


class TestATwist:
    def test_repeats_nothing_that_ends_its_own_token(self):
        assert is_repeatable(Request("placeBid", ADMIN, "POST", "/auctions/1/bids"))
        assert not is_repeatable(Request("logout", ADMIN, "POST", "/auth/logout"))

    def test_sends_under_a_used_key_another_body_that_could_be_taken(self):
        assert change_body({"type": "note", "title": "Fan"}) == ({"type": "note", "title": "Fan again"}, 422)
        assert change_body({"price": 3}) == ({"price": 4}, (400, 422))
        assert change_body([{"day": "x", "bids": [{"price": 1.5}]}, {}])[0] == [
            {"day": "x", "bids": [{"price": 2.5}]},
            {},
        ]
        assert change_body({"now": "x"}) == ({"now": "x", "surprise": 1}, (400, 422))


class TestExploring:
    def test_knows_by_which_action_each_operation_and_mistake_is_reached(self):
        targets = list_targets()
        assert "createTotp" in targets["set_up_second_factor"]
        assert targets["mistake lot-size-violated"] == {"lot-size-violated"}
        named = set().union(*targets.values())
        driven = set(read_interface().operations) - NOT_DRIVEN - {"followEvents", "resetSandbox", "stopClockWalk"}
        assert driven <= named

    def test_resolves_a_step_to_the_same_one_each_time_and_to_something_new(self):
        owner = Organisation("owner", "", "PARTICIPANT", dict.fromkeys(("ADMIN", "TRADER", "VIEWER"), ADMIN))

        def resolve(met: Counter[str]) -> Step:
            world = World(datetime(2027, 1, 1, tzinfo=UTC), owner, [owner], [owner])
            step, request = resolve_step(Step(EXPLORE, "plain", (5, 6, 8)), world, Reach(operations=met))
            assert request is not None
            return step

        first = resolve(Counter())
        assert resolve(Counter()) == first
        assert first.is_fixed

    def test_has_lives_of_each_kind_look_for_what_is_rare(self):
        words = set(read_interface().operations) | list_problem_types()
        assert set(RARE) <= words
        assert set(RARE) - set().union(*list_targets().values()) <= set(FLOODED)
        drawn = {(step.kind, step.sought) for seed in range(len(RARE) * len(ORDER)) for step in script_of(seed, 1)}
        assert {word for kind, word in drawn if kind == EVERYTHING} == set(RARE)


ADMIN = Person("admin", "owner", "ADMIN", "token")


class TestAScript:
    def test_differs_for_another_seed(self):
        assert script_of(1, 50) != script_of(2, 50)

    def test_begins_with_its_opening_undisturbed(self):
        script = draw_script(1, 5, {"other": 1}, {"plain": 1, "stale": 9}, ("first", "second"))
        assert [(step.action, step.twist) for step in script[:2]] == [("first", "plain"), ("second", "plain")]
        assert len(script) == 5

    def test_chooses_the_simplest_where_its_numbers_end(self):
        pick = Pick((5,))
        assert (pick.below(3), pick.below(3), pick.of(["simple", "other"]), pick.chance(99)) == (2, 0, "simple", False)


class TestShrinking:
    async def test_keeps_only_the_steps_that_are_needed(self):
        script = [Step(str(number), "plain", (number,)) for number in range(100)]

        async def fails(tried: Sequence[Step]) -> bool:
            return {"17", "18", "93"} <= {step.action for step in tried}

        assert [step.action for step in await shrink(script, fails)] == ["17", "18", "93"]

    async def test_makes_what_is_left_plain(self):
        async def fails(tried: Sequence[Step]) -> bool:
            return any(step.action == "guilty" for step in tried)

        assert await shrink([Step("guilty", "stale", (9, 9))], fails) == [Step("guilty", "plain", ())]

    async def test_keeps_the_numbers_that_matter(self):
        async def fails(tried: Sequence[Step]) -> bool:
            return any(step.choices == (9,) for step in tried)

        shrunk = await shrink([Step("a", "stale", (9,)), Step("b", "plain", (1,))], fails)
        assert shrunk == [Step("a", "plain", (9,))]


class TestAnActor:
    def test_acts_only_by_operations_that_are_declared(self):
        text = "".join(path.read_text() for path in (HERE / "actors").rglob("*.py"))
        named = {
            node.value
            for node in ast.walk(ast.parse(text.replace("from __future__ import annotations", "")))
            if isinstance(node, ast.Constant) and node.value in read_interface().operations
        }
        assert len(named) > 100

    def test_of_each_name_is_drawn_now_and_then(self):
        files = {path.stem for path in (HERE / "actors").rglob("*.py")} - {"__init__", "acting", "making"}
        assert {one.perform.__module__.rpartition(".")[2] for one in every_action().values()} == files
        drawn = {step.action for seed in range(40) for step in script_of(seed, 300, kind=EVERYTHING)}
        assert drawn == {EXPLORE} | {name for name, one in every_action().items() if one.weight}

    def test_is_twisted_in_every_way(self):
        assert {step.twist for seed in range(10) for step in script_of(seed, 300, kind=EVERYTHING)} == set(TWISTS)


class TestASchema:
    def test_finds_an_answer_that_is_not_declared(self):
        interface = read_interface()
        head = {"content-type": "application/json"}
        assert interface.explain_fault("readClock", Answer(200, head, b'{"now": "2027-01-01T00:00:00Z"}')) is None
        assert "now" in (interface.explain_fault("readClock", Answer(200, head, b"{}")) or "")
        assert "418" in (interface.explain_fault("readClock", Answer(418, head, b"{}")) or "")


class TestAFinding:
    def test_is_told_as_a_line_for_a_shell(self):
        person = Person("owner1_admin", "owner1", "ADMIN", "secret")
        request = Request("readMe", person, "POST", "/auth/me", {"a": 1}, query={"b": "2"})
        line = request.as_curl()
        assert line.startswith('curl -sS -X POST -H "Authorization: Bearer $OWNER1_ADMIN"')
        assert line.endswith('"$BASE/auth/me?b=2"')
        assert "secret" not in line

    def test_carries_what_was_expected_and_said(self):
        finding = Finding("no 5xx", "an answer below 500", None, Answer(500, {}, b""))
        assert (finding.rule, finding.answer and finding.answer.status) == ("no 5xx", 500)
