"""A number with its noun."""

import pytest
from django.template import engines

from console.base.text.counted import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("file",), "0 files"),
        (1, ("file",), "1 file"),
        (2_000, ("file",), "2,000 files"),
        (1, ("entry", "entries"), "1 entry"),
        (3, ("entry", "entries"), "3 entries"),
        (1.5, ("minute",), "1.5 minutes"),
    ],
)
def test_a_number_goes_with_its_noun(number, words, text):
    assert counted(number, *words) == text
    assert shown(number, ",".join(words)) == text


def test_a_page_says_that_a_number_is_unknown():
    assert shown(None, "entry,entries") == '<span class="lv-unknown">unknown</span> entries'


def shown(number, words):
    return engines["django"].from_string(f'{{{{ number|counted:"{words}" }}}}').render({"number": number})
