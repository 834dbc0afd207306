"""Profiles: the identity at each service, for the commands and for `Client()` alike."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import httpx2
import pytest
from tests.client.conftest import Terminal
from tests.people import OPERATOR_USERNAME, PASSWORD

from gridloom_client import AsyncClient, Client, CredentialsError, Tokens
from gridloom_client.profiles import Profile, Profiles, ProfileTokens, Secret, configuration_directory
from gridloom_client.tokens import ApiKey, Password

URL = "http://one.test"
TOKENS = Tokens(access_token="a", refresh_token="r", expires_at=1e12)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration directory of its own, and an environment without an identity."""
    for name in [name for name in os.environ if name.startswith("GRIDLOOM_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("GRIDLOOM_KEYRING", "off")
    return tmp_path / "gridloom"


class Ring(dict[tuple[str, str], str]):
    """A desktop's keyring."""

    priority = 5

    def set_password(self, service: str, name: str, password: str) -> None:
        self[service, name] = password

    def get_password(self, service: str, name: str) -> str | None:
        return self.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self[service, name]

    def get_keyring(self) -> Ring:
        return self


@pytest.fixture
def ring(monkeypatch: pytest.MonkeyPatch) -> Ring:
    made = Ring()
    monkeypatch.delenv("GRIDLOOM_KEYRING")
    monkeypatch.setitem(sys.modules, "keyring", made)
    return made


class TestTheDirectory:
    @pytest.mark.parametrize(
        ("platform", "environment", "place"),
        [
            ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/gridloom"),
            ("linux", {}, "/home/ada/.config/gridloom"),
            ("linux", {"XDG_CONFIG_HOME": ""}, "/home/ada/.config/gridloom"),
            ("win32", {"APPDATA": "/roaming", "XDG_CONFIG_HOME": "/x"}, "/roaming/gridloom"),
            ("win32", {}, "/home/ada/AppData/Roaming/gridloom"),
        ],
    )
    def test_is_where_programs_of_the_system_keep_theirs(
        self, monkeypatch: pytest.MonkeyPatch, platform: str, environment: dict[str, str], place: str
    ):
        for name in ("XDG_CONFIG_HOME", "APPDATA"):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"HOME": "/home/ada", **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("gridloom_client.profiles.sys.platform", platform)
        found = configuration_directory()
        monkeypatch.undo()
        assert found == Path(place)


class TestAProfile:
    def test_keeps_its_secret_in_the_keyring_where_there_is_one(self, ring: Ring):
        profiles = Profiles()
        profiles.put("sandbox", Profile(url=URL), Secret(tokens=TOKENS))
        assert profiles.secret_of("sandbox") == Secret(tokens=TOKENS)
        assert len(ring) == 1
        assert "access_token" not in profiles.path.read_text()
        profiles.remove("sandbox")
        assert not ring

    def test_leaves_no_secret_in_the_keyring_that_it_has_no_more(self, ring: Ring):
        profiles = Profiles()
        profiles.put("sandbox", Profile(url=URL), Secret(tokens=TOKENS))
        profiles.put("other", Profile(url=URL), Secret(api_key="k"))
        profiles.delete_secret("sandbox")
        assert profiles.secret_of("sandbox") is None
        assert [name.partition("@")[0] for _, name in ring] == ["other"]

    def test_of_another_directory_has_its_own_entry_in_the_keyring(self, ring: Ring, tmp_path: Path):
        one, other = (Profiles(tmp_path / name) for name in ("one", "other"))
        for profiles, key in ((one, "k-1"), (other, "k-2")):
            profiles.put("sandbox", Profile(url=URL), Secret(api_key=key))
        assert [each.secret_of("sandbox") for each in (one, other)] == [Secret(api_key="k-1"), Secret(api_key="k-2")]
        one.remove("sandbox")
        assert other.secret_of("sandbox") == Secret(api_key="k-2")

    def test_keeps_the_latest_of_its_secrets_in_the_keyring(self, ring: Ring):
        profiles = Profiles()
        for secret in (Secret(tokens=TOKENS), Secret(api_key="k")):
            profiles.put("sandbox", Profile(url=URL), secret)
            assert profiles.secret_of("sandbox") == secret
        assert len(ring) == 1

    def test_keeps_it_in_a_file_for_its_owner_alone_otherwise(self):
        profiles = Profiles()
        profiles.put("sandbox", Profile(url=URL), Secret(api_key="k"))
        assert profiles.secret_of("sandbox") == Secret(api_key="k")
        assert stat.S_IMODE(profiles.path.stat().st_mode) == 0o600

    def test_falls_back_to_the_file_when_the_keyring_refuses(self, ring: Ring, monkeypatch: pytest.MonkeyPatch):
        def refuse(*_: str) -> None:
            raise OSError("locked")

        monkeypatch.setattr(ring, "set_password", refuse, raising=False)
        Profiles().put("sandbox", Profile(url=URL), Secret(api_key="k"))
        assert Profiles().secret_of("sandbox") == Secret(api_key="k")

    def test_moves_out_of_the_file_when_a_keyring_appears(self, monkeypatch: pytest.MonkeyPatch):
        Profiles().put("sandbox", Profile(url=URL), Secret(tokens=TOKENS))
        ring = Ring()
        monkeypatch.delenv("GRIDLOOM_KEYRING")
        monkeypatch.setitem(sys.modules, "keyring", ring)
        ProfileTokens(Profiles(), "sandbox").save(TOKENS)
        assert ring
        assert "access_token" not in Profiles().path.read_text()

    def test_that_is_removed_leaves_another_in_use(self):
        profiles = Profiles()
        profiles.put("one", Profile(url=URL))
        profiles.put("two", Profile(url="http://two.test"))
        assert profiles.current == "one"
        profiles.use("two")
        profiles.remove("two")
        assert profiles.current == "one"

    def test_that_is_removed_leaves_the_one_in_use_as_it_is(self):
        profiles = Profiles()
        for name in ("one", "two", "three"):
            profiles.put(name, Profile(url=URL))
        profiles.use("three")
        profiles.remove("one")
        assert profiles.current == "three"

    def test_has_a_name_that_a_file_may_have(self):
        for name in ("", "-a", "a b", "a/b", "a" * 65):
            with pytest.raises(CredentialsError, match="is no name for a profile"):
                Profiles().put(name, Profile(url=URL))
        with pytest.raises(CredentialsError, match="there are: none yet"):
            Profiles().get("one")
        for name in ("A", "9.a_b-c", "a" * 64):
            Profiles().put(name, Profile(url=URL))
        assert Profiles().current == "A"

    def test_that_there_is_not_keeps_no_secret(self):
        Profiles().delete_secret("nobody")
        Profiles().store_secret("nobody", Secret(api_key="k"))
        assert Profiles().all() == {}

    def test_forgets_its_secret_with_its_tokens(self):
        Profiles().put("one", Profile(url=URL), Secret(tokens=TOKENS))
        tokens = ProfileTokens(Profiles(), "one")
        tokens.save(None)
        assert (tokens.load(), Profiles().secret_of("one")) == (None, None)

    def test_is_written_beside_what_a_process_of_the_same_number_left(self, home: Path):
        home.mkdir()
        (home / f"profiles.{os.getpid()}").write_text("half")
        Profiles().put("one", Profile(url=URL))
        assert [path.name for path in sorted(home.iterdir())] == ["lock", "profiles.json"]

    @pytest.mark.parametrize("word", ["off", "0", "No", "FALSE"])
    def test_leaves_a_keyring_alone_that_is_turned_off(self, ring: Ring, monkeypatch: pytest.MonkeyPatch, word: str):
        monkeypatch.setenv("GRIDLOOM_KEYRING", word)
        Profiles().put("one", Profile(url=URL), Secret(api_key="k"))
        assert (len(ring), Profiles().get("one").in_keyring) == (0, False)

    def test_is_as_if_signed_out_where_the_keyring_holds_something_else_or_fails(
        self, ring: Ring, monkeypatch: pytest.MonkeyPatch
    ):
        Profiles().put("one", Profile(url=URL), Secret(api_key="k"))
        for name in list(ring):
            ring[name] = "{"
        assert Profiles().secret_of("one") is None

        def fail(*_: str) -> None:
            raise RuntimeError("no session bus")

        for function in ("get_password", "set_password", "delete_password"):
            monkeypatch.setattr(ring, function, fail, raising=False)
        assert Profiles().secret_of("one") is None
        Profiles().put("one", Profile(url=URL), Secret(api_key="k-2"))
        assert Profiles().secret_of("one") == Secret(api_key="k-2")

    def test_that_is_unknown_is_refused_with_those_there_are(self):
        Profiles().put("one", Profile(url=URL))
        with pytest.raises(CredentialsError, match="there are: one"):
            Profiles().use("two")


class TestAClientWithoutArguments:
    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_is_the_one_that_the_environment_names(
        self, kind: type[Client] | type[AsyncClient], monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("GRIDLOOM_URL", URL)
        monkeypatch.setenv("GRIDLOOM_API_KEY", "k")
        client = kind()
        assert client._exchange.credentials == ApiKey("k")
        assert client._runner.client.base_url == httpx2.URL(URL)
        monkeypatch.delenv("GRIDLOOM_API_KEY")
        monkeypatch.setenv("GRIDLOOM_USERNAME", "ada")
        monkeypatch.setenv("GRIDLOOM_PASSWORD", "pw")
        assert kind()._exchange.credentials == Password("ada", "pw")

    @pytest.mark.parametrize("kind", [Client, AsyncClient])
    def test_is_the_profile_in_use_or_the_one_it_is_given(
        self, kind: type[Client] | type[AsyncClient], monkeypatch: pytest.MonkeyPatch
    ):
        profiles = Profiles()
        profiles.put("sandbox", Profile(url=URL), Secret(tokens=TOKENS))
        profiles.put("production", Profile(url="http://two.test"), Secret(api_key="k"))
        in_use, named = kind(), kind(profile="production")
        assert in_use._exchange.store.load() == TOKENS
        assert in_use._runner.client.base_url == httpx2.URL(URL)
        assert named._exchange.credentials == ApiKey("k")
        assert named._runner.client.base_url == httpx2.URL("http://two.test")
        monkeypatch.setenv("GRIDLOOM_URL", f"{URL}/")  # the same address, and of the profile in use alone
        assert kind()._exchange.store.load() == TOKENS
        assert kind(profile="production")._runner.client.base_url == httpx2.URL("http://two.test")
        monkeypatch.delenv("GRIDLOOM_URL")
        assert kind("http://two.test", profile="production")._exchange.credentials == ApiKey("k")
        monkeypatch.setenv("GRIDLOOM_PROFILE", "production")
        assert kind()._exchange.credentials == ApiKey("k")

    @pytest.mark.parametrize("address", ["http://elsewhere.test", f"{URL}.elsewhere.test", f"{URL}:8000", URL[:-1]])
    def test_never_takes_a_profiles_secret_to_another_address(self, address: str, monkeypatch: pytest.MonkeyPatch):
        Profiles().put("sandbox", Profile(url=URL), Secret(api_key="k"))
        monkeypatch.setenv("GRIDLOOM_URL", address)
        with pytest.raises(CredentialsError, match="signed in to http://one"):
            Client()
        for secret in (Secret(api_key="k"), Secret(tokens=TOKENS)):
            Profiles().put("sandbox", Profile(url=URL), secret)
            with pytest.raises(CredentialsError, match="signed in to http://one"):
                Client(address, profile="sandbox")

    def test_is_the_key_before_the_user_and_a_named_profile_before_both(self, monkeypatch: pytest.MonkeyPatch):
        """Else the environment's key would go to the profile's service."""
        Profiles().put("production", Profile(url="http://two.test"), Secret(tokens=TOKENS))
        for name, value in {"API_KEY": "k", "USERNAME": "ada", "PASSWORD": "pw"}.items():
            monkeypatch.setenv(f"GRIDLOOM_{name}", value)
        assert Client()._exchange.credentials == ApiKey("k")
        named = Client(profile="production")
        assert (named._exchange.credentials, named._exchange.store.load()) == (None, TOKENS)

    def test_is_nobody_else_where_the_environment_names_a_profile_that_there_is_not(
        self, monkeypatch: pytest.MonkeyPatch
    ):
        Profiles().put("sandbox", Profile(url=URL), Secret(api_key="k"))
        monkeypatch.setenv("GRIDLOOM_PROFILE", "sandbx")
        with pytest.raises(CredentialsError, match="There is no profile sandbx; there are: sandbox"):
            Client()

    def test_says_on_its_first_call_that_no_user_is_signed_in(self):
        with Client() as client, pytest.raises(CredentialsError):
            client.auth.me()

    def test_called_with_an_address_alone_is_not_signed_in(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("GRIDLOOM_API_KEY", "k")
        assert Client(URL)._exchange.credentials is None

    def test_refuses_a_profile_beside_other_credentials(self):
        with pytest.raises(ValueError, match="profile"):
            Client(profile="sandbox", api_key="k")


@pytest.mark.usefixtures("operator")
class TestProfileCommands:
    async def test_add_use_list_and_remove(self, terminal: Terminal):
        typed = f"{PASSWORD}\n"
        added = await terminal(
            "profile", "add", "sandbox", terminal.address, "--username", OPERATOR_USERNAME, "--password-stdin",
            typed=typed,
        )  # fmt: skip
        assert added.code == 0, added.err
        noted = await terminal("profile", "add", "elsewhere", "http://elsewhere.test", "--no-sign-in")
        assert noted.code == 0, noted.err
        listed = await terminal("profile", "list")
        assert [line.split()[:2] for line in listed.out.splitlines()[2:]] == [
            ["*", "sandbox"],
            ["elsewhere", "http://elsewhere.test"],
        ]
        assert (await terminal("whoami", "--profile", "sandbox")).code == 0
        assert (await terminal("whoami", "--profile", "elsewhere")).code == 3
        assert (await terminal("profile", "use", "elsewhere")).code == 0
        assert (await terminal("profile", "remove", "elsewhere")).code == 0
        assert (await terminal("whoami")).code == 0
        assert (await terminal("profile", "use", "nobody")).code == 3


def test_a_login_elsewhere_leaves_a_named_profile_alone(monkeypatch: pytest.MonkeyPatch):
    from gridloom_client.commands.account import choose_profile
    from gridloom_client.commands.terminal.options import Options

    Profiles().put("production", Profile(url="http://two.test"))
    assert choose_profile(Options(url=URL)) == ("default", URL)
    assert choose_profile(Options(url="http://two.test")) == ("production", "http://two.test")
    assert choose_profile(Options(url=URL, profile="new")) == ("new", URL)
    monkeypatch.setenv("GRIDLOOM_URL", URL)
    assert choose_profile(Options(profile="new")) == ("new", URL)
    assert choose_profile(Options(profile="production")) == ("production", "http://two.test"), "where it was before"
    Profiles().put("robot", Profile(url="http://two.test"))
    Profiles().use("robot")
    assert choose_profile(Options(url="http://two.test")) == ("robot", "http://two.test"), "the one in use, of several"
