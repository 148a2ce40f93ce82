"""What an edit changed, word by word where that takes no longer than a reader would wait."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from jobs.web.approvals import revisions
from jobs.web.approvals.revisions import TextPart, parts_of


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a = 5", "a = 3", [TextPart("same", "a = "), TextPart("gone", "5"), TextPart("new", "3")]),
        ("x", "x y", [TextPart("same", "x"), TextPart("new", " y")]),
        ("a b", "b", [TextPart("gone", "a "), TextPart("same", "b")]),
        ("a a", "a a a", [TextPart("same", "a a"), TextPart("new", " a")]),
        ("a, b, c", "a, d, b, e", [
            TextPart("same", "a, "), TextPart("new", "d, "), TextPart("same", "b, "), TextPart("gone", "c"), TextPart("new", "e"),
        ]),
        ("same", "same", [TextPart("same", "same")]),
        ("", "new", [TextPart("new", "new")]),
    ],
)  # fmt: skip
def test_what_stays_goes_and_comes_is_told_apart(old: str, new: str, expected: list[TextPart]) -> None:
    assert parts_of(old, new) == expected


def test_a_long_list_that_became_another_is_shown_whole_without_comparing_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pairs: list[int] = []
    known = SequenceMatcher

    def counted(junk: None, one: list[str], other: list[str], *, autojunk: bool) -> object:
        pairs.append(len(one) * len(other))
        return known(junk, one, other, autojunk=autojunk)

    monkeypatch.setattr(revisions, "SequenceMatcher", counted)
    first, second = (", ".join(str(n) for n in range(start, start + 500)) for start in (1_000, 2_000))
    assert parts_of(f"p = 'FR' AND id IN ({first})", f"p = 'FR' AND id IN ({second}) AND q") == [
        TextPart("same", "p = 'FR' AND id IN ("), TextPart("gone", f"{first})"), TextPart("new", f"{second}) AND q"),
    ]  # fmt: skip
    assert pairs == []
    assert parts_of(f"id IN ({first})", f"id IN ({first.replace('1250', '7')})") == [
        TextPart("same", f"id IN ({first[: 250 * 6]}"), TextPart("gone", "1250"), TextPart("new", "7"),
        TextPart("same", f"{first[250 * 6 + 4 :]})"),
    ]  # fmt: skip
    assert max(pairs) <= revisions.MOST_PAIRS
