"""Words that readers stumbled over stay out of pages, answers, the command line and the help."""

import re
from pathlib import Path

import pytest

from jobs.commands.base import with_article
from jobs.commands.registry import ROWS

PROJECT = Path(__file__).parents[2]
ROOMS = ("frontend/templates", "frontend/js", "jobs", "tables", "console", "docs")
ENDINGS = {".html", ".js", ".py", ".md"}
INSTEAD = {
    r"next round opens": "Looks for new files in …",
    r"f\"There is \{": "Did you mean …?",
    r"leave the predicate out": "tick “every row”",
    r"As the system has it": "Match system",
    r">Keep<": "Save",
    r"as usual\"": "Default",
    r"<dt>Read</dt>": "Last sync",
    r"none of your roles grants": "You need the role …",
    r"text=\"by name\"|\"text\": \"newest first\"": "at the column’s head",
    r"VACUUM removes (its|their) files, at the earliest": "until that version is … old",
}


def sources():
    for room in ROOMS:
        for path in sorted((PROJECT / room).rglob("*")):
            if path.suffix in ENDINGS and "adr" not in path.parts and "migrations" not in path.parts:
                yield path


@pytest.mark.parametrize("words", INSTEAD)
def test_they_do_not_come_back(words):
    found = [str(path.relative_to(PROJECT)) for path in sources() if re.search(words, path.read_text())]
    assert found == [], f"say instead: {INSTEAD[words]}"


def test_a_command_in_a_sentence_has_its_article():
    texts = {with_article(kind) for kind in ROWS}
    assert {"an optimize", "an alter schema", "a delete", "a set properties"} <= texts
    assert not {text for text in texts if re.match(r"a [aeiou]|an [^aeiou]", text)}
