"""What signing in asks, sends, says and remembers; the service and the person at the terminal are played."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from tests.client.played import OURS, THING, PlayedService, Shown, refuse

from gridloom_client import Client, Tokens
from gridloom_client.commands import make_app
from gridloom_client.profiles import Profile, Profiles, Secret

pytestmark = pytest.mark.pure

URL = "http://played"
SIGNED_IN = {"access_token": "a", "refresh_token": "r", "expires_in": 900}
ME = {"id": THING, "organisationID": OURS, "username": "ada", "displayName": "Ada L.", "role": "TRADER"}
CHALLENGED = refuse(401, "second-factor-required", challenge="c-7")
PLAYED: dict[str, Any] = {
    "/auth/me": ME | {"mustEnrolSecondFactor": False},
    "POST /auth/public/authenticate": SIGNED_IN,
    "POST /auth/public/second-factor": SIGNED_IN,
    "POST /auth/public/sso/token": SIGNED_IN,
    "POST /auth/totp": {"secret": "JBSW", "uri": "otpauth://totp/1"},
    "PUT /auth/totp": {"recoveryCodes": ["one-1", "two-2", "three-3"]},
}


class Keyboard(io.StringIO):
    def isatty(self) -> bool:
        return True


class Person:
    """Types openly and, where asked to, what is not shown; other profiles than the one made here are in use."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], home: Path) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        self.unseen: list[str] = []
        """What is asked for without showing it."""
        for name, value in {"XDG_CONFIG_HOME": str(home), "GRIDLOOM_KEYRING": "off", "GRIDLOOM_URL": URL}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", "160")
        Profiles().put("elsewhere", Profile(url="http://elsewhere.test"))

    def __call__(
        self, command: str, *typed: str, unseen: tuple[str, ...] | None = None, known: dict[str, Any] | None = None
    ) -> Shown:
        """At a terminal where something is typed unseen, or may be; else by a script, which pipes what it types."""
        service, left = PlayedService(PLAYED | (known or {})), list(unseen or ())

        def make_client(url: str, **who: Any) -> Client:
            assert url.rstrip("/") == URL
            return Client(url, transport=httpx2.MockTransport(service), **who)

        def ask_unseen(prompt: str) -> str:
            self.unseen.append(prompt)
            return left.pop(0)

        kind = io.StringIO if unseen is None else Keyboard
        self._monkeypatch.setattr("sys.stdin", kind("".join(f"{line}\n" for line in typed)))
        self._monkeypatch.setattr("getpass.getpass", ask_unseen)
        self._monkeypatch.setattr("gridloom_client.commands.account.make_client", make_client)
        self._monkeypatch.setattr("gridloom_client.commands.terminal.options.make_client", make_client)
        words, code = command.split(), 0
        try:
            make_app(words[0])(words, result_action="return_value")
        except SystemExit as end:
            code = int(end.code or 0)
        printed = self._capsys.readouterr()
        return Shown(code, printed.out, printed.err, service, ())


