"""What stands for and against a place as a root: questions, each answered within seconds, before anything is registered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

NAME = "_levee_probe_"  # of what a test of writing makes and removes: no table is ever named so
Question = tuple[str, Callable[[], str]]  # its name; the answer in a sentence, or BadPlace


@dataclass(frozen=True, slots=True)
class Probe:
    """The questions about one place, in order. `required` is what a new root must answer.

    `beside` refuses a place that another one, of those that are given, is as well, by another name; it raises BadPlace.
    """

    looks: Sequence[Question]
    writes: Sequence[Question]
    required: Sequence[Callable[[], str]]
    beside: Callable[[Sequence[str]], None]
