"""Rules of the gateway: its configuration, samples on disk, set-points and clocks."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from uuid import UUID

import pytest

from gridloom_gateway.clock import ClockComparison
from gridloom_gateway.configuration import ConfigurationError, Dispatch, RegisterSignal, load_configuration, read_secret
from gridloom_gateway.connection import SetPoint
from gridloom_gateway.control import Controller
from gridloom_gateway.modbus import plan_blocks
from gridloom_gateway.plan import Plan, PlanStore, find_first_change
from gridloom_gateway.samples import Sample
from gridloom_gateway.spool import SEGMENT_BYTES, Spool

pytestmark = pytest.mark.pure

ASSET = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
START_US = 1_780_000_000_000_000


class TestAConfiguration:
    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            (
                'username = "gridloom"',
                'usrname = "gridloom"',
                "batteries.mqtt.usrname is not known; did you mean username?",
            ),
            ('unit = "ratio"', 'unit = "percent"', "Invalid enum value 'percent'"),
            ("poll_every_s = 1.0", "poll_every_s = 0", "Expected `float` > 0.0"),
            ("max_discharge_kw = 5000", "", "missing required field `max_discharge_kw`"),
            ('name = "Husum 2"', 'name = "Husum 1"', "another battery has the same name or asset"),
            ("[batteries.modbus.set_point]", "[batteries.modbus.set_points]", "did you mean set_point?"),
            ("[gateway]", "[gateway", "Expected"),
        ],
    )
    def test_says_where_a_mistake_stands(self, tmp_path: Path, before: str, after: str, said: str) -> None:
        example = files("gridloom_gateway").joinpath("example.toml").read_text()
        path = tmp_path / "gateway.toml"
        path.write_text(example)
        assert [battery.name for battery in load_configuration(path).batteries] == ["Husum 1", "Husum 2"]
        path.write_text(example.replace(before, after))
        with pytest.raises(ConfigurationError) as error:
            load_configuration(path)
        assert said in str(error.value)
        assert str(error.value).startswith(str(path))


class TestASecret:
    def test_is_of_a_file_or_the_environment_and_never_of_the_configuration(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = tmp_path / "key"
        file.write_text("from a file\n")
        monkeypatch.setenv("A_KEY", "of the environment")
        assert read_secret(str(file), "A_KEY", "API key") == "from a file"
        assert read_secret(None, "A_KEY", "API key") == "of the environment"
        for absent, said in ((str(tmp_path / "none"), "cannot be read"), (None, "set NO_KEY or name a file")):
            with pytest.raises(ConfigurationError, match=said):
                read_secret(absent, "NO_KEY", "API key")


def write_samples(spool: Spool, count: int, first: int = 0, signals: int = 20) -> list[Sample]:
    codes = [spool.find_code(ASSET, f"signal_{number}") for number in range(signals)]
    drawn = random.Random(first)
    written = []
    for second in range(first, first + count):
        samples = [Sample(code, START_US + second * 1_000_000, round(drawn.gauss(50, 3), 2)) for code in codes]
        spool.append(samples)
        written += samples
    return written


def read_all(spool: Spool) -> list[Sample]:
    position = spool.read_sent()
    found: list[Sample] = []
    while True:
        columns, position = spool.read(position, 5000)
        if not len(columns):
            return found
        found += map(Sample, columns.codes, columns.times, columns.values)


class TestTheSpool:
    def test_has_everything_after_a_kill_but_a_record_that_was_cut_off(self, tmp_path: Path) -> None:
        written = write_samples(Spool(tmp_path, 10**9), 50)
        [segment] = tmp_path.glob("*.raw")
        whole = segment.read_bytes()
        for cut in (1, 5, 300):
            segment.write_bytes(whole[:-cut])
            again = Spool(tmp_path, 10**9)
            assert read_all(again) == written[:-20]
            assert again.find_code(ASSET, "signal_3") == 3, "the same number for ever"
            again.close()

    def test_keeps_a_week_of_twenty_signals_in_less_than_200_megabytes(self, tmp_path: Path) -> None:
        """Half an hour of it, of which all but the last two segments are packed."""
        spool = Spool(tmp_path, 10**9)
        write_samples(spool, 1800)
        for _ in range(3):
            spool.begin_segment()
            write_samples(spool, 1, 5000)
        packed = [path.stat().st_size for path in tmp_path.glob("*.packed")]
        assert sum(packed) / (1800 * 20) * 20 * 7 * 86_400 < 200e6
        assert len(read_all(spool)) == 1803 * 20

    def test_that_is_full_loses_the_oldest(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path, SEGMENT_BYTES)
        drawn, code = random.Random(1), spool.find_code(ASSET, "power")
        for first in (0, 10_000, 20_000, 30_000):
            spool.append([Sample(code, START_US + first + number, drawn.random()) for number in range(60_000)])
            spool.begin_segment()
        left = read_all(spool)
        assert 0 < len(left) < 4 * 60_000
        assert left[-1].time_us == START_US + 30_000 + 59_999
        assert spool.size_bytes <= SEGMENT_BYTES
        assert spool.dropped_segments > 0

    def test_goes_on_where_the_disk_refused_and_leaves_out_what_is_damaged(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path, 10**9)
        written = write_samples(spool, 10)
        (in_the_way := tmp_path / "000000000001.raw").mkdir()
        with pytest.raises(OSError, match="directory"):
            spool.begin_segment()
        written += write_samples(spool, 10, 10)
        in_the_way.rmdir()
        for first in (20, 30):
            spool.begin_segment()
            written += write_samples(spool, 10, first)
        assert sorted(read_all(spool)) == sorted(written)
        [packed] = tmp_path.glob("*.packed")
        packed.write_bytes(packed.read_bytes()[:-9])
        assert read_all(spool) == written[400:]

    def test_forgets_what_was_sent(self, tmp_path: Path) -> None:
        spool = Spool(tmp_path, 10**9)
        write_samples(spool, 10)
        live = spool.begin_segment()
        columns, after = spool.read(spool.read_sent(), 10**6, before=live)
        assert (len(columns), spool.read(after, 10, before=live)) == (200, (spool.read(live, 10)[0], live))
        spool.mark_sent(live)
        assert read_all(spool) == []
        assert read_all(Spool(tmp_path, 10**9)) == []


LIMITS = Dispatch(max_charge_kw=500, max_discharge_kw=1000)
PLAN = Plan(3, {NOON: 400.0, NOON + timedelta(minutes=15): 1200.0, NOON + timedelta(minutes=30): -500.0})


class TestASetPoint:
    @pytest.mark.parametrize(
        ("minutes", "limits", "written"),
        [
            (0, LIMITS, 400.0),
            (14.99, LIMITS, 400.0),
            (15, LIMITS, None),
            (30, LIMITS, -500.0),
            (45, LIMITS, None),
            (45, Dispatch(max_charge_kw=1, max_discharge_kw=1, at_end="zero"), 0.0),
        ],
    )
    def test_is_that_of_the_quarter_hour_within_the_limits(
        self, minutes: float, limits: Dispatch, written: float | None
    ) -> None:
        step = Controller(limits, PLAN).decide(NOON + timedelta(minutes=minutes), 0, clock_is_too_far=False)
        assert (step.set_point and step.set_point.power_kw) == written
        assert (step.refusal is not None) == (minutes == 15)

    def test_is_not_written_by_a_clock_that_is_too_far_off(self) -> None:
        step = Controller(LIMITS, PLAN).decide(NOON, 0, clock_is_too_far=True)
        assert (step.set_point, "60 s off" in str(step.refusal)) == (None, True)

    def test_is_written_again_every_ten_seconds_and_released_at_the_end_of_the_plan(self) -> None:
        controller, written = Controller(LIMITS, PLAN), []
        for second in range(31):
            step = controller.decide(NOON, second, clock_is_too_far=False)
            if step.set_point is not None:
                controller.note_written(step.set_point, second)
                written.append(second)
        assert written == [0, 10, 20, 30]
        ended = controller.decide(NOON + timedelta(hours=1), 31, clock_is_too_far=False)
        assert ended.set_point == SetPoint(None)
        controller.note_written(SetPoint(None), 31)
        assert controller.decide(NOON + timedelta(hours=1), 32, clock_is_too_far=False).set_point is None

    def test_is_released_once_after_a_start_without_a_plan(self) -> None:
        """A process that was killed may have left the site in the gateway's control."""
        controller = Controller(LIMITS)
        assert controller.decide(NOON, 0, clock_is_too_far=False).set_point == SetPoint(None)
        controller.note_written(SetPoint(None), 0)
        assert controller.decide(NOON, 1, clock_is_too_far=False).set_point is None

    def test_is_ramped(self) -> None:
        limits = Dispatch(max_charge_kw=500, max_discharge_kw=1000, ramp_kw_per_s=100)
        controller = Controller(limits, PLAN)
        powers = []
        for second in range(12):
            instant = NOON if second == 0 else NOON + timedelta(minutes=30)
            step = controller.decide(instant, second, clock_is_too_far=False)
            if step.set_point is not None:
                controller.note_written(step.set_point, second)
                powers.append(step.set_point.power_kw)
        assert powers == [400, 300, 200, 100, 0, -100, -200, -300, -400, -500]

    def test_that_the_battery_does_not_follow_for_a_minute_is_told(self) -> None:
        controller = Controller(LIMITS, PLAN)
        controller.note_written(SetPoint(400.0), 0)
        assert controller.find_deviation(340, 59) is None
        assert controller.find_deviation(340, 60) == "340 kW measured, 400 kW asked"
        assert controller.find_deviation(351, 61) is None, "within 5 % of the limit"
        assert controller.find_deviation(0, 120) is None, "for less than a minute"
        assert controller.find_deviation(None, 200) is None
        assert controller.find_deviation(0, 121) is not None


