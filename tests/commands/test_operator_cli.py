"""What an operator's commands print, and how they end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.commands import cli
from gridloom.commands.accounts import Resealed
from gridloom.settings import Settings

pytestmark = pytest.mark.pure

OURS = Settings(home=Path("/somewhere"))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the commands ask for, in place of a database."""
    found: list[Any] = []
    monkeypatch.setattr(cli, "_read_settings", lambda: OURS)
    monkeypatch.setenv("COLUMNS", "200")

    def answer(path: str, result: Any) -> None:
        def call(*of: Any, **options: Any) -> Any:
            assert of[0] in (OURS, OURS.home)
            found.append((path.rpartition(".")[2], *of[1:], *options.items()))
            return result

        monkeypatch.setattr(f"gridloom.{path}", call)

    invitation = SimpleNamespace(expires_at=datetime(2026, 3, 29, 1, 5, tzinfo=UTC))
    answer("commands.operator.migrate_database", ["0001_edge", "0002_identity"])
    answer("commands.operator.distribute_database", ["event"])
    answer("commands.operator.invite_member", (invitation, "glk_token", "Rhine"))
    answer("commands.operator.rotate_key", "k7")
    answer("commands.accounts.rotate_secrets", Resealed(1, 2, 3, 4))
    answer("commands.accounts.reset_second_factor", "ada")
    answer("platform.backups.dump.back_up", 12_345_678)
    answer("platform.backups.dump.restore", None)
    answer("platform.backups.continuous.restore_to", None)
    return found


