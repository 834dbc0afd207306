"""Settings: from the environment, then `.env`, then defaults; nonsense is refused by name."""

from dataclasses import fields
from datetime import time
from ipaddress import ip_network
from pathlib import Path

import pytest

from gridloom.kernel.shares import ShareLimits
from gridloom.settings import (
    VARIABLES,
    Settings,
    SettingsError,
    address_of,
    describe_unknown_variable,
    find_unknown_variables,
    parse_settings,
    read_settings,
)

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

    @pytest.mark.parametrize(
        ("variable", "value", "name", "read"),
        [
            ("GRIDLOOM_PORT", "65535", "port", 65535),
            ("GRIDLOOM_PORT", "1", "port", 1),
            ("GRIDLOOM_ENVIRONMENT", "Sandbox", "environment", "sandbox"),
            ("GRIDLOOM_DATABASE_URL", "postgres://db/grid/", "database_url", "postgres://db/grid"),
            (
                "GRIDLOOM_READ_DATABASE_URL",
                "postgresql://a,b/grid  postgresql://c/grid",
                "read_database_urls",
                ("postgresql://a,b/grid", "postgresql://c/grid"),
            ),
            ("GRIDLOOM_HOME", "~/grid", "home", Path("~/grid").expanduser()),
            ("GRIDLOOM_SIMULATOR_SEED", "0", "simulator_seed", 0),
            ("GRIDLOOM_SANDBOX_CLOCK", "operator", "clock_movers", "operator"),
            ("GRIDLOOM_GATE_CLOSURE_FCR", "23:59", "gate_closure_fcr", time(23, 59)),
            ("GRIDLOOM_POOL_SIZE", "4", "pool_size", 4),
            ("GRIDLOOM_FORMER_SECRETS_KEYS", " one  two ", "former_secrets_keys", ("one", "two")),
            (
                "GRIDLOOM_CORS_ORIGINS",
                "https://a.example/, http://b.example,",
                "cors_origins",
                ("https://a.example", "http://b.example"),
            ),
            ("GRIDLOOM_CORS_ORIGINS", "*", "cors_origins", ("*",)),
            (
                "GRIDLOOM_TRUSTED_PROXIES",
                "10.0.0.0/8, 203.0.113.7 ::1",
                "trusted_proxies",
                tuple(ip_network(text) for text in ("10.0.0.0/8", "203.0.113.7/32", "::1/128")),
            ),
            ("GRIDLOOM_SECURITY_CONTACT", "tel:+49", "security_contact", "tel:+49"),
            ("GRIDLOOM_SMTP_URL", "smtps://mail", "smtp_url", "smtps://mail"),
            ("GRIDLOOM_LOG_LEVEL", "WARNING", "log_level", "warning"),
        ],
    )
    def test_are_read_as_what_they_mean(self, variable: str, value: str, name: str, read: object) -> None:
        assert getattr(read_settings({variable: value}, NOWHERE), name) == read

    def test_take_any_word_for_on_and_off(self) -> None:
        for word, is_on in (("on", True), ("TRUE", True), ("yes", True), ("1", True), ("Off", False), ("no", False)):
            assert read_settings({"GRIDLOOM_TRUST_PROXY": word}, NOWHERE).trusts_proxy is is_on
        for word in ("false", "0"):
            assert not read_settings({"GRIDLOOM_SIMULATOR": word}, NOWHERE).simulator

    def test_tell_how_the_service_is_reached(self) -> None:
        for host, is_ours in (("127.0.0.1", True), ("localhost", True), ("[::1]", True), ("::1", True)):
            assert Settings(host=host).listens_on_loopback is is_ours
        for host in ("0.0.0.0", "::", "10.0.0.1", "grid.example"):
            assert not Settings(host=host).listens_on_loopback
        for environment, address, is_behind in (
            ("production", "https://grid.example", True),
            ("production", "http://grid.example", False),
            ("sandbox", "https://grid.example", False),
        ):
            assert Settings(environment=environment, base_url=address).is_behind_tls is is_behind  # type: ignore[arg-type]
        proxies = (ip_network("10.0.0.0/8"),)
        found = [Settings(), Settings(trusts_proxy=True), Settings(trusted_proxies=proxies)]
        assert [one.is_behind_proxy for one in found] == [False, True, True]

    def test_give_an_address_that_a_browser_takes(self) -> None:
        for host, address in (
            ("::", "http://[::1]:8000"),
            ("2001:db8::7", "http://[2001:db8::7]:8000"),
            ("[::1]", "http://[::1]:8000"),
            ("grid.example", "http://grid.example:8000"),
        ):
            assert address_of(Settings(host=host)) == address

    def test_keep_the_default_of_what_makes_no_sense_and_log_as_the_environment_needs_it(self) -> None:
        settings, faults = parse_settings({"GRIDLOOM_PORT": "x", "GRIDLOOM_HOST": "::"}, NOWHERE)
        assert (settings.port, settings.host, list(faults)) == (8000, "::", ["GRIDLOOM_PORT"])
        production = {"GRIDLOOM_ENVIRONMENT": "production"}
        formats = [
            read_settings(asked, NOWHERE).log_format
            for asked in ({}, production, {**production, "GRIDLOOM_LOG_FORMAT": "console"})
        ]
        assert formats == ["console", "json", "console"]

    def test_that_are_unknown_are_told_with_the_nearest_that_is_known(self, tmp_path: Path) -> None:
        environ = dict.fromkeys(
            (
                "GRIDLOOM_PROT",
                "GRIDLOOM_PORT",
                "GRIDLOOM_TEST_SERVER",
                "GRIDLOOM_API_KEY",
                "GRIDLOOM_WEB_SERVICE_HOST",
                "GRIDLOOM_PORT_8000_TCP_ADDR",
                "GRIDLOOM_ZZZZZZZZ",
                "GRID_PORT",
            ),
            "1",
        )
        unknown = find_unknown_variables(environ, NOWHERE)
        assert unknown == {"GRIDLOOM_PROT": "GRIDLOOM_PORT", "GRIDLOOM_ZZZZZZZZ": ""}
        (tmp_path / ".env").write_text("GRIDLOOM_HOSTS=::\nGRIDLOOM_HOST=::\n")
        assert find_unknown_variables({}, tmp_path / ".env") == {"GRIDLOOM_HOSTS": "GRIDLOOM_HOST"}
        assert [describe_unknown_variable(name, nearest) for name, nearest in unknown.items()] == [
            "GRIDLOOM_PROT is not a setting of Gridloom; did you mean GRIDLOOM_PORT?",
            "GRIDLOOM_ZZZZZZZZ is not a setting of Gridloom.",
        ]

    def test_are_refused_all_at_once(self) -> None:
        with pytest.raises(SettingsError) as refused:
            read_settings({"GRIDLOOM_PORT": "x", "GRIDLOOM_WORKERS": "y"}, NOWHERE)
        assert str(refused.value).count("\n") == 1

    def test_hide_what_is_secret(self) -> None:
        secret = "hunter2hunter2"
        settings = read_settings(
            {
                "GRIDLOOM_DATABASE_URL": f"postgresql://u:{secret}@h/d",
                "GRIDLOOM_READ_DATABASE_URL": f"postgresql://u:{secret}@h/d",
                "GRIDLOOM_TELEMETRY_DATABASE_URL": f"postgresql://u:{secret}@h/d",
                "GRIDLOOM_SECRETS_KEY": secret,
                "GRIDLOOM_FORMER_SECRETS_KEYS": f"{secret} other",
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

    def test_are_named_as_their_variables_are(self) -> None:
        """Of two that are read alike neither fills the other."""
        otherwise = {
            "GRIDLOOM_READ_DATABASE_URL": "read_database_urls",
            "GRIDLOOM_SANDBOX_CLOCK": "clock_movers",
            "GRIDLOOM_RATE_LIMIT": "shares.requests_per_minute",
            "GRIDLOOM_RATE_BURST": "shares.request_burst",
            "GRIDLOOM_SHARE_BODY_BYTES": "shares.body_bytes",
            "GRIDLOOM_SHARE_MIN_BODY_RATE": "shares.min_body_bytes_per_s",
            "GRIDLOOM_SHARE_COMPUTATIONS": "shares.computations_running",
            "GRIDLOOM_SHARE_COMPUTATIONS_WAITING": "shares.computations_waiting",
            "GRIDLOOM_SHARE_JOBS": "shares.jobs_running",
            "GRIDLOOM_SHARE_JOBS_QUEUED": "shares.jobs_queued",
            "GRIDLOOM_SHARE_EVENT_STREAMS": "shares.event_streams",
            "GRIDLOOM_SHARE_READS": "shares.reads_running",
            "GRIDLOOM_SHARE_READS_WAITING": "shares.reads_waiting",
            "GRIDLOOM_SHARE_UNREAD_BYTES": "shares.unread_bytes",
            "GRIDLOOM_SHARE_MIN_READER_RATE": "shares.min_reader_bytes_per_s",
            "GRIDLOOM_SHARE_SLOW_READER_SECONDS": "shares.slow_reader_s",
            "GRIDLOOM_SHARE_INVITATIONS": "shares.invitations",
            "GRIDLOOM_SHARE_API_KEYS": "shares.api_keys",
            "GRIDLOOM_SHARE_USER_API_KEYS": "shares.api_keys_per_user",
            "GRIDLOOM_PUBLIC_RATE_LIMIT": "public_rate_limit_per_minute",
            "GRIDLOOM_TRUST_PROXY": "trusts_proxy",
            "GRIDLOOM_SHUTDOWN_GRACE": "shutdown_grace_s",
        }
        assert {variable: name for variable, (name, _) in VARIABLES.items()} == {
            variable: otherwise.get(variable, variable.removeprefix("GRIDLOOM_").lower()) for variable in VARIABLES
        }

    def test_are_0_where_nothing_may_be_meant(self) -> None:
        """None at all is not the default, and where there must be some it is refused."""
        may_be_0 = {
            *("GRIDLOOM_SIMULATOR_SEED", "GRIDLOOM_SIMULATOR_DAYS", "GRIDLOOM_GATE_CLOSURE_AFRR_ENERGY_MINUTES"),
            *(f"GRIDLOOM_RESERVE_MINUTES_{product}" for product in ("FCR", "AFRR", "AFRR_ENERGY")),
            *("GRIDLOOM_SHARE_MIN_BODY_RATE", "GRIDLOOM_SHARE_COMPUTATIONS_WAITING"),
            *("GRIDLOOM_SHARE_MIN_READER_RATE", "GRIDLOOM_SHARE_READS_WAITING"),
        }
        numbers = {variable for variable, (_, read) in VARIABLES.items() if "_whole_between" in read.__qualname__}
        assert may_be_0 < numbers
        settings, faults = parse_settings(dict.fromkeys(numbers, "0"), NOWHERE)
        assert faults.keys() == numbers - may_be_0
        for variable in may_be_0:
            of, _, name = f"settings.{VARIABLES[variable][0]}".rpartition(".")
            assert getattr(settings.shares if of.endswith("shares") else settings, name) == 0

    def test_give_the_shares_of_organisations(self) -> None:
        settings = read_settings({"GRIDLOOM_SHARE_EVENT_STREAMS": "7", "GRIDLOOM_RATE_LIMIT": "600"}, NOWHERE)
        assert settings.shares == ShareLimits(event_streams=7, requests_per_minute=600)


class TestASecret:
    KEY = "a-long-and-random-text-of-32-signs"

    def test_may_stand_in_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "key").write_text(f"{self.KEY}\n")
        (tmp_path / "address").write_text("postgresql://gridloom:a/b#c@db/grid\n")
        given = {
            "GRIDLOOM_SECRETS_KEY_FILE": str(tmp_path / "key"),
            "GRIDLOOM_DATABASE_URL_FILE": str(tmp_path / "address"),
        }
        read = read_settings(given, NOWHERE)
        assert (read.secrets_key, read.database_url) == (self.KEY, "postgresql://gridloom:a%2Fb%23c@db/grid")
        assert find_unknown_variables(given, NOWHERE) == {}

    @pytest.mark.parametrize(
        ("given", "fault"),
        [
            ({"GRIDLOOM_SECRETS_KEY_FILE": "/nowhere/key"}, "GRIDLOOM_SECRETS_KEY_FILE names /nowhere/key"),
            ({"GRIDLOOM_SECRETS_KEY_FILE": "/nowhere/key", "GRIDLOOM_SECRETS_KEY": KEY}, "not both"),
            ({"GRIDLOOM_ENVIRONMENT": "production", "GRIDLOOM_SECRETS_KEY": "short"}, "has 5 characters"),
        ],
    )
    def test_that_cannot_be_used_is_refused_by_every_command(self, given: dict[str, str], fault: str) -> None:
        with pytest.raises(SettingsError, match=fault):
            read_settings(given, NOWHERE)
