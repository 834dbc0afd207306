"""Which passwords are refused: the short, the famous and the guessable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from gridloom.kernel.problem import Problem
from gridloom.platform.identity.login.guesses import takes_more_guesses

SHORTEST: Final = 12
LONGEST: Final = 1024
MIN_DISTINCT: Final = 5
MIN_BESIDES_NAME: Final = 8
MIN_GUESSES: Final = 10**8
"""By an attacker who knows how people make passwords."""


class PasswordRefused(Problem, status=422, title="The password is too easy to guess"):
    """The password is easy to guess.

    A password has at least 12 characters, at least five of them different, and is more than a name with something short
    around it. An estimator that knows leaked passwords, dictionaries, names, dates, keyboards and the usual disguises
    must need more than a hundred million guesses; the user's own names and this platform's count as words that
    attackers try first. Four random words make a good one.
    """


# What an attacker of this platform would try besides the estimator's own (English) lists.
_PLACE = """
    gridloom operator operators trader traders engineer viewer admin administrator auction auctions battery batteries
    energy storage virtual asset grid portfolio fleet sandbox production
    passwort kennwort willkommen schatz sommer winter herbst frühling qwertz qwertzuiop hallo geheim batterie energie
    strom speicher netz anlage zaqxsw changeit thisismypassword mypassword
"""
_DOMAIN_WORDS: Final = tuple(_PLACE.split())


def normalised(password: str) -> str:
    """The same password however the keyboard composed its characters (RFC 8265's opaque string)."""
    return unicodedata.normalize("NFC", password)


def check_password(password: str, names: Iterable[str], *, pointer: str) -> None:
    """Refuse what an attacker would try early; `pointer` names the field in the answer.

    At most 20 ms of computing: callers on the event loop do it in the thread of password hashes.
    """
    error = find_weakness(normalised(password), *names)
    if error is not None:
        raise PasswordRefused.at(pointer, f"The password {error}.", error)


def find_weakness(password: str, *names: str) -> str | None:
    folded = password.casefold()
    if len(password) < SHORTEST:
        return f"is shorter than {SHORTEST} characters"
    if len(password) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if "\0" in password:
        return "contains U+0000"
    if len(set(folded)) < MIN_DISTINCT:
        return f"has fewer than {MIN_DISTINCT} different characters"
    if any(_is_little_more_than(folded, name.casefold()) for name in names):
        return "is little more than the user name"
    if not takes_more_guesses(password, MIN_GUESSES, _list_known_words(names)):
        return "is one of those that attackers try first"
    return None


def _is_little_more_than(password: str, name: str) -> bool:
    return bool(name) and name in password and len(password.replace(name, "")) < MIN_BESIDES_NAME


def _list_known_words(names: tuple[str, ...]) -> list[str]:
    pieces = [piece for name in names for piece in (name, *re.split(r"[\W_]+", name)) if len(piece) > 2]
    return [*pieces, *_DOMAIN_WORDS]
