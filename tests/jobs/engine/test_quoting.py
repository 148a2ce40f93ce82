"""The one quoting function."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.engine.quoting import path_table, quoted, quoted_name


@pytest.mark.parametrize(
    ("name", "text"), [("a", "`a`"), ("a`b", "`a``b`"), ("``", "``````"), ("a.b", "`a.b`"), ("x; DROP", "`x; DROP`")]
)
def test_a_name_is_one_backquoted_part(name, text):
    assert quoted(name) == text


@given(st.text(st.characters(blacklist_characters="\x00"), min_size=1))
def test_no_name_can_end_its_quotes(name):
    inside = quoted(name)[1:-1]
    assert "`" not in inside.replace("``", "")
    assert inside.replace("``", "`") == name


@pytest.mark.parametrize("name", ["", "a\x00b"])
def test_what_can_be_no_identifier_is_refused(name):
    with pytest.raises(ValueError, match="identifier"):
        quoted(name)


def test_paths_and_dotted_names():
    assert path_table("parquet", "/lake/50% `off`") == "`parquet`.`/lake/50% ``off```"
    assert quoted_name(("db", "t.x")) == "`db`.`t.x`"
