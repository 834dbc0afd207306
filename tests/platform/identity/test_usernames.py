"""Which user names there can be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridloom.platform.identity.login.usernames import UsernameRefused, canonical_username, check_username

pytestmark = pytest.mark.pure


class TestUsername:
    @pytest.mark.parametrize(
        ("chosen", "kept"),
        [
            ("Ada", "ada"),
            ("ada@example.org", "ada@example.org"),
            ("ada lovelace", "ada lovelace"),
            ("\uff21\uff24\uff21", "ada"),
            ("rene\u0301", "ren\u00e9"),
            ("иван", "иван"),
            ("山田たろう", "山田たろう"),
            ("u-1_x.y+z", "u-1_x.y+z"),
        ],
    )
    def test_has_one_spelling(self, chosen, kept):
        assert check_username(chosen, pointer="/username") == kept
        assert canonical_username(chosen) == kept

    @pytest.mark.parametrize(
        "chosen",
        [
            "a\u200bda",  # zero width
            "ada\u200d",
            "ada\u202e",  # turns what follows around
            "\u0430da",  # one Cyrillic letter
            "\u0441\u043e\u0440",  # Cyrillic throughout, reads as Latin
            "\u0251da",  # Latin alpha
            "ada\x1b[2J",
            "ada\u00ad",
        ],
    )
    def test_is_none_that_could_be_taken_for_another(self, chosen):
        with pytest.raises(UsernameRefused) as refused:
            check_username(chosen, pointer="/username")
        assert refused.value.errors[0].pointer == "/username"

    @given(st.text(min_size=1, max_size=30))
    def test_is_unchanged_by_a_second_normalisation(self, chosen):
        try:
            kept = check_username(chosen, pointer="/username")
        except UsernameRefused:
            return
        assert check_username(kept, pointer="/username") == kept
        assert canonical_username(chosen) == kept