@pytest.fixture
def person(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Person:
    return Person(monkeypatch, capsys, tmp_path)


def remembered() -> tuple[str, str | None, Secret | None]:
    """The profile in use, who it is and what it keeps; it is of the service that is played."""
    profiles = Profiles()
    assert profiles.get(profiles.current).url.rstrip("/") == URL
    return profiles.current, profiles.get(profiles.current).username, profiles.secret_of(profiles.current)


def tokens_kept() -> tuple[str, str | None] | None:
    _, _, secret = remembered()
    return (secret.tokens.access_token, secret.tokens.refresh_token) if secret and secret.tokens else None


class TestJoining:
    LINES = (
        'POST /auth/public/invitations/accept {"displayName": "%s", "password": "pw 1", "token": "gli_1",'
        ' "username": "ada"}',
        'POST /auth/public/authenticate {"password": "pw 1", "username": "ada"}',
        "GET /auth/me",
    )

    def test_asks_a_person_for_what_is_left_out_and_for_the_password_twice(self, person: Person):
        shown = person("join", " ada ", unseen=("gli_1", "pw 1", "pw 1"))
        accepted, *others = self.LINES
        assert shown.service.lines == [accepted % "ada", *others], shown.err
        assert shown.out == "Username: Joined as TRADER and signed in to http://played as ada.\n"
        assert person.unseen == ["Token of the invitation: ", "New password: ", "The password again: "]
        assert remembered()[:2] == ("default", "ada")
        assert tokens_kept() == ("a", "r")

    @pytest.mark.parametrize(
        ("typed", "unseen", "said"),
        [
            ((), ("gli_1", "pw 1", "pw 2"), "The passwords differ. Nothing was done."),
            (("gli_1",), None, "Expected a password on standard input."),
            ((), None, "Expected the invitation's token on standard input."),
        ],
    )
    def test_does_nothing_without_one_password(
        self, person: Person, typed: tuple[str, ...], unseen: tuple[str, ...] | None, said: str
    ):
        shown = person(f"join --username ada {'--stdin' if unseen is None else ''}", *typed, unseen=unseen)
        assert (shown.code, shown.out, shown.err, shown.service.lines) == (2, "", f"{said}\n", [])


class TestSigningIn:
    def test_with_a_second_factor_reads_its_code_from_the_second_line(self, person: Person):
        known = {"POST /auth/public/authenticate": CHALLENGED}
        shown = person("login --username ada --password-stdin", "pw", "123456", known=known)
        assert shown.service.lines == [
            'POST /auth/public/authenticate {"password": "pw", "username": "ada"}',
            'POST /auth/public/second-factor {"challenge": "c-7", "code": "123456"}',
            "GET /auth/me",
        ], shown.err
        assert shown.out == "Signed in to http://played as ada.\n"
        assert (remembered()[:2], tokens_kept()) == (("default", "ada"), ("a", "r"))

    def test_at_a_terminal_shows_which_service_it_is_before_it_asks(self, person: Person):
        known = {"POST /auth/public/authenticate": CHALLENGED, "/": {"version": "9.9"}}
        known |= {"/auth/me": ME | {"mustEnrolSecondFactor": True}}
        shown = person("login", "ada", " 123456", unseen=(" pw ",), known=known)
        assert [line for line in shown.service.lines if line.startswith("POST")] == [
            'POST /auth/public/authenticate {"password": " pw ", "username": "ada"}',
            'POST /auth/public/second-factor {"challenge": "c-7", "code": "123456"}',
        ], shown.err
        assert shown.out.startswith("Username: Code, or recovery code: Signed in")
        assert shown.err.splitlines() == [
            "Gridloom 9.9 at http://played",
            "Your organisation demands a second factor: run gridloom second-factor enable.",
        ]

    def test_with_a_key_tries_it_and_keeps_it_under_the_name_of_what_has_no_user(self, person: Person):
        machine = {"username": "", "displayName": "Gateway", "mustEnrolSecondFactor": False}
        shown = person("login --profile robot --api-key-stdin", " k-1 ", known={"/auth/me": ME | machine})
        [asked] = shown.service.requests
        assert (asked.url.path, asked.headers["authorization"]) == ("/auth/me", "Bearer k-1")
        assert remembered() == ("robot", "Gateway", Secret(api_key="k-1"))

    def test_that_is_refused_is_not_remembered(self, person: Person):
        for known in (
            {"POST /auth/public/authenticate": refuse(401, "unauthenticated")},
            {"/auth/me": refuse(403, "x")},
        ):
            shown = person("login --username ada --password-stdin", "pw", known=known)
            assert shown.code != 0
            assert (Profiles().current, list(Profiles().all())) == ("elsewhere", ["elsewhere"])

    def test_without_a_terminal_to_ask_on_says_so(self, person: Person):
        for words in ("login", "login --username ada", "join --username ada"):
            shown = person(words, "pw")
            assert (shown.code, shown.service.lines) == (2, [])
            assert shown.err.startswith("There is no terminal to ask on")


class TestSigningOut:
    def remember(self, secret: Secret) -> None:
        Profiles().put("desk", Profile(url=URL, username="ada"), secret)
        Profiles().put("other", Profile(url=URL, username="bob"), Secret(api_key="k-2"))
        Profiles().use("desk")

    TOKENS = Secret(tokens=Tokens(access_token="a", refresh_token="r", expires_at=1e12))

    def test_ends_the_session_and_forgets_the_tokens_of_its_own_profile(self, person: Person):
        self.remember(self.TOKENS)
        shown = person("logout")
        assert (shown.code, shown.out, shown.service.changes) == (0, "Signed out.\n", ["POST /auth/logout"]), shown.err
        assert shown.service.requests[0].headers["authorization"] == "Bearer a"
        assert [Profiles().secret_of(name) for name in ("desk", "other")] == [None, Secret(api_key="k-2")]
        assert Profiles().get("desk").username == "ada", "whose profile it is stays known"

    def test_of_a_named_profile_leaves_the_one_in_use(self, person: Person):
        self.remember(self.TOKENS)
        shown = person("logout --profile other -o json")
        assert (json.loads(shown.out), shown.service.lines) == ({"signedIn": False}, []), "a key has no session to end"
        assert Profiles().secret_of("other") is None
        assert tokens_kept() == ("a", "r")

    def test_forgets_the_tokens_where_the_session_has_ended_already(self, person: Person):
        self.remember(self.TOKENS)
        ended = refuse(401, "unauthenticated")
        shown = person("logout", known={"POST /auth/logout": ended, "POST /auth/public/refresh": ended})
        assert (shown.code, shown.out, shown.err) == (0, "Signed out.\n", "")
        assert Profiles().secret_of("desk") is None

    def test_forgets_the_tokens_and_says_so_where_the_service_does_not_end_the_session(self, person: Person):
        self.remember(self.TOKENS)
        shown = person("logout", known={"POST /auth/logout": refuse(500, "internal", detail="It failed.")})
        assert (shown.code, shown.out) == (0, "")
        assert shown.err == "Forgotten here, but the session may go on for a while: It failed.\n"
        assert Profiles().secret_of("desk") is None


class TestABrowser:
    @pytest.fixture
    def pages(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The pages that are asked for before the browser opens them; the last of them is what the browser opens."""
        pages: list[str] = []

        def get(page: str, **options: Any) -> httpx2.Response:
            assert options["follow_redirects"] is False
            pages.append(page)
            return httpx2.Response(404 if "Nobody" in page else 302, json={"detail": "There is none.", "status": 404})

        monkeypatch.setattr("httpx2.get", get)
        return pages

    @staticmethod
    def browse(monkeypatch: pytest.MonkeyPatch, visit: Callable[[dict[str, str], httpx2.Client], None]) -> list[str]:
        opened: list[str] = []

        def open_page(page: str) -> bool:
            opened.append(page)
            with httpx2.Client() as browser:
                visit({name: values[0] for name, values in parse_qs(urlsplit(page).query).items()}, browser)
            return True

        monkeypatch.setattr("webbrowser.open", open_page)
        return opened

    def test_brings_a_code_that_only_this_command_can_exchange(
        self, person: Person, pages: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        asked: dict[str, str] = {}
        answers: list[tuple[int, str]] = []

        def visit(query: dict[str, str], browser: httpx2.Client) -> None:
            asked.update(query)
            place = asked["redirect"]
            for page in (f"{place}x?code=another", place, f"{place}?code=", f"{place}?code=once%2B1"):
                answer = browser.get(page)
                answers.append((answer.status_code, answer.text))

        opened = self.browse(monkeypatch, visit)
        monkeypatch.setenv("GRIDLOOM_URL", f"{URL}/")
        shown = person("login --sso Nordlicht")
        assert (shown.code, opened) == (0, pages), shown.err
        assert pages[0].startswith("http://played/auth/public/sso/start?organisation=Nordlicht&")
        assert shown.err == f"Sign in with your browser: {pages[0]}\n"
        assert answers == [(404, "Nothing here.\n")] * 3 + [(200, "You are signed in. Close this page.\n")]
        sent = json.loads(shown.service.requests[0].content)
        digest = hashlib.sha256(sent["verifier"].encode()).digest()
        assert sent["code"] == "once+1"
        assert asked["code-challenge"] == base64.urlsafe_b64encode(digest).decode().rstrip("=")
        assert asked["redirect"].startswith("http://127.0.0.1:")
        assert [line.partition(" {")[0] for line in shown.service.lines] == [
            "POST /auth/public/sso/token",
            "GET /auth/me",
        ]
        assert (remembered()[1], tokens_kept()) == ("ada", ("a", "r"))
        with httpx2.Client() as late, pytest.raises(httpx2.ConnectError):
            late.get(asked["redirect"])

    def test_is_not_opened_where_the_service_refuses(
        self, person: Person, pages: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        opened = self.browse(monkeypatch, lambda *_: None)
        shown = person("login --sso Nobody")
        assert (shown.code, shown.err, opened) == (1, "There is none.\n", [])

    @pytest.mark.usefixtures("pages")
    def test_that_brings_nothing_leaves_you_signed_out(self, person: Person, monkeypatch: pytest.MonkeyPatch):
        self.browse(monkeypatch, lambda *_: None)
        monkeypatch.setattr("gridloom_client.commands.terminal.browser_code.WaitingForCode.wait", lambda _: None)
        shown = person("login --sso Nordlicht")
        assert (shown.code, shown.out, shown.service.lines) == (2, "", [])
        assert shown.err.endswith("No sign-in came back from the browser.\n")


class TestASecondFactor:
    @pytest.fixture(autouse=True)
    def key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("GRIDLOOM_API_KEY", "k")

    def test_is_set_up_with_a_code_and_shows_every_recovery_code(self, person: Person):
        for unseen in (None, ()):
            shown = person("second-factor enable", " 123456 ", unseen=unseen)
            assert shown.service.changes == ["POST /auth/totp", 'PUT /auth/totp {"code": "123456"}'], shown.err
            prompt = "" if unseen is None else "Code that it shows: "
            assert shown.out.splitlines() == [
                "Add this to your authenticator app",
                "Secret   JBSW",
                "Address  otpauth://totp/1",
                f"{prompt}Keep these recovery codes; each works once:",
                *("  one-1", "  two-2", "  three-3"),
            ]

    def test_gives_a_script_the_recovery_codes_as_json(self, person: Person):
        shown = person("second-factor enable -o json", "123456")
        assert json.loads(shown.out.splitlines()[-1]) == {"recoveryCodes": ["one-1", "two-2", "three-3"]}

    def test_is_removed_with_a_code(self, person: Person):
        shown = person("second-factor disable", "123456")
        assert (shown.out, shown.service.changes) == ("Removed.\n", ['DELETE /auth/totp {"code": "123456"}'])
