"""What an edit changed, word by word where that takes no longer than a reader would wait."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from jobs.web.approvals import revisions
from jobs.web.approvals.revisions import Part, parts_of


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a = 5", "a = 3", [Part("same", "a = "), Part("gone", "5"), Part("new", "3")]),
        ("x", "x y", [Part("same", "x"), Part("new", " y")]),
        ("a b", "b", [Part("gone", "a "), Part("same", "b")]),
        ("a a", "a a a", [Part("same", "a a"), Part("new", " a")]),
        ("a, b, c", "a, d, b, e", [
            Part("same", "a, "), Part("new", "d, "), Part("same", "b, "), Part("gone", "c"), Part("new", "e"),
        ]),
        ("same", "same", [Part("same", "same")]),
        ("", "new", [Part("new", "new")]),
    ],
)  # fmt: skip
def test_what_stays_goes_and_comes_is_told_apart(old: str, new: str, expected: list[Part]) -> None:
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
        Part("same", "p = 'FR' AND id IN ("), Part("gone", f"{first})"), Part("new", f"{second}) AND q"),
    ]  # fmt: skip
    assert pairs == []
    assert parts_of(f"id IN ({first})", f"id IN ({first.replace('1250', '7')})") == [
        Part("same", f"id IN ({first[: 250 * 6]}"), Part("gone", "1250"), Part("new", "7"),
        Part("same", f"{first[250 * 6 + 4 :]})"),
    ]  # fmt: skip
    assert max(pairs) <= revisions.MOST_PAIRS
