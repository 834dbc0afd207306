"""E-mail goes out on a thread of its own, to a server that may be slow or away."""

import socket
import threading
import time

from gridloom.identity.mail import Mailer


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

    def test_sends_nothing_where_no_server_is_configured(self):
        mailer = Mailer(None, "noreply@example.org")
        mailer.start()
        mailer.post("ada@example.org", "Hello", "Hello")
        assert not mailer.is_configured
        mailer.close()
