"""Characters that no text may contain, and what a refusal calls them."""

from __future__ import annotations

import pytest

from gridloom.kernel.text import find_forbidden, may_hold_forbidden

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("character", "said"),
    [
        ("\0", "contains U+0000"),
        ("\x08", "contains a control character, U+0008"),
        ("\x0b", "contains a control character, U+000B"),
        ("\x1f", "contains a control character, U+001F"),
        ("\x7f", "contains a control character, U+007F"),
        ("\x9f", "contains a control character, U+009F"),
        ("\u202a", "contains a bidirectional override, U+202A"),
        ("\u202e", "contains a bidirectional override, U+202E"),
        ("\u2069", "contains a bidirectional override, U+2069"),
        *((allowed, None) for allowed in ("\t", "\n", "\r", " ", "\xa0", "ü", "\u2029", "\u202f", "\u206a")),
    ],
)
def test_a_text_is_refused_by_the_name_of_its_first_forbidden_character(character: str, said: str | None) -> None:
    assert find_forbidden(f"Husum{character}1\x01" if said else f"Husum{character}1") == said


@pytest.mark.parametrize(
    ("encoded", "may_hold"),
    [
        (b'{"name": "Husum 1"}', False),
        (b'{"name": "Husum\\u202e"}', True),
        (b'{"name": "Husum\x7f"}', True),
        ('{"name": "Büsum"}'.encode(), True),
    ],
)
def test_only_a_body_of_plain_letters_is_known_to_hold_no_forbidden_character(encoded: bytes, may_hold: bool) -> None:
    assert may_hold_forbidden(encoded) is may_hold
