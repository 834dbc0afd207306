"""netztransparenz.de of the German grid operators: reBAP and ID AEP as CSV, behind OAuth 2."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

import msgspec

from gridloom.feeds.checking import check_reading
from gridloom.feeds.model import ID_AEP, REBAP, FeedName, Reading, Topic
from gridloom.feeds.question import Answer, Conversation, Question, Refused, UnexpectedAnswer, describe_body
from gridloom.kernel.window import Window
from gridloom.reference_prices.model import PublishedPrice
from gridloom_client.published.imbalance import read_id_aep, read_rebap
from gridloom_client.published.prices import PublishedFileError
from gridloom_client.published.prices import PublishedPrice as FilePrice
from gridloom_client.published.tables import FileContent, NamedFile

_DATA: Final[Mapping[str, tuple[str, Callable[[NamedFile], Iterable[FilePrice]]]]] = {
    REBAP.name: ("NrvSaldo/reBAP/Qualitaetsgesichert", read_rebap),
    ID_AEP.name: ("IdAep", read_id_aep),
}
_SPAN: Final = timedelta(days=31)
"""On longer ones the service answers 500."""
_REFUSED: Final = 401
_NO_DATA: Final = 204


class _AccessToken(msgspec.Struct):
    access_token: str


class Netztransparenz:
    feed: Final = FeedName.NETZTRANSPARENZ
    address: Final = "https://ds.netztransparenz.de"
    token_address: Final = "https://identity.netztransparenz.de"  # noqa: S105  # where tokens come from

    def __init__(
        self, client_id: str, client_secret: str, address: str | None = None, token_address: str | None = None
    ) -> None:
        self._form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": client_secret}
        self._root = address or self.address
        self._token_root = token_address or self.token_address

    def ask(self, topic: Topic, window: Window) -> Conversation[list[Answer]]:
        """By months. A token that is refused is renewed once: it may have expired on the way."""
        token = yield from self._ask_token()
        answers = []
        for part in _split_months(window):
            question = self._question(topic, part, token)
            answer = yield question
            if answer.status == _REFUSED:
                token = yield from self._ask_token()
                answer = yield self._question(topic, part, token)
            if answer.status == _REFUSED:
                raise Refused(f"{question.shown} answered 401 with a new token; does the account have this interface?")
            answers.append(answer)
        return answers

    def _ask_token(self) -> Conversation[str]:
        path = "/users/connect/token"
        secrets = (self._form["client_secret"],)
        answer = yield Question(f"{self._token_root}{path}", f"POST {path}", form=self._form, secrets=secrets)
        try:
            token = msgspec.json.decode(answer.body, type=_AccessToken).access_token
        except (msgspec.DecodeError, UnicodeDecodeError):
            token = ""
        if not token or not token.isascii() or not token.isprintable() or len(token) > 10_000:
            raise UnexpectedAnswer("The identity service answered without an access token.")
        return token

    def _question(self, topic: Topic, window: Window, token: str) -> Question:
        path = f"/api/v1/data/{_DATA[topic.name][0]}/{window.start:%Y-%m-%dT%H:%M:%S}/{window.end:%Y-%m-%dT%H:%M:%S}"
        return Question(
            self._root + path,
            path,
            headers={"Authorization": f"Bearer {token}"},
            statuses=frozenset({200, _NO_DATA, _REFUSED}),
            secrets=(token,),
        )

    def read(self, topic: Topic, window: Window, answers: Sequence[Answer]) -> Reading:
        prices: list[PublishedPrice] = []
        for answer in answers:
            if answer.status == _NO_DATA or not answer.body.strip():
                continue
            if b"\x00" in answer.body or not answer.body.removeprefix(b"\xef\xbb\xbf").startswith(b"Datum;"):
                raise UnexpectedAnswer(
                    f"The answer is no table that begins with Datum, but {describe_body(answer.body)}."
                )
            prices += _read_table(topic, answer)
        return check_reading(topic, window, prices)


def _read_table(topic: Topic, answer: Answer) -> list[PublishedPrice]:
    try:
        found = list(_DATA[topic.name][1](FileContent(topic.name, answer.body)))
    except PublishedFileError as fault:
        raise UnexpectedAnswer(str(fault)) from None
    return [PublishedPrice(one.series, one.start, one.end, one.price) for one in found]


def _split_months(window: Window) -> Iterator[Window]:
    start = window.start
    while start < window.end:
        end = min(window.end, start + _SPAN)
        yield Window(start, end)
        start = end