class TestACommand:
    def test_says_what_it_has_done(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        cli.migrate()
        cli.distribute()
        cli.rotate_signing_key(distrust=True)
        cli.rotate_secrets()
        cli.reset_second_factor("Ada")
        assert capsys.readouterr().out.splitlines() == [
            "applied 0001_edge",
            "applied 0002_identity",
            "The database is up to date.",
            "moved event",
            "The database is spread over its cluster.",
            "The new key is k7.",
            "Sealed anew: 1 signing keys, secrets of 2 webhooks, 3 second factors, secrets of 4 identity providers.",
            "ada signs in with the password alone until a second factor is set up again.",
        ]
        assert asked[2:] == [
            ("rotate_key", ("distrust", True)),
            ("rotate_secrets",),
            ("reset_second_factor", "Ada"),
        ]

    def test_that_lets_a_person_in_prints_the_token_alone_on_a_line(
        self, asked: list[Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cli.let_in("ada@example.org", role="VIEWER", organisation=UUID(int=7))
        cli.let_in("ada@example.org")
        assert asked == [
            ("invite_member", "ada@example.org", "VIEWER", UUID(int=7)),
            ("invite_member", "ada@example.org", "ADMIN", None),
        ]
        said = capsys.readouterr().out
        assert said.count("\n\nglk_token\n") == 2
        assert said.startswith("ada@example.org may join Rhine as VIEWER until 2026-03-29 01:05 UTC. ")


class TestABackup:
    def test_tells_its_size_and_whether_it_was_compared(
        self, asked: list[Any], capsys: pytest.CaptureFixture[str]
    ) -> None:
        cli.backup(Path("tonight"))
        cli.backup(Path("tonight"), verify=True)
        assert asked == [
            ("back_up", Path("tonight"), ("verify", wanted), ("overwrite", False)) for wanted in (False, True)
        ]
        assert capsys.readouterr().out == "tonight: 12.3 MB\ntonight: 12.3 MB, restored and compared\n"

    @pytest.mark.parametrize(
        ("at", "instant"),
        [
            (datetime(2026, 3, 29, 12), datetime(2026, 3, 29, 12, tzinfo=UTC)),  # noqa: DTZ001 — as it is typed
            (
                datetime(2026, 3, 29, 12, tzinfo=timezone(timedelta(hours=2))),
                datetime(2026, 3, 29, 10, tzinfo=UTC),
            ),
        ],
    )
    def test_is_restored_to_an_instant_in_utc_unless_another_offset_is_given(
        self, asked: list[Any], capsys: pytest.CaptureFixture[str], at: datetime, instant: datetime
    ) -> None:
        cli.restore(Path("daily"), at=at)
        assert asked == [("restore_to", Path("daily"), instant)]
        assert "The database is as it was at 2026-03-29T12:00:00+" in capsys.readouterr().out

    def test_is_restored_whole_where_no_instant_is_named(self, asked: list[Any]) -> None:
        cli.restore(Path("tonight"))
        assert asked == [("restore", Path("tonight"))]


class TestABackupThatGoesOn:
    def test_is_of_the_embedded_server_and_ends_as_its_receiving_does(
        self, asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A copy of the home that the settings name would be of another database than the one at an address."""
        done: list[Any] = []

        def copy(home: Path, directory: Path, *, began: datetime) -> str:
            done.append((home, directory, began.tzinfo))
            return "receiving"

        def receive(receiving: Any) -> int:
            done.append(receiving)
            return 3

        monkeypatch.setattr("gridloom.platform.backups.continuous.back_up_continuously", copy)
        monkeypatch.setattr("gridloom.platform.backups.continuous.receive_until_signalled", receive)
        with pytest.raises(SystemExit) as ended:
            cli.backup(Path("daily"), continuous=True)
        assert (ended.value.code, done) == (3, [(OURS.home, Path("daily"), UTC), "receiving"])
        monkeypatch.setattr(cli, "_read_settings", lambda: replace(OURS, database_url="postgresql://db/grid"))
        with pytest.raises(SystemExit) as refused:
            cli.backup(Path("daily"), continuous=True)
        assert (refused.value.code, len(done), asked) == (1, 2, [])
        assert "pg_basebackup" in capsys.readouterr().err

    def test_is_not_verified_while_it_goes_on(self, asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as refused:
            cli.backup(Path("daily"), continuous=True, verify=True)
        assert (refused.value.code, asked) == (1, [])
        assert "--at" in capsys.readouterr().err


class TestRevenueThatIsRebuilt:
    @pytest.mark.parametrize(
        ("check", "differing", "status"), [(True, 0, 0), (True, 2, 1), (False, 2, 0), (False, 0, 0)]
    )
    def test_ends_with_1_where_a_check_finds_a_difference(
        self,
        asked: list[Any],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        check: bool,
        differing: int,
        status: int,
    ) -> None:
        one = SimpleNamespace(
            asset_id=UUID(int=7), day=date(2026, 3, 29), measure="afrr", differing=None, stored=None, from_facts=1.5
        )
        differences = [one, SimpleNamespace(**{**vars(one), "differing": 3, "stored": 2.25})][:differing]
        outcome = SimpleNamespace(compared_days=9, total_days=9, differing_days=differing, differences=differences)
        wanted: list[Any] = []

        def rebuild(settings: Settings, asset_ids: Any, *, only_check: bool, watch: Any) -> Any:
            wanted.append((list(asset_ids), only_check))
            watch(outcome)
            return outcome

        monkeypatch.setattr("gridloom.commands.operator.rebuild_revenue", rebuild)
        try:
            cli.revenue(asset=[UUID(int=7)], check=check)
            ended: Any = 0
        except SystemExit as left:
            ended = left.code
        assert (ended, wanted) == (status, [([UUID(int=7)], check)])
        said = capsys.readouterr().out
        done = "differ" if check else "differed and were made anew"
        assert said.endswith(f"9 asset-days compared with their facts; {differing} {done}.\n")
        assert ("unreadable" in said, "3 periods or blocks" in said, "2.250000" in said) == (differing > 0,) * 3

    def test_is_that_of_every_asset_and_is_repaired_where_nothing_else_is_said(
        self, asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        wanted: list[Any] = []

        def rebuild(settings: Settings, asset_ids: Any, *, only_check: bool, watch: Any) -> Any:
            wanted.append((settings, list(asset_ids), only_check))
            return SimpleNamespace(compared_days=9, differing_days=1, differences=())

        monkeypatch.setattr("gridloom.commands.operator.rebuild_revenue", rebuild)
        cli.revenue()
        assert wanted == [(OURS, [], False)]
        assert capsys.readouterr().out.endswith("; 1 differed and were made anew.\n")


class TestTheListOfJobs:
    def test_tells_when_each_is_tried_again(
        self, asked: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        failed_at = datetime(2026, 3, 29, 1, 2, 3, tzinfo=UTC)
        base = {"kind": "clear", "attempts": 12, "failed_at": failed_at, "last_error": "ValueError: [no] room"}
        rows = [
            {**base, "key": "1", "state": "DEAD", "not_before": failed_at},
            {**base, "key": "2", "state": "WAITING", "not_before": failed_at + timedelta(minutes=5)},
            {**base, "key": "3", "state": "WAITING", "not_before": None},
        ]
        revived: list[Any] = []

        def failing_jobs(settings: Settings, revive: Any) -> list[Any]:
            revived.append(revive)
            return rows

        monkeypatch.setattr("gridloom.commands.operator.failing_jobs", failing_jobs)
        cli.jobs(revive=("clear", "1"))
        lines = [line for line in capsys.readouterr().out.splitlines() if "clear" in line]
        assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
            ["clear", key, "12", "2026-03-29 01:02:03", again, "ValueError: [no] room"]
            for key, again in (("1", "dead-lettered"), ("2", "2026-03-29 01:07:03"), ("3", "now"))
        ]
        rows.clear()
        cli.jobs()
        assert capsys.readouterr().out == "No job needs attention.\n"
        assert revived == [("clear", "1"), None]
