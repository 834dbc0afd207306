"""`gridloom check` says before a start what would keep the service from serving."""

from __future__ import annotations

import asyncio
import socket
from contextlib import nullcontext
from dataclasses import replace

import asyncpg
import pytest
from tests.conftest import migrated_database
from tests.platform.identity.test_mail import Postbox
from tests.ports import free_port

from gridloom.commands import cli
from gridloom.commands.serving import preflight
from gridloom.commands.serving.preflight import run_checks
from gridloom.commands.serving.preflight_database import (
    CheckResult,
    PlatformFacts,
    Verdict,
    validate_database,
    validate_platform,
    validate_secrets,
)
from gridloom.platform.database.preflight_store import DatabaseFacts, read_database_facts
from gridloom.platform.database.sealing import Seal
from gridloom.platform.identity.store.signing_keys import ensure_signing_key
from gridloom.settings import Settings, find_unknown_variables

SOUND = DatabaseFacts(
    version=150004,
    role="gridloom",
    is_read_only=False,
    may_create=True,
    missing_extensions=(),
    free_connections=80,
    has_schema=True,
    schema_state="schema up to date",
    clock=0.0,
)


def verdicts_of(facts):
    return {one.name: one.verdict for one in validate_database(Settings(), facts)}


class TestADatabase:
    @pytest.mark.parametrize(
        ("error", "check", "verdict"),
        [
            ({"version": 140011}, "database", Verdict.FAILED),
            ({"is_read_only": True}, "database", Verdict.FAILED),
            ({"may_create": False}, "rights", Verdict.FAILED),
            ({"missing_extensions": ("pg_trgm",)}, "rights", Verdict.FAILED),
            ({"free_connections": 5}, "connections", Verdict.WARNING),
        ],
    )
    def test_that_is_not_is_named_by_its_fault(self, error, check, verdict):
        found = verdicts_of(replace(SOUND, **error))
        assert found.pop(check) is verdict
        assert set(found.values()) == {Verdict.OK}

    async def test_says_whether_a_start_would_create_the_schema_or_bring_it_up_to_date(self):
        async with migrated_database() as url:
            connection = await asyncpg.connect(url)
            last = "select name from schema_migration order by name desc limit 2"
            await connection.execute(f"delete from schema_migration where name in ({last})")
            behind = await read_database_facts(url, 10)
            await connection.execute("drop schema public cascade")
            await connection.execute("create schema public")
            await connection.close()
            empty = await read_database_facts(url, 10)
        assert (behind.has_schema, behind.schema_state) == (True, "2 migrations to apply")
        assert (empty.has_schema, empty.schema_state) == (False, "empty: the first start creates the schema")


PRODUCTION = Settings(
    environment="production",
    secrets_key="k" * 44,
    bootstrap_username="admin",
    bootstrap_password="a-quite-long-one-7",
)
SERVED = PlatformFacts(environment="production", is_empty=False)


def faults_of(settings, platform):
    results = [*validate_platform(settings, platform), *validate_secrets(settings, platform)]
    return {one.name: one.verdict for one in results if one.verdict is not Verdict.OK}


class TestTheContentsOfADatabase:
    @pytest.mark.parametrize("platform", [SERVED, PlatformFacts()])
    def test_pass_with_settings_that_may_serve_them(self, platform):
        assert faults_of(PRODUCTION, platform) == {}

    @pytest.mark.parametrize(
        ("settings", "platform", "faults"),
        [
            ({}, replace(SERVED, environment="sandbox"), {"environment": Verdict.FAILED}),
            ({}, replace(SERVED, unreadable="Another key."), {"secrets": Verdict.FAILED}),
            ({"secrets_key": None}, SERVED, {"secrets": Verdict.WARNING}),
            ({"secrets_key": None}, PlatformFacts(), {"secrets": Verdict.FAILED}),
            ({"bootstrap_password": None}, SERVED, {}),
            ({"bootstrap_password": None}, PlatformFacts(), {"first ADMIN": Verdict.FAILED}),
            ({"bootstrap_password": "short"}, PlatformFacts(), {"first ADMIN": Verdict.FAILED}),
        ],
    )
    def test_are_named_where_a_start_would_refuse_them(self, settings, platform, faults):
        assert faults_of(replace(PRODUCTION, **settings), platform) == faults

    def test_are_not_called_sound_with_a_key_that_the_settings_refuse(self):
        assert not [*validate_secrets(replace(PRODUCTION, secrets_key="k" * 5), SERVED)]


class TestVariables:
    def test_that_kubernetes_adds_are_left_alone(self, tmp_path):
        environ = dict.fromkeys(
            ("GRIDLOOM_SERVICE_HOST", "GRIDLOOM_PORT_8000_TCP_ADDR", "GRIDLOOM_METRICS_SERVICE_PORT"), "x"
        )
        assert find_unknown_variables(environ, tmp_path / "none") == {}


