from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tables.rules.search_index import asked_grams, grams, later_word_mark, later_words, normal, terms, words


@given(st.text(alphabet="abcö_. \n\t", max_size=30), st.integers(0, 30), st.integers(1, 6))
def test_any_part_of_a_word_is_found_by_its_grams(text: str, start: int, length: int) -> None:
    found = set(grams(words([text])))
    for part in words([text])[start : start + length].split():
        assert set(asked_grams(part)) <= found


def test_case_and_control_characters_do_not_count() -> None:
    assert normal("  Straße\x00ORDERS\u2028x ") == "strasse orders x"


def test_no_gram_spans_two_words() -> None:
    assert "b c" not in grams("ab cd")
    assert "bc" not in grams("ab cd")


def test_a_query_is_its_words_once() -> None:
    assert terms("Order  order day") == ["order", "day"]
    assert terms("   ") == []


def test_a_wide_table_ends_somewhere() -> None:
    assert len(words(f"column_{i}" for i in range(100_000))) == 200_000


def test_every_column_of_a_wide_table_is_found() -> None:
    assert "a_rather_long_name_of_a_column_1999" in words(f"a_rather_long_name_of_a_column_{i}" for i in range(2_000))


def test_later_words_of_a_name_are_marked_by_their_beginnings() -> None:
    assert later_words("shop_orders.old") == ["^o", "^ol", "^old", "^or", "^ord"]
    assert later_words("orders") == []
    assert {"^us_", "^ord"} <= set(later_words("stg_us_orders"))
    assert {"^_or", "^ord"} <= set(later_words("stg__orders"))
    assert "^кли" in later_words("заказы_клиентов")
    assert later_word_mark("orders") in later_words("pre-orders")
