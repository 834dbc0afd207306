"""`gridloom check` says before a start what would keep the service from serving."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridloom.database.preflight_store import DatabaseFacts, read_database_facts
from gridloom.serving.preflight import Verdict, run_checks, validate_database
from gridloom.settings import Settings, find_unknown_variables

SOUND = DatabaseFacts(
    version=150004,
    role="gridloom",
    is_read_only=False,
    may_create=True,
    missing_extensions=(),
    free_connections=80,
    schema_state="schema up to date",
    clock=0.0,
)


def verdicts_of(facts):
    return {one.name: one.verdict for one in validate_database(Settings(), facts)}


class TestADatabase:
    def test_that_is_sound_passes(self):
        assert set(verdicts_of(SOUND).values()) == {Verdict.OK}

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

    async def test_is_read_as_it_is(self, database_url):
        facts = await read_database_facts(database_url, 10)
        assert facts.may_create
        assert not facts.is_read_only
        assert facts.missing_extensions == ()
        assert facts.schema_state == "schema up to date"


class TestVariables:
    def test_that_nothing_reads_are_named_with_the_nearest_that_is_read(self, tmp_path):
        environ = {"GRIDLOOM_PROT": "1", "GRIDLOOM_ZZZZZZZZZ": "1", "GRIDLOOM_HOME": "x", "OTHER": "y"}
        found = find_unknown_variables(environ, tmp_path / "none")
        assert found == {"GRIDLOOM_PROT": "GRIDLOOM_PORT", "GRIDLOOM_ZZZZZZZZZ": ""}

    def test_that_kubernetes_adds_are_left_alone(self, tmp_path):
        environ = dict.fromkeys(
            ("GRIDLOOM_SERVICE_HOST", "GRIDLOOM_PORT_8000_TCP_ADDR", "GRIDLOOM_METRICS_SERVICE_PORT"), "x"
        )
        assert find_unknown_variables(environ, tmp_path / "none") == {}


class TestTheCommand:
    def test_fails_on_an_unknown_variable_and_an_unreachable_database(self, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GRIDLOOM_ENVIRONMENT", "production")
        monkeypatch.setenv("GRIDLOOM_DATABASE_URL", "postgresql://127.0.0.1:1/none")
        monkeypatch.setenv("GRIDLOOM_WORKRES", "2")
        failed = [one.name for one in run_checks() if one.verdict is Verdict.FAILED]
        assert failed == ["settings", "database", "secrets", "proxy"]

    def test_passes_a_sound_production(self, monkeypatch, tmp_path, database_url):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("GRIDLOOM_ENVIRONMENT", "production")
        monkeypatch.setenv("GRIDLOOM_DATABASE_URL", database_url)
        monkeypatch.setenv("GRIDLOOM_BASE_URL", "https://gridloom.example.com")
        monkeypatch.setenv("GRIDLOOM_SECRETS_KEY", "k" * 44)
        monkeypatch.setenv("GRIDLOOM_METRICS_TOKEN", "t" * 32)
        results = run_checks()
        assert {one.name for one in results} >= {"settings", "database", "rights", "connections", "clock", "disk"}
        assert [one for one in results if one.verdict is Verdict.FAILED] == []
