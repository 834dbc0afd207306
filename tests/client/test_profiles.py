"""Profiles: the identity at each service, for the commands and for `Client()` alike."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import httpx2
import pytest

from gridloom_client import AsyncClient, Client, CredentialsError, Tokens
from gridloom_client.profiles import Profile, Profiles, ProfileTokens, Secret, configuration_directory
from gridloom_client.tokens import ApiKey

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

    def test_keeps_the_latest_of_its_secrets_in_the_keyring(self, ring: Ring):
        profiles = Profiles()
        for secret in (Secret(tokens=TOKENS), Secret(api_key="k")):
            profiles.put("sandbox", Profile(url=URL), secret)
            assert profiles.secret_of("sandbox") == secret
        assert len(ring) == 1

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

    def test_refuses_a_profile_beside_other_credentials(self):
        with pytest.raises(ValueError, match="profile"):
            Client(profile="sandbox", api_key="k")
