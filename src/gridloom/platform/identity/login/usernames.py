"""Which user names there can be: one spelling each, and none that a person would take for another's."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final

from precis_i18n import get_profile

from gridloom.kernel.problem import Problem

_PART: Final = get_profile("UsernameCaseMapped")

# Letters of other scripts that look like small Latin ones in common typefaces, by what they look like.
_LOOKS_LIKE: Final = {
    letter: latin
    for latin, letters in {
        "a": "аɑα",
        "b": "ЬьƄ",
        "c": "сϲ",
        "d": "ԁɗ",
        "e": "еҽ",
        "g": "ɡցǥ",
        "h": "һհ",
        "i": "іɩιıӏ",
        "j": "јϳ",
        "k": "кκ",
        "l": "ӏɭǀ",
        "m": "м",
        "n": "пոη",
        "o": "оοօσ",
        "p": "рρ",
        "q": "ԛզ",
        "r": "гᴦ",
        "s": "ѕꜱ",
        "t": "тτ",
        "u": "υսʋ",
        "v": "ѵν",
        "w": "ԝѡωա",
        "x": "хχ",
        "y": "уүγ",
        "z": "ᴢ",
    }.items()
    for letter in letters
}


class UsernameRefused(Problem, status=422, title="The user name cannot be used"):
    """The user name contains what must not be in one, or could be taken for that of another person.

    Letters, digits and the signs of a keyboard make a user name, in words with single spaces between them; invisible
    characters do not. Its letters are of one script, and not all of them such that it reads as a Latin name.
    """


def canonical_username(username: str) -> str:
    """The one spelling under which a user name is kept and looked up (RFC 8265, UsernameCaseMapped).

    A text that could never have been chosen is given back as it is: it is no one's name.
    """
    try:
        return _enforce_profile(username)
    except UnicodeError:
        return username


def check_username(username: str, *, pointer: str) -> str:
    """The spelling under which the name is kept, or a refusal that says what is wrong with it."""
    try:
        name = _enforce_profile(username)
    except UnicodeError:
        raise _make_problem(pointer, "contains a character that cannot be in one") from None
    scripts = {script for script in map(_script_of, name) if script}
    if len(scripts) > 1 and not scripts <= _WRITTEN_TOGETHER:
        raise _make_problem(pointer, f"mixes letters of several scripts ({', '.join(sorted(scripts)).title()})")
    letters = [letter for letter in name if letter.isalpha()]
    if not name.isascii() and letters and all(letter.isascii() or letter in _LOOKS_LIKE for letter in letters):
        raise _make_problem(pointer, "looks like another one in Latin letters")
    return name


_WRITTEN_TOGETHER: Final = {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"}


@lru_cache(maxsize=4096)
def _enforce_profile(username: str) -> str:
    """Word by word: the profile itself knows no spaces, and a name may have several words (RFC 8265, section 3.5)."""
    return " ".join(_PART.enforce(part) for part in username.split(" "))


def _script_of(letter: str) -> str | None:
    """The script by the first word of the letter's Unicode name; None for what every script uses."""
    if not letter.isalpha():
        return None
    return unicodedata.name(letter, "UNKNOWN").split(" ")[0]


def _make_problem(pointer: str, error: str) -> UsernameRefused:
    return UsernameRefused.at(pointer, f"The user name {error}.", error)
