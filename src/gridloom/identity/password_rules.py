"""Which passwords are refused: the short, the famous and the guessable."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from gridloom.kernel.problem import FieldError, Problem

SHORTEST: Final = 12
LONGEST: Final = 1024
FEWEST_DISTINCT: Final = 5
LEAST_BESIDES_USERNAME: Final = 8


class PasswordRefused(Problem):
    """The password is easy to guess.

    A password has at least 12 characters, is none of those that attackers try first (a famous word with digits behind
    it counts as that word), is no run along the keyboard or the alphabet, has at least five different characters, and
    is more than the user name with something short around it. Four random words make a good one.
    """

    status = 422
    title = "The password is too easy to guess"


# Words that, dressed up with digits and punctuation, make up most of the leaked passwords of 12 characters and more.
_FAMOUS = """
    admin administrator asdfgh asdfghjkl baseball basketball batman bitcoin butterfly changeit changeme charlie
    chocolate computer cookie default dragon facebook football freedom google guest hello hunter iloveyou
    internet jennifer jordan killer letmein linkedin liverpool login lovely loveme master michael microsoft
    monkey mustang mypassword ninja nothing pass passw password passwordone passwort pokemon princess qazwsx
    qazwsxedc qwert qwerty qwertyuiop qwertz qwertzuiop root schatz secret security shadow sommer spring
    starwars summer sunshine superman sysadmin temp temporary thisisapassword thisismypassword trustno
    trustnoone welcome whatever willkommen winter zaqxsw zxcvbn zxcvbnm
"""
_FAMOUS_WORDS: Final = frozenset(_FAMOUS.split())

_RUNS: Final = (
    "01234567890123456789012345",
    "98765432109876543210987654",
    "abcdefghijklmnopqrstuvwxyz",
    "zyxwvutsrqponmlkjihgfedcba",
    "qwertyuiopasdfghjklzxcvbnm",
    "qwertzuiopasdfghjklyxcvbnm",
    "1q2w3e4r5t6y7u8i9o0p",
    "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p",
    "1a2b3c4d5e6f7g8h9i0j",
    "a1b2c3d4e5f6g7h8i9j0",
)
_LETTERS_FOR_DIGITS: Final = str.maketrans("013457@$!", "oieastasi")


def normalised(password: str) -> str:
    """The same password however the keyboard composed its characters (RFC 8265's opaque string)."""
    return unicodedata.normalize("NFC", password)


def check_password(password: str, username: str, *, pointer: str) -> None:
    """Refuse what an attacker would try early; `pointer` names the field in the answer."""
    fault = fault_of(normalised(password), username)
    if fault is not None:
        raise PasswordRefused(f"The password {fault}.", errors=[FieldError(pointer, fault)])


def fault_of(password: str, username: str) -> str | None:
    folded = password.casefold()
    if len(password) < SHORTEST:
        return f"is shorter than {SHORTEST} characters"
    if len(password) > LONGEST:
        return f"is longer than {LONGEST} characters"
    if "\0" in password:
        return "contains U+0000"
    if len(set(folded)) < FEWEST_DISTINCT:
        return f"has fewer than {FEWEST_DISTINCT} different characters"
    if _is_famous(folded):
        return "is one of those that attackers try first"
    if _is_run(folded):
        return "follows the keyboard or the alphabet"
    name = username.casefold()
    if name and name in folded and len(folded.replace(name, "")) < LEAST_BESIDES_USERNAME:
        return "is little more than the user name"
    return None


def _is_famous(password: str) -> bool:
    """Whether a famous word is left without decoration: digits and signs around it, or standing for its letters."""
    core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", password)
    spellings = (core, core.translate(_LETTERS_FOR_DIGITS), password.translate(_LETTERS_FOR_DIGITS))
    return any(_repeated_unit(re.sub(r"[\W\d_]+", "", spelling)) in _FAMOUS_WORDS for spelling in spellings)


def _repeated_unit(text: str) -> str:
    """The shortest piece that gives the text when repeated: `abcabc` → `abc`."""
    return text[: (text + text).find(text, 1)] if text else text


def _is_run(password: str) -> bool:
    """Whether the characters, punctuation aside, lie one behind the other on a keyboard or in an alphabet."""
    plain = re.sub(r"[\W_]+", "", password)
    unit = _repeated_unit(plain)
    pieces = (unit, *re.findall(r"\d+|[^\d]+", unit))
    if any(unit in run for run in _RUNS):
        return True
    return all(len(piece) > 1 and any(piece in run for run in _RUNS) for piece in pieces[1:])
