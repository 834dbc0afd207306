"""What an operator's commands do on the service's machine, and what of it stands in the audit log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from gridloom.commands import accounts as account_commands
from gridloom.commands import operator as operator_commands
from gridloom.commands.accounts import Resealed
from gridloom.platform.audit.model import Actor, NewAuditRecord
from gridloom.platform.database import service_database
from gridloom.platform.database.citus import DistributionRefused
from gridloom.platform.database.sealing import SecretUnreadable
from gridloom.platform.database.server.embedded import DataDirectoryLockedError
from gridloom.platform.database.service_database import CommandError
from gridloom.sandbox.simulator.credentials import (
    SimulatorCredentials,
    member_name,
    newcomer_sign_ins,
    read_credentials,
    write_credentials,
)
from gridloom.settings import Settings
from gridloom.settlements.rebuilding import UnknownAssets

pytestmark = pytest.mark.pure

OURS = Settings(database_url="postgresql://db/grid", environment="production", secrets_key="present")


@pytest.fixture
def done() -> list[Any]:
    """What is done, in its order."""
    return []


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[NewAuditRecord]:
    """The lines of the audit log."""
    found: list[NewAuditRecord] = []

    async def insert_entry(connection: Any, entry: NewAuditRecord) -> None:
        assert connection == "connection"
        found.append(entry)

    monkeypatch.setattr("gridloom.platform.audit.store.insert_entry", insert_entry)
    return found


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> None:
    """A database that is up to date; `connection` is what a command speaks to."""

    class Connection(str):
        @asynccontextmanager
        async def transaction(self) -> AsyncIterator[None]:
            done.append("begin")
            try:
                yield
            except BaseException:
                done.append("roll back")
                raise
            done.append("commit")

    connection = Connection("connection")

    class Pool:
        def __init__(self, *of: Any, **limits: Any) -> None:
            done.append((*of, limits))

        async def __aenter__(self) -> Any:
            return self

        async def __aexit__(self, *_: object) -> None: ...

        @asynccontextmanager
        async def acquire(self) -> AsyncIterator[Any]:
            yield connection

    async def create_pool(*of: Any, **limits: Any) -> Pool:
        return Pool(*of, **limits)

    @contextmanager
    def require(settings: Settings) -> Iterator[str]:
        assert settings.database_url is not None
        yield settings.database_url

    @asynccontextmanager
    async def connect(dsn: str) -> AsyncIterator[Any]:
        assert dsn == OURS.database_url
        yield connection

    monkeypatch.setattr(operator_commands, "create_pool", create_pool)
    monkeypatch.setattr(operator_commands, "require_initialised_dsn", require)
    monkeypatch.setattr(operator_commands, "connect_database", connect)


class TestADatabaseOfAService:
    @pytest.mark.parametrize(
        ("missing", "of_any_release", "refusal"),
        [
            ([], False, None),
            ([], True, None),
            (["0560_a", "0561_b"], True, None),
            (["0560_a", "0561_b"], False, r"is not up to date \(0560_a, 0561_b\)"),
            (None, False, "is empty"),
            (None, True, "is empty"),
        ],
    )
    def test_has_its_schema_and_all_of_this_release_unless_any_will_do(
        self, monkeypatch: pytest.MonkeyPatch, missing: list[str] | None, of_any_release: bool, refusal: str | None
    ) -> None:
        async def find_missing(dsn: str) -> list[str] | None:
            assert dsn == OURS.database_url
            return missing

        monkeypatch.setattr(service_database, "_missing_migrations", find_missing)
        if refusal is None:
            with service_database.require_initialised_dsn(OURS, of_any_release=of_any_release) as dsn:
                assert dsn == OURS.database_url
        else:
            with (
                pytest.raises(CommandError, match=refusal),
                service_database.require_initialised_dsn(OURS, of_any_release=of_any_release),
            ):
                pytest.fail("it is refused")

    @pytest.mark.parametrize("is_locked", [False, True])
    def test_of_its_own_is_started_or_is_that_of_the_service_that_runs(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, done: list[Any], is_locked: bool
    ) -> None:
        class Server:
            def __init__(self, home: Path) -> None:
                self.home = home

            def start(self) -> str:
                done.append("start")
                if is_locked:
                    raise DataDirectoryLockedError(self.home, 7)
                return "postgresql:///gridloom?host=/new&user=gridloom"

            def stop(self) -> None:
                done.append("stop")

        async def give(dsn: str) -> str:
            return dsn.replace("user=gridloom", "user=gridloom_service")

        monkeypatch.setattr(service_database, "EmbeddedPostgres", Server)
        monkeypatch.setattr(service_database, "give_to_service_role", give)
        (tmp_path / "run").mkdir()
        with service_database.resolve_dsn(Settings(home=tmp_path)) as dsn:
            host = tmp_path / "run" if is_locked else "/new"
            assert f"host={host}&" in dsn
            assert dsn.endswith("&user=gridloom_service")
            assert done == ["start"]
        assert done == ["start", "stop"]


@pytest.mark.usefixtures("database")
class TestAChangeByACommand:
    def test_is_one_transaction_that_a_failure_undoes(self, done: list[Any]) -> None:
        async def work(connection: Any) -> int:
            return 7

        async def fail(connection: Any) -> int:
            raise CommandError("no")

        assert operator_commands.run_in_transaction(OURS, work) == 7
        with pytest.raises(CommandError):
            operator_commands.run_in_transaction(OURS, fail)
        opened = (OURS.database_url, {"size": 1})
        assert done == [opened, "begin", "commit", opened, "begin", "roll back"]

    def test_of_the_signing_key_is_recorded(
        self, monkeypatch: pytest.MonkeyPatch, recorded: list[NewAuditRecord]
    ) -> None:
        async def rotate(connection: Any, seal: Any, *, distrust: bool) -> str:
            assert seal.has_key
            return f"key {distrust}"

        monkeypatch.setattr("gridloom.platform.identity.signing_key_cache.rotate_signing_key", rotate)
        assert operator_commands.rotate_key(OURS, distrust=True) == "key True"
        assert recorded == [
            NewAuditRecord(
                actor=Actor("SYSTEM", name="command line"),
                action="rotateSigningKey",
                method="POST",
                resource="/auth/public/jwks",
                status=201,
                subject_organisation_id=None,
                address=None,
                request_id=None,
                details={"kid": "key True", "distrust": True},
            )
        ]


@pytest.mark.usefixtures("database")
class TestACommand:
    def test_that_spreads_tables_says_why_it_cannot(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def distribute(connection: Any) -> list[str]:
            raise DistributionRefused("This database has no Citus.")

        monkeypatch.setattr(operator_commands, "distribute", distribute)
        with pytest.raises(CommandError, match="has no Citus"):
            operator_commands.distribute_database(OURS)

    def test_that_revives_a_job_does_so_before_it_lists(self, monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> None:
        async def retry_now(connection: Any, kind: str, key: str) -> bool:
            done.append((kind, key))
            return key == "7"

        async def health(connection: Any, most_shown: int) -> Any:
            done.append(most_shown)
            return SimpleNamespace(troubled=({"key": "8"},))

        monkeypatch.setattr("gridloom.platform.jobs.store.retry_now", retry_now)
        monkeypatch.setattr("gridloom.platform.jobs.store.health", health)
        assert operator_commands.failing_jobs(OURS, ("clear", "7")) == [{"key": "8"}]
        assert operator_commands.failing_jobs(OURS, None) == [{"key": "8"}]
        assert done == [("clear", "7"), 1000, 1000]
        with pytest.raises(CommandError, match="No job clear 9 has failed"):
            operator_commands.failing_jobs(OURS, ("clear", "9"))

    def test_that_rebuilds_revenue_may_take_its_time(self, monkeypatch: pytest.MonkeyPatch, done: list[Any]) -> None:
        async def rebuild(pool: Any, asset_ids: Any, *, only_check: bool, watch: Any) -> Any:
            if not asset_ids:
                raise UnknownAssets("There is no such asset.")
            return (list(asset_ids), only_check, watch)

        monkeypatch.setattr("gridloom.settlements.rebuilding.rebuild", rebuild)
        watch: Any = "watch"
        found: Any = operator_commands.rebuild_revenue(OURS, [UUID(int=1)], only_check=True, watch=watch)
        assert found == ([UUID(int=1)], True, "watch")
        [(dsn, limits)] = done
        assert (dsn, limits["size"], limits["lock_timeout_s"]) == (OURS.database_url, 1, 120)
        assert limits["command_timeout_s"] == limits["statement_timeout_s"] == 300
        with pytest.raises(CommandError, match="no such asset"):
            operator_commands.rebuild_revenue(OURS, [], only_check=False, watch=watch)

    def test_that_migrates_marks_the_database_as_its_environments(
        self, monkeypatch: pytest.MonkeyPatch, done: list[Any]
    ) -> None:
        async def migrate(connection: Any) -> list[str]:
            done.append("migrate")
            return ["0001_edge"]

        async def establish(connection: Any, name: str) -> None:
            done.append(name)

        monkeypatch.setattr(operator_commands, "migrate", migrate)
        monkeypatch.setattr(operator_commands, "establish_environment", establish)
        assert operator_commands.migrate_database(OURS) == ["0001_edge"]
        assert done == ["migrate", "production"]


@pytest.mark.usefixtures("database")
class TestSecretsThatAreSealedAnew:
    @pytest.fixture
    def rooms(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """How many older workers there are, and what each room says when it is asked."""
        found: dict[str, Any] = {"older": 0}

        async def count(connection: Any) -> int:
            return int(found["older"])

        monkeypatch.setattr(account_commands, "count_older_replicas", count)
        kinds = {"signing_keys": 1, "webhooks": 2, "second_factors": 3, "identity_providers": 4}
        for kind, sealed in kinds.items():

            async def reseal(connection: Any, seal: Any, kind: str = kind, sealed: int = sealed) -> int:
                if kind == found.get("unreadable"):
                    raise SecretUnreadable("Another key.")
                found[kind] = seal
                return sealed

            monkeypatch.setattr(account_commands, f"reseal_{kind}".replace("identity_", ""), reseal)
        return found

    def test_are_counted_by_their_kind_each_with_its_own_seal(
        self, rooms: dict[str, Any], recorded: list[NewAuditRecord], done: list[Any]
    ) -> None:
        assert account_commands.rotate_secrets(OURS) == Resealed(1, 2, 3, 4)
        assert len({id(rooms[kind]) for kind in rooms if kind != "older"}) == 4
        stored = rooms["webhooks"].close(b"secret")
        for kind in ("signing_keys", "second_factors", "identity_providers"):
            with pytest.raises(SecretUnreadable):
                rooms[kind].open(stored)
        assert [(line.action, line.resource, line.details) for line in recorded] == [
            ("rotateSecrets", "secrets", {"signingKeys": 1})
        ]
        assert done[-1] == "commit"

    def test_need_a_key_and_no_worker_that_cannot_read_them(
        self, rooms: dict[str, Any], recorded: list[NewAuditRecord]
    ) -> None:
        with pytest.raises(CommandError, match="Set GRIDLOOM_SECRETS_KEY"):
            account_commands.rotate_secrets(replace(OURS, secrets_key=None))
        rooms["unreadable"] = "second_factors"
        with pytest.raises(CommandError, match=r"Another key\. Add the former one"):
            account_commands.rotate_secrets(OURS)
        rooms["older"] = 2
        with pytest.raises(CommandError, match=r"^2 workers of an earlier release"):
            account_commands.rotate_secrets(OURS)
        assert recorded == []


@pytest.mark.usefixtures("database")
class TestASecondFactorThatIsLost:
    def test_is_removed_by_the_name_as_it_is_stored(
        self, monkeypatch: pytest.MonkeyPatch, recorded: list[NewAuditRecord]
    ) -> None:
        members = {
            "ada": SimpleNamespace(id=UUID(int=1), username="ada", organisation_id=UUID(int=11)),
            "bob": SimpleNamespace(id=UUID(int=2), username="bob", organisation_id=UUID(int=12)),
        }

        async def find_account(connection: Any, username: str) -> Any:
            return SimpleNamespace(member=members[username]) if username in members else None

        async def delete_second_factor(connection: Any, member_id: UUID) -> bool:
            return member_id == UUID(int=1)

        monkeypatch.setattr(account_commands, "find_account", find_account)
        monkeypatch.setattr(account_commands, "delete_second_factor", delete_second_factor)
        assert account_commands.reset_second_factor(OURS, "Ada") == "ada"
        assert [(line.action, line.resource, line.subject_organisation_id, line.details) for line in recorded] == [
            ("resetSecondFactorFromCommandLine", f"/users/{UUID(int=1)}", UUID(int=11), {"username": "ada"})
        ]
        for username, words in (("bob", "bob has no second factor"), ("eve", "There is no user eve")):
            with pytest.raises(CommandError, match=words):
                account_commands.reset_second_factor(OURS, username)
        assert len(recorded) == 1


@pytest.mark.usefixtures("database")
class TestTheSimulatorOfAHome:
    async def test_is_invited_until_its_operator_has_signed_up(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, done: list[Any]
    ) -> None:
        members: set[str] = set()
        invited: list[tuple[str, str, Any]] = []

        async def find_account(connection: Any, username: str) -> Any:
            return "account" if username in members else None

        async def invite(connection: Any, email: str, role: str, organisation: Any) -> tuple[Any, str, str]:
            invited.append((email, role, organisation))
            return None, f"token {len(invited)}", "Operator"

        monkeypatch.setattr("gridloom.platform.identity.store.members.find_account", find_account)
        monkeypatch.setattr(operator_commands, "_invite_person", invite)

        async def start() -> SimulatorCredentials:
            connection: Any = SimpleNamespace(transaction=transaction)
            sign_ins = await operator_commands.invite_simulator(connection, tmp_path)
            found = read_credentials(tmp_path)
            assert found is not None
            assert sign_ins == newcomer_sign_ins(found)
            return found

        @asynccontextmanager
        async def transaction() -> AsyncIterator[None]:
            done.append("begin")
            yield

        first = await start()
        second = await start()
        assert (first.invitation, second.invitation, first.secret) == ("token 1", "token 2", second.secret)
        assert invited == [("simulator@example.org", "ADMIN", None)] * 2
        assert done == ["begin"] * 2
        members.add(member_name(second, "operator"))
        assert await start() == SimulatorCredentials(second.secret)
        assert await start() == SimulatorCredentials(second.secret)
        assert len(invited) == 2
        write_credentials(tmp_path, SimulatorCredentials("another"))
        assert (await start()).invitation == "token 3", "of another home"
