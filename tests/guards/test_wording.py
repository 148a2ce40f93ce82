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
    r"runs already": "is already running",
    r"made anew at its path": "was recreated at this path",
    r"opens no round": "no round starts until",
    r"Mend what": "Fix the problem above",
    r"sound file": "a valid file",
    r"partitions by no ": "can’t partition by …",
    r"lost before it told": "lost before reporting it",
    r"told no rate": "reported no rate",
    r"\"[^\"]*(?:are|is) not read\"": "isn’t supported",
    r"among the functions that are read": "isn’t a supported function",
    r"Write it flatter": "Use fewer nested parentheses.",
    r"if rows may go after all": "To allow deletes, set delta.appendOnly to false.",
    r"against removing": "Can’t remove …: … still use it",
    r"and not enter it": "can list … but can’t enter it",
    r"; all of Levee goes by it": "takes effect within seconds",
    r"Tables that fail": "Failing tables",
    r"Whom a command adds": "People added by this command",
    r"no start of Levee": "Levee won’t recreate …",
    r"VACUUM removes (its|their) files, at the earliest": "until that version is … old",
}


def sources():
    for room in ROOMS:
        for path in sorted((PROJECT / room).rglob("*")):
            if path.suffix in ENDINGS and "adr" not in path.parts and "migrations" not in path.parts:
                yield path


# A noun that is put into the singular or plural by hand; `counted` does that. A number in letters (`|apnumber`) may stand before it.
BY_HAND = {
    ".py": r"\{['\"]{2} if [^{}]*== 1 else '(?:s|es)'\}|\{'(?:s|es)' if [^{}]*!= 1 else ''\}|\"1 [a-z]+\" if ",
    ".html": r"(?<!\|apnumber )(?<!\|capfirst )\}\}\s+[a-z ]+\{\{[^{}]*\|pluralize(?::\"(?:y,ies|es)\")? \}\}",
}


@pytest.mark.parametrize("words", INSTEAD)
def test_they_do_not_come_back(words):
    found = [str(path.relative_to(PROJECT)) for path in sources() if re.search(words, path.read_text())]
    assert found == [], f"say instead: {INSTEAD[words]}"


def test_a_number_and_its_noun_agree_by_one_rule():
    found = [
        f"{path.relative_to(PROJECT)}: {match.group()}"
        for path in sources()
        for match in re.finditer(BY_HAND.get(path.suffix, "(?!)"), path.read_text())
        if path != PROJECT / "console/pages/home/heading.py"  # its numbers are words
    ]
    assert found == [], "write it by console.base.text.counted, on a page by the filter `counted`"


# A number with a noun that is always in the plural; limits, which are many, may have it.
ALWAYS_MANY = re.compile(
    r"(?<!most)(?<!most_counted)\|(?:number|length)\s*\}\}\s+(?:more )?(?!times\b|was\b)[a-z]+(?<!ou|us|ss|as|is)s\b"
)


def test_no_number_stands_before_a_noun_that_is_always_in_the_plural():
    found = [
        f"{path.relative_to(PROJECT)}: {match.group()}"
        for path in sources()
        if path.suffix == ".html"
        for match in ALWAYS_MANY.finditer(path.read_text())
    ]
    assert found == [], "“1 files” stands there for one: write it by the filter `counted`"


def test_a_command_in_a_sentence_has_its_article():
    texts = {with_article(kind) for kind in ROWS}
    assert {"an optimize", "an alter schema", "a delete", "a set properties"} <= texts
    assert not {text for text in texts if re.match(r"a [aeiou]|an [^aeiou]", text)}
