"""E-mail goes out on a thread of its own, to a server that may be slow or away."""

import queue
import smtplib
import socket
import threading
import time
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from gridloom.platform.identity import mail
from gridloom.platform.identity.mail import Mailer, open_smtp_session


class Postbox:
    """The smallest server that a mail can be given to."""

    def __init__(self):
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"smtp://127.0.0.1:{self._socket.getsockname()[1]}"
        self.letters = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as line:
                self._converse(line)

    def _converse(self, line):
        def say(text):
            line.write(text + b"\r\n")
            line.flush()

        say(b"220 postbox")
        for command in line:
            if command.upper().startswith(b"DATA"):
                say(b"354 go on")
                letter = []
                for text in line:
                    if text == b".\r\n":
                        break
                    letter.append(text)
                self.letters.append(b"".join(letter).decode())
            if command.upper().startswith(b"QUIT"):
                say(b"221 bye")
                return
            say(b"250 ok")


def wait_for(condition):
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


class TestMailer:
    def test_hands_the_letter_to_the_server(self):
        postbox = Postbox()
        mailer = Mailer(postbox.url, "Gridloom <noreply@example.org>")
        mailer.start()
        mailer.post("ada@example.org", "Invitation to Nord Storage", "Your token: gli_x\n")
        wait_for(lambda: postbox.letters)
        assert "To: ada@example.org" in postbox.letters[0]
        assert "Subject: Invitation to Nord Storage" in postbox.letters[0]
        assert "gli_x" in postbox.letters[0]
        mailer.close()
        postbox.close()

    def test_sends_what_waits_before_it_closes(self):
        postbox = Postbox()
        mailer = Mailer(postbox.url, "noreply@example.org")
        mailer.start()
        for number in range(3):
            mailer.post(f"ada{number}@example.org", "Hello", "Hello")
        mailer.close()
        assert len(postbox.letters) == 3
        postbox.close()

    def test_delays_no_request_for_a_server_that_is_away(self):
        mailer = Mailer("smtp://127.0.0.1:1", "noreply@example.org")
        mailer.start()
        started = time.perf_counter()
        for _ in range(20):
            mailer.post("ada@example.org", "Hello", "Hello")
        mailer.close()
        assert time.perf_counter() - started < 30, "it waits for a server that is away"

    def test_drops_a_letter_where_too_many_wait(self):
        mailer = Mailer("smtp://127.0.0.1:1", "noreply@example.org")
        mailer._waiting = queue.Queue(1)
        for number in range(2):
            mailer.post(f"ada{number}@example.org", "Hello", "Hello")
        assert [letter["To"] for letter in mailer._waiting.queue] == ["ada0@example.org"]


TLS = object()
"""In place of what believes the machine's authorities alone."""


class PlayedServer:
    """What a server of an address is told, one line for each step."""

    def __init__(self, said, *, extensions=(), fails=False):
        self.said, self.extensions, self.fails = said, extensions, fails

    def ehlo(self):
        self.said.append("ehlo")

    def has_extn(self, name):
        return name in self.extensions

    def starttls(self, *, context):
        assert context is TLS
        self.said.append("starttls")

    def login(self, username, password):
        self.said.append(f"login {username} {password}")
        if self.fails:
            raise smtplib.SMTPAuthenticationError(535, b"no")

    def close(self):
        self.said.append("close")


class TestAnAddressOfAServer:
    def open(self, monkeypatch, address, **server):
        said = []

        def connect(host, port, *, timeout, context=None):
            if host != "mail.example":
                raise ConnectionRefusedError("a letter of an earlier test")
            said.append(f"{'tls' if context is TLS else 'plain'} {host}:{port} within {timeout:g} s")
            return PlayedServer(said, **server)

        monkeypatch.setattr(mail, "ssl", SimpleNamespace(create_default_context=lambda: TLS))
        names = ("SMTPException", "SMTPAuthenticationError")
        monkeypatch.setattr(
            mail, "smtplib", SimpleNamespace(SMTP=connect, SMTP_SSL=connect, **{n: getattr(smtplib, n) for n in names})
        )
        try:
            open_smtp_session(urlsplit(address), 7)
        except smtplib.SMTPException:
            said.append("raised")
        return said

    def test_says_how_it_is_reached(self, monkeypatch):
        encrypted = {"extensions": ("starttls",)}
        for address, server, said in (
            ("smtp://mail.example", {}, ["plain mail.example:587 within 7 s", "ehlo"]),
            ("smtp://mail.example:2525", {}, ["plain mail.example:2525 within 7 s", "ehlo"]),
            ("smtp://mail.example", encrypted, ["plain mail.example:587 within 7 s", "ehlo", "starttls", "ehlo"]),
            ("smtps://mail.example", encrypted, ["tls mail.example:465 within 7 s", "ehlo"]),
            ("smtps://mail.example:4650", {}, ["tls mail.example:4650 within 7 s", "ehlo"]),
        ):
            assert self.open(monkeypatch, address, **server) == said

    def test_says_who_signs_in_after_it_is_encrypted(self, monkeypatch):
        said = self.open(monkeypatch, "smtp://ada%40x:p%3Aw%2Fd@mail.example", extensions=("starttls",))
        assert said[1:] == ["ehlo", "starttls", "ehlo", "login ada@x p:w/d"]

    def test_that_refuses_is_left(self, monkeypatch):
        said = self.open(monkeypatch, "smtps://ada:x@mail.example", fails=True)
        assert said[-3:] == ["login ada x", "close", "raised"]


class TestALetterThatIsRefused:
    @pytest.fixture
    def pauses(self, monkeypatch):
        """A server that takes the letters from the so-manieth attempt on, and how long is waited before each."""
        paused = []

        def play(mailer, refusals, *, is_closing=False):
            attempts = iter(range(100))

            def wait(seconds):
                paused.append(seconds)
                return is_closing

            def send(_message):
                if next(attempts) < refusals:
                    raise OSError("not now")
                paused.append("sent")

            monkeypatch.setattr(mailer, "_send_message", send)
            monkeypatch.setattr(
                mailer,
                "_is_closing",
                SimpleNamespace(wait=wait, set=lambda: None),
            )
            return paused

        return play

    @pytest.mark.parametrize(
        ("refusals", "is_closing", "paused"),
        [
            (0, False, ["sent"]),
            (3, False, [1, 2, 4, "sent"]),
            (4, False, [1, 2, 4, 8]),
            (1, True, [1]),  # the service ends
        ],
    )
    def test_is_tried_four_times_with_longer_and_longer_pauses(self, pauses, refusals, is_closing, paused):
        mailer = Mailer("smtp://127.0.0.1:1", "noreply@example.org")
        seen = pauses(mailer, refusals, is_closing=is_closing)
        mailer.start()
        mailer.post("ada@example.org", "Hello", "Hello")
        mailer.close()
        assert seen == paused
