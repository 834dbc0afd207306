"""Settings: from the environment, then `.env`, then defaults; nonsense is refused by name."""

from dataclasses import fields
from pathlib import Path

import pytest

from gridloom.kernel.shares import ShareLimits
from gridloom.settings import VARIABLES, Settings, SettingsError, read_settings

NOWHERE = Path("/nonexistent/.env")


class TestSettings:
    def test_have_defaults_that_serve_the_sandbox(self) -> None:
        settings = read_settings({}, NOWHERE)
        assert settings == Settings()
        assert (settings.environment, settings.host, settings.port, settings.workers) == (
            "sandbox",
            "127.0.0.1",
            8000,
            2,
        )

    def test_come_from_the_environment_before_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / ".env"
        file.write_text(
            "# ours\n\nexport GRIDLOOM_PORT=9000\nGRIDLOOM_HOST='0.0.0.0'\nGRIDLOOM_BOOTSTRAP_PASSWORD=\"a=b c\"\n"
        )
        settings = read_settings({"GRIDLOOM_PORT": "9100"}, file)
        assert (settings.port, settings.host, settings.bootstrap_password) == (9100, "0.0.0.0", "a=b c")

    def test_give_links_to_where_the_service_listens(self) -> None:
        settings = read_settings({"GRIDLOOM_HOST": "0.0.0.0", "GRIDLOOM_PORT": "9000"}, NOWHERE)
        assert settings.base_url == settings.sandbox_base_url == "http://127.0.0.1:9000"

    def test_give_links_to_where_the_operator_says_the_service_is(self) -> None:
        ours, sandbox = (
            {"GRIDLOOM_BASE_URL": "https://ours.example"},
            {"GRIDLOOM_SANDBOX_BASE_URL": "https://try.example"},
        )
        found = [read_settings(asked, NOWHERE) for asked in (ours, sandbox, {**ours, **sandbox})]
        assert [(one.base_url, one.sandbox_base_url) for one in found] == [
            ("https://ours.example", "https://ours.example"),
            ("http://127.0.0.1:8000", "https://try.example"),
            ("https://ours.example", "https://try.example"),
        ]

    def test_know_no_simulator_in_production(self) -> None:
        asked = {"GRIDLOOM_ENVIRONMENT": "production", "GRIDLOOM_SIMULATOR": "on"}
        assert not read_settings(asked, NOWHERE).simulator
        assert read_settings({}, NOWHERE).simulator
        assert not read_settings({"GRIDLOOM_SIMULATOR": "off"}, NOWHERE).simulator

    def test_take_an_empty_value_for_an_absent_one(self) -> None:
        assert read_settings({"GRIDLOOM_DATABASE_URL": " "}, NOWHERE).database_url is None

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("GRIDLOOM_PORT", "0"),
            ("GRIDLOOM_PORT", "65536"),
            ("GRIDLOOM_PORT", "²"),
            ("GRIDLOOM_WORKERS", "-1"),
            ("GRIDLOOM_ENVIRONMENT", "staging"),
            ("GRIDLOOM_SIMULATOR", "maybe"),
            ("GRIDLOOM_SANDBOX_CLOCK", "admins"),
            ("GRIDLOOM_GATE_CLOSURE_FCR", "25:00"),
            ("GRIDLOOM_DOCUMENT_RECEIVER_EIC", "10Y1001A1001A82H"),
            ("GRIDLOOM_DOCUMENT_RECEIVER_EIC", "10X1001A1001A451"),
            ("GRIDLOOM_GATE_CLOSURE_FCR", "08:00+01:00"),
            ("GRIDLOOM_GATE_CLOSURE_AFRR_CAPACITY", "8h"),
            ("GRIDLOOM_GATE_CLOSURE_AFRR_ENERGY_MINUTES", "-1"),
            ("GRIDLOOM_POOL_SIZE", "3"),
            ("GRIDLOOM_DATABASE_URL", "mysql://localhost/gridloom"),
            ("GRIDLOOM_BASE_URL", "example.com"),
            ("GRIDLOOM_CORS_ORIGINS", "https://a.example, example.com"),
            ("GRIDLOOM_SMTP_URL", "mail.example.com"),
            ("GRIDLOOM_LOG_FORMAT", "xml"),
        ],
    )
    def test_are_refused_by_name_when_they_make_no_sense(self, variable: str, value: str) -> None:
        with pytest.raises(SettingsError, match=f"^{variable} must"):
            read_settings({variable: value}, NOWHERE)

    def test_are_refused_all_at_once(self) -> None:
        with pytest.raises(SettingsError) as refused:
            read_settings({"GRIDLOOM_PORT": "x", "GRIDLOOM_WORKERS": "y"}, NOWHERE)
        assert str(refused.value).count("\n") == 1

    def test_hide_what_is_secret(self) -> None:
        secret = "hunter2hunter2"
        settings = read_settings(
            {
                "GRIDLOOM_DATABASE_URL": f"postgresql://u:{secret}@h/d",
                "GRIDLOOM_BOOTSTRAP_PASSWORD": secret,
                "GRIDLOOM_METRICS_TOKEN": secret,
                "GRIDLOOM_SMTP_URL": f"smtp://u:{secret}@h",
            },
            NOWHERE,
        )
        assert secret not in repr(settings)

    def test_are_refused_when_a_line_of_the_file_is_none(self, tmp_path: Path) -> None:
        (tmp_path / ".env").write_text("GRIDLOOM_PORT=1\nwhat is this")
        with pytest.raises(SettingsError, match="Line 2"):
            read_settings({}, tmp_path / ".env")

    def test_can_all_be_set(self) -> None:
        found_out = {"is_embedded"}  # by the service itself, when it starts a server of its own
        shares = {f"shares.{field.name}" for field in fields(ShareLimits)}
        others = {field.name for field in fields(Settings)} - found_out - {"shares"}
        assert {name for name, _ in VARIABLES.values()} == others | shares

    def test_give_the_shares_of_organisations(self) -> None:
        settings = read_settings({"GRIDLOOM_SHARE_EVENT_STREAMS": "7", "GRIDLOOM_RATE_LIMIT": "600"}, NOWHERE)
        assert settings.shares == ShareLimits(event_streams=7, requests_per_minute=600)
