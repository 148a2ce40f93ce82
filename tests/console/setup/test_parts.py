"""Parts are brought up to date side by side, each after what it needs."""

import threading
from dataclasses import dataclass, field

from console.setup.parts import bring_up_to_date
from console.setup.troubles import CannotInstall

LIMIT_S = 30


@dataclass
class FakePart:
    name: str
    needs: tuple[str, ...] = ()
    there: bool = False
    trouble: str = ""
    journal: list[str] = field(default_factory=list)
    partner: "threading.Barrier | None" = None

    def ready(self) -> bool:
        return self.there

    def install(self) -> None:
        if self.partner:
            self.partner.wait(LIMIT_S)
        if self.trouble:
            raise CannotInstall(self.name, self.trouble, "Ask root.")
        self.journal.append(self.name)
        self.there = True


def bring(*parts: FakePart) -> tuple[list[str], list[str]]:
    said: list[str] = []
    return bring_up_to_date(parts, said.append), said


def test_it_does_nothing_and_says_nothing_when_all_is_there():
    part = FakePart("a", there=True)
    assert bring(part) == ([], [])
    assert part.journal == []


def test_it_installs_a_need_before_what_needs_it():
    journal: list[str] = []
    bring(FakePart("a", journal=journal), FakePart("b", needs=("a",), journal=journal))
    assert journal == ["a", "b"]


def test_it_installs_at_the_same_time_what_needs_nothing_of_each_other():
    barrier = threading.Barrier(2)  # breaks, and fails the test, unless both are inside at once
    failed, _ = bring(FakePart("a", partner=barrier), FakePart("b", partner=barrier))
    assert failed == []


def test_it_names_what_failed_once_and_leaves_out_what_waited_for_it():
    later = FakePart("b", needs=("a",))
    failed, said = bring(FakePart("a", trouble="not found"), later)
    assert failed == ["a"]
    assert "a: not found. Ask root." in said
    assert later.journal == []


def test_it_goes_on_with_the_rest_after_a_failure():
    other = FakePart("c")
    bring(FakePart("a", trouble="not found"), other)
    assert other.journal == ["c"]


def test_what_is_there_does_not_fail_because_its_need_does():
    failed, _ = bring(FakePart("a", trouble="not found"), FakePart("b", needs=("a",), there=True))
    assert failed == ["a"]