class TestAPlan:
    def test_is_there_after_a_start_and_says_what_changed_first(self, tmp_path: Path) -> None:
        PlanStore(tmp_path).write(ASSET, PLAN)
        assert PlanStore(tmp_path).read(ASSET) == PLAN
        (tmp_path / f"{ASSET}.json").write_text("{")
        assert PlanStore(tmp_path).read(ASSET) == Plan()
        changed = Plan(4, {**PLAN.power_kw, NOON + timedelta(minutes=30): -400.0})
        assert find_first_change(PLAN, changed, NOON) == NOON + timedelta(minutes=30)
        assert find_first_change(PLAN, changed, NOON + timedelta(hours=1)) is None


class TestClocks:
    @pytest.mark.parametrize(
        ("ahead_s", "told", "too_far"), [(0.0, False, False), (1.5, False, False), (-5, True, False), (90, True, True)]
    )
    def test_are_compared_by_whole_seconds(self, ahead_s: float, told: bool, too_far: bool) -> None:
        comparison = ClockComparison()
        for service_s in (1000.0, 1020.3, 1040.7, 1060.95):
            date = datetime.fromtimestamp(int(service_s), UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
            comparison.compare(service_s + ahead_s - 0.02, service_s + ahead_s + 0.02, date)
            assert abs(comparison.offset_s) <= abs(ahead_s) + 0.02
        assert (comparison.is_told, comparison.is_too_far) == (told, too_far)
        assert abs(comparison.offset_s - ahead_s) < 1.5


class TestRegisters:
    @pytest.mark.parametrize(
        ("registers", "blocks"),
        [
            ([100, 102, 104], [(100, 6)]),
            ([100, 110, 130], [(100, 12), (130, 2)]),
            (list(range(0, 250, 2)), [(0, 120), (120, 120), (240, 10)]),
        ],
    )
    def test_that_are_neighbours_are_read_at_once(self, registers: list[int], blocks: list[tuple[int, int]]) -> None:
        signals = [(f"s{one}", RegisterSignal(register=one, type="int32")) for one in registers]
        assert [(block.start, block.size) for block in plan_blocks(signals)] == blocks
