"""How many guesses a password takes, by zxcvbn's matchers and scoring, at a cost that no password can raise.

zxcvbn by itself tries every combination of substituted characters (`@` for a, `0` for o), which takes seconds for a
password made of them. Here each character has two readings, repetitions are collapsed beforehand instead of being
estimated within each other, and parts of 24 characters are estimated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from zxcvbn import matching
from zxcvbn.scoring import most_guessable_match_sequence

PART_CHARACTERS: Final = 24
"""Matching takes time with the square of the length. A password is no easier to guess than a part of it."""
COLLAPSED_CHARACTERS: Final = 72

_WORDS: Final = {
    word: min(ranked[word] for ranked in matching.RANKED_DICTIONARIES.values() if word in ranked)
    for word in set().union(*matching.RANKED_DICTIONARIES.values())
}
_LETTERS: Final = str.maketrans("4@8({[<369!1|0$5+7%2", "aabcccceggiiiossttxz")
_OTHER_LETTERS: Final = str.maketrans("4@8({[<369!1|0$5+7%2", "aabcccceggillosstlxz")
_REPEATED: Final = re.compile(r"(.+?)\1+")
_PUNCTUATION: Final = re.compile(r"[\W_]+")


def takes_more_guesses(password: str, least: float, known_words: Iterable[str]) -> bool:
    """Whether the first or the last part does, in whichever spelling is the easiest: as it is, without punctuation,
    and without repetitions.

    known_words: what an attacker tries first besides the common dictionaries.
    """
    dictionaries = {"common": _WORDS, "known": matching.build_ranked_dict([word.lower() for word in known_words])}
    plain = _PUNCTUATION.sub("", password)
    spellings = [password, plain, _REPEATED.sub(r"\1", plain[:COLLAPSED_CHARACTERS])]
    ends = slice(0, PART_CHARACTERS), slice(-PART_CHARACTERS, None)
    return any(
        all(
            _estimate_guesses(part, dictionaries) > least
            for part in dict.fromkeys(spelling[end] for spelling in spellings if spelling)
        )
        for end in (ends if len(password) > PART_CHARACTERS else ends[:1])
    )


def _estimate_guesses(part: str, dictionaries: dict[str, dict[str, int]]) -> float:
    matches = [
        *matching.dictionary_match(part, dictionaries),
        *matching.reverse_dictionary_match(part, dictionaries),
        *_match_substituted(part, dictionaries),
        *matching.spatial_match(part),
        *matching.sequence_match(part),
        *matching.regex_match(part),
        *matching.date_match(part),
    ]
    ordered = sorted(matches, key=lambda match: (match["i"], match["j"]))
    return float(most_guessable_match_sequence(part, ordered)["guesses"])


def _match_substituted(part: str, dictionaries: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """Words behind characters that look like letters, in either reading."""
    found = []
    for letters in (_LETTERS, _OTHER_LETTERS):
        read = part.translate(letters)
        if read == part:
            return []
        for match in matching.dictionary_match(read, dictionaries):
            token = part[match["i"] : match["j"] + 1]
            if len(token) > 1 and token.lower() != match["matched_word"]:
                substituted = {one: chr(letters[ord(one)]) for one in token if ord(one) in letters}
                found.append({**match, "token": token, "l33t": True, "sub": substituted})
    return found
