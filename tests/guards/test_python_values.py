"""No page shows a value of Python's: lists, mappings, true and false are JSON's, and None is a word."""

import html
import re

import pytest

from console.templatetags.formatting.texts import as_json, pairs
from tests.journeys.sample_server import rendered
from tests.journeys.samples import PAGES

PYTHON = re.compile(
    r"[\[{(]'[^']*'[,:\]})]|\{'|': (?:True|False|None|\d|')|>\s*(?:True|False|None)\s*<"
    r"|datetime\.datetime\(|UUID\('|Decimal\('|<\w+ object at 0x"
)


OPTION = re.compile(r"<option\b.*?</option>", re.DOTALL)  # where None is a choice


@pytest.mark.parametrize("name", PAGES)
def test_no_page_of_the_samples_shows_one(name):
    page = html.unescape(OPTION.sub("", rendered(name, "light")))
    found = PYTHON.search(page)
    assert found is None, page[max(found.start() - 80, 0) : found.end() + 80]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": None, "b": [True, "é"]}, '{"a": null, "b": [true, "é"]}'),
        (["x", {"y": 1.5}], '["x", {"y": 1.5}]'),
        (True, "true"),
        (False, "false"),
        ("{'a': 1}", "{'a': 1}"),
        (7, 7),
        (None, None),
    ],
)
def test_a_value_is_as_json_has_it_and_a_text_as_it_is(value, text):
    assert as_json(value) == text
    assert pairs({"items": value}) == [("items", text)]
