"""E-mail, where an SMTP server is configured: sent by a thread of its own, so that no request waits for it."""

from __future__ import annotations

import contextlib
import queue
import smtplib
import ssl
import threading
from email.message import EmailMessage
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import structlog

MAX_WAITING: Final = 1000
ATTEMPTS: Final = 4
TIMEOUT_S: Final = 20.0
LAST_LETTERS_S: Final = 2.0

log = structlog.get_logger(__name__)


class Mailer:
    """Sends in the order given, trying each message a few times. Without an address of a server it sends nothing."""

    def __init__(self, smtp_url: str | None, sender: str) -> None:
        """smtp_url: `smtp://user:password@host:587` (STARTTLS where offered) or `smtps://…:465`."""
        self._url = None if not smtp_url else urlsplit(smtp_url)
        self._sender = sender
        self._waiting: queue.Queue[EmailMessage | None] = queue.Queue(MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()

    @property
    def is_configured(self) -> bool:
        return self._url is not None

    def start(self) -> None:
        if self.is_configured:
            self._thread = threading.Thread(target=self._send_all, name="mail", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Let the thread send what waits, as long as that takes no patience; the process ends in any case."""
        if self._thread is None:
            return
        self._is_closing.set()
        with contextlib.suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(LAST_LETTERS_S)

    def post(self, recipient: str, subject: str, text: str) -> None:
        if not self.is_configured:
            return
        message = EmailMessage()
        message["From"] = self._sender
        message["To"] = recipient
        message["Subject"] = subject
        message.set_content(text)
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            log.error("mail.dropped", reason="too many messages wait")

    def _send_all(self) -> None:
        while (message := self._waiting.get()) is not None:
            self._send_patiently(message)

    def _send_patiently(self, message: EmailMessage) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._send_message(message)
            except (OSError, smtplib.SMTPException) as error:
                log.warning("mail.failed", attempt=attempt + 1, error=type(error).__name__)
                if self._is_closing.wait(2.0**attempt):
                    break
            else:
                return
        log.error("mail.dropped", reason="the server refused it or did not answer")

    def _send_message(self, message: EmailMessage) -> None:
        assert self._url is not None
        with open_smtp_session(self._url, TIMEOUT_S) as server:
            server.send_message(message)


def open_smtp_session(url: SplitResult, timeout_s: float) -> smtplib.SMTP:
    """A connection that may send: encrypted where the server offers it, and signed in where the address has a user."""
    host = url.hostname or "localhost"
    if url.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(
            host, url.port or 465, timeout=timeout_s, context=ssl.create_default_context()
        )
    else:
        server = smtplib.SMTP(host, url.port or 587, timeout=timeout_s)
    try:
        server.ehlo()
        if url.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls(context=ssl.create_default_context())
            server.ehlo()
        if url.username:
            server.login(unquote(url.username), unquote(url.password or ""))
    except BaseException:
        server.close()
        raise
    return server
