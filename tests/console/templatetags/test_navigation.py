from types import SimpleNamespace

import pytest

from tests.console.templatetags.rendering import shown


@pytest.mark.parametrize(
    ("view_name", "marked"), [("tables:list", True), ("tables:history", True), ("jobs:list", False), ("", False)]
)
def test_the_navigation_marks_where_one_is(view_name, marked):
    request = SimpleNamespace(resolver_match=SimpleNamespace(view_name=view_name))
    assert (shown('{% current "tables:" "jobs:convert" %}', request=request) == ' aria-current="page"') is marked


def test_the_navigation_marks_nothing_on_a_page_without_a_route():
    assert shown('{% current "home" %}') == ""
    assert shown('{% current "home" %}', request=SimpleNamespace(resolver_match=None)) == ""