class TestTheCommand:
    @pytest.mark.parametrize("verdict", Verdict)
    def test_ends_with_1_where_a_check_fails_and_with_0_where_it_warns(self, monkeypatch, capsys, verdict):
        found = [CheckResult("database", Verdict.OK, "answers"), CheckResult("disk", verdict, "is what it is")]
        monkeypatch.setattr(preflight, "run_checks", lambda: found)
        with pytest.raises(SystemExit) if verdict is Verdict.FAILED else nullcontext() as ended:
            cli.check()
        assert (ended and ended.value.code) == (1 if verdict is Verdict.FAILED else None)
        assert f" {verdict.value} " in capsys.readouterr().out

    def test_fails_on_an_unknown_variable_and_an_unreachable_database(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GRIDLOOM_ENVIRONMENT", "production")
        monkeypatch.setenv("GRIDLOOM_DATABASE_URL", "postgresql://127.0.0.1:1/none")
        monkeypatch.setenv("GRIDLOOM_WORKRES", "2")
        failed = [one.name for one in run_checks() if one.verdict is Verdict.FAILED]
        assert failed == ["settings", "database", "secrets", "proxy"]

    def test_names_all_faults_at_once_whatever_settings_make_no_sense(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        faulty = {
            "GRIDLOOM_ENVIRONMENT": "production",
            "GRIDLOOM_DATABASE_URL": "postgresql://127.0.0.1:1/none",
            "GRIDLOOM_READ_DATABASE_URL": "postgresql://user:secret@127.0.0.1:1/none",
            "GRIDLOOM_PORT": "http",
            "GRIDLOOM_WORKERS": "0",
            "GRIDLOOM_BASE_URL": "http://gridloom.example.com",
            "GRIDLOOM_SMTP_URL": "smtp://127.0.0.1:1",
            "GRIDLOOM_METRICS_PORT": "8000",
        }
        for name, value in faulty.items():
            monkeypatch.setenv(name, value)
        results = run_checks()
        failed = [one.name for one in results if one.verdict is Verdict.FAILED]
        assert failed == ["settings", "settings", "database", "secrets", "ports", "proxy", "mail"]
        [replica] = [one for one in results if one.name == "read replica"]
        assert replica.verdict is Verdict.WARNING
        assert "PostgreSQL at 127.0.0.1:1:" in replica.detail
        assert not any("secret@" in one.detail for one in results)

    def test_names_proxies_that_make_no_sense_once(self, monkeypatch, tmp_path):
        """They are set, only wrongly: that they were not set would be a second, untrue sentence."""
        monkeypatch.chdir(tmp_path)
        for name, value in {
            "ENVIRONMENT": "production",
            "DATABASE_URL": "postgresql://127.0.0.1:1/none",
            "BASE_URL": "https://gridloom.example.com",
            "TRUSTED_PROXIES": "the one in front",
        }.items():
            monkeypatch.setenv(f"GRIDLOOM_{name}", value)
        results = run_checks()
        assert [one.verdict for one in results if one.name == "settings"] == [Verdict.FAILED]
        assert [one.verdict for one in results if one.name == "proxy"] == [Verdict.OK]

    def test_names_a_port_that_something_else_has(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        with socket.create_server(("127.0.0.1", 0)) as other:
            monkeypatch.setenv("GRIDLOOM_METRICS_PORT", str(other.getsockname()[1]))
            results = {one.name: one for one in run_checks()}
        assert results["ports"].verdict is Verdict.WARNING

    def test_signs_in_to_the_mail_server_as_a_service_would(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        postbox = Postbox()
        monkeypatch.setenv("GRIDLOOM_SMTP_URL", postbox.url)
        assert {one.name: one.verdict for one in run_checks()}["mail"] is Verdict.OK
        monkeypatch.setenv("GRIDLOOM_SMTP_URL", postbox.url.replace("//", "//user:wrong@"))
        (mail,) = (one for one in run_checks() if one.name == "mail")
        assert mail.verdict is Verdict.FAILED
        assert "wrong" not in mail.detail
        postbox.close()

    @pytest.fixture
    def production(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        for name, value in {
            "ENVIRONMENT": "production",
            "BASE_URL": "https://gridloom.example.com",
            "SECRETS_KEY": "k" * 44,
            "METRICS_TOKEN": "t" * 32,
            "TRUSTED_PROXIES": "127.0.0.1",
            "PORT": str(free_port()),
            "BOOTSTRAP_USERNAME": "admin",
            "BOOTSTRAP_PASSWORD": "a-quite-long-one-7",
        }.items():
            monkeypatch.setenv(f"GRIDLOOM_{name}", value)

    @pytest.mark.usefixtures("production")
    async def test_fails_on_what_a_start_would_refuse_in_the_database(self, monkeypatch):
        async with migrated_database() as url:
            monkeypatch.setenv("GRIDLOOM_DATABASE_URL", url)
            connection = await asyncpg.connect(url)
            await ensure_signing_key(connection, Seal("another" * 6, "signing-key"))
            sealed = await asyncio.to_thread(run_checks)
            await connection.execute("insert into schema_migration (name, sha256) values ('9999_later', '')")
            newer = await asyncio.to_thread(run_checks)
            await connection.close()
        assert [one.name for one in sealed if one.verdict is Verdict.FAILED] == ["environment", "secrets"]
        (database,) = (one for one in newer if one.verdict is Verdict.FAILED)
        assert "newer release" in database.detail

    @pytest.mark.usefixtures("production")
    async def test_passes_a_sound_production(self, monkeypatch):
        async with migrated_database() as url:
            monkeypatch.setenv("GRIDLOOM_DATABASE_URL", url)
            connection = await asyncpg.connect(url)
            await connection.execute("delete from environment")
            await connection.close()
            results = await asyncio.to_thread(run_checks)
        assert {one.name for one in results} >= {"settings", "database", "rights", "connections", "clock", "disk"}
        assert {one for one in results if one.verdict is not Verdict.OK} == set()
