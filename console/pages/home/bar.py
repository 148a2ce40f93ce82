"""The bar of the first story on the pages that its steps lead to: which step this is, what to do here, and the way to the next one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Q
from django.http import QueryDict
from django.urls import Resolver404, ResolverMatch, get_script_prefix, resolve, reverse

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.pages.find.places import PagePlace
from console.pages.home.progress import Progress
from console.pages.home.steps import KEYS, Step, closing_number
from console.pages.home.story import FOR_SOMEBODY, Story, sample, story_of
from jobs.domain.states import State
from jobs.models import Job
from tables.models import Root
from tables.rules.sample_lake import STORY_DIRECTORY

PAGES = {
    "home": "",
    "jobs:convert": "convert",
    "tables:overview": "history",
    "tables:history": "history",
    "accounts:people": "team",
    "accounts:person_add": "team",
    "jobs:delete": "delete",
    "jobs:undo": "undo",
    "jobs:review": "",
    "jobs:detail": "",
}
OF_JOBS = {"convert": "convert", "delete": "approve", "restore": "undo"}
HERE = {
    "jobs:convert": "Check the partitions that Levee proposes, then request the conversion at the end of the page.",
    "accounts:people": "The first story adds both on the home page, each with one role on the sample lake.",
    "accounts:person_add": "The first story adds both on the home page, each with one role on the sample lake.",
    "jobs:delete": "Read which files and rows the condition touches, then choose Request review.",
    "jobs:undo": "Read what comes back, then choose Request undo.",
}
DECIDE = "Read what it does, then approve or reject it on this page."
NEXT = (
    PagePlace("Read files into a table with a stream", "jobs:stream_new"),
    PagePlace("Repeat a command on a schedule", "jobs:schedule_new"),
    PagePlace("Add tables of your own", "tables:add"),
    PagePlace("Read the help", "help"),
)


@dataclass(frozen=True, slots=True)
class StoryBar:
    """What the bar says. `act` and `url` lead on; `next` is what the end offers; `at` is the page, for an open one that asks again.

    `decision`: `story` says who can approve. `poll_seconds` is 0 where nothing changes without the reader.
    """

    number: int
    title: str
    text: str
    at: str
    act: str = ""
    url: str = ""
    yourself: str = ""
    is_ahead: bool = False  # the step is done on another page than this one
    story: Story | None = None
    decision: bool = False
    poll_seconds: int = 0
    next: list[tuple[str, str]] = field(default_factory=list)

    @property
    def seen(self) -> str:
        """What tells this bar from another one: an open page isn't given again what it shows."""
        approver = self.story.team.approver if self.story and self.story.team else None
        said = (self.number, self.title, self.text, self.act, self.url, self.yourself, self.poll_seconds, self.next)
        return hashlib.sha256(repr((said, self.decision and approver)).encode()).hexdigest()[:16]

    @property
    def total(self) -> int:
        return len(KEYS)


def bar_at(person: Person, address: str) -> StoryBar | None:
    """The bar of the page at an address of this instance; None where there is none, or no such page."""
    try:
        parts = urlsplit(address)
        match = resolve(f"/{parts.path.removeprefix(get_script_prefix())}")
    except (Resolver404, ValueError):  # no page, or no address at all
        return None
    return bar_of(person, match, QueryDict(parts.query), address)


def bar_of(person: Person, match: ResolverMatch | None, query: QueryDict, at: str) -> StoryBar | None:
    """The person's bar on the page that was matched; None on a page of no step, of another table, or for who takes no part."""
    if match is None or match.view_name not in PAGES or person.story_dismissed_at is not None:
        return None
    root = sample()
    if root is None or not person.scopes(Permission.TABLE_READ).covers_root(root.pk):
        return None
    key, job = _place_of(match, query, root)
    if key is None:
        return None
    story = story_of(person)
    if story is None:
        return _end(person, root, at) if key in ("", "undo") else None
    if not key:
        return None  # home has the story itself
    if story.team is None:
        return _approvers(story, job, at)
    now = story.now
    if now is None or (key == "team" and now.key != "team"):
        return None
    return _askers(story, now, key, match.view_name, at)


def _place_of(match: ResolverMatch, query: QueryDict, root: Root) -> tuple[str | None, Job | None]:
    """The key of the step that the page belongs to, empty for home, None for a page of something else; and the page's job."""
    name, key = match.view_name, PAGES[match.view_name]
    path = f"{root.uri}/{STORY_DIRECTORY}"
    if name == "jobs:convert":
        return (key if query.get("path", "") == path else None), None
    if "job_id" in match.kwargs:
        jobs = Job.objects.filter(pk=match.kwargs["job_id"], table__path=path, command__in=OF_JOBS)
        job = jobs.only("command", "state", "requested_by_id").first()
        return ((key or OF_JOBS[job.command]) if job else None), job
    if "table_id" in match.kwargs:
        table = Progress(root).table
        return (key if table is not None and table.pk == match.kwargs["table_id"] else None), None
    return key, None


def _askers(story: Story, now: Step, key: str, view: str, at: str) -> StoryBar:
    """For who may ask: the step at hand, what to do about it on this page, or the way to where it is done."""
    here = now.key == key or {now.key, key} == {"delete", "approve"}
    usual: dict[str, Any] = {
        "number": KEYS.index(now.key) + 1, "title": now.title, "at": at, "story": story, "is_ahead": not here,
        "decision": now.decision, "poll_seconds": _poll(story, now),
    }  # fmt: skip
    if here and not now.waits and now.job is None and view in HERE:
        return StoryBar(text=HERE[view], **usual)
    if now.key == "team":
        text = f"{now.text} {HERE[view]}" if view in HERE and here else now.text
        act = "Add the colleague" if len(story.team.offered if story.team else ()) == 1 else "Add two colleagues"
        return StoryBar(text=text, act=act if story.may_add_people else "See who is missing", url=_on_home(), **usual)
    if now.decision and now.act == "Review" and here:
        return StoryBar(text=f"{now.text} {DECIDE}", **usual)
    if urlsplit(now.url).path == urlsplit(at).path:
        return StoryBar(text=now.text, **usual)
    return StoryBar(text=now.text, act=now.act, url=now.url, yourself=now.yourself, **usual)


def _poll(story: Story, now: Step) -> int:
    """As the story asks again, and also beside a command: what hasn't changed isn't exchanged, and a form is never part of it."""
    if now.key == "team":
        return 0
    return story.poll_seconds or (FOR_SOMEBODY if now.job or now.waits else 0)


def _approvers(story: Story, job: Job | None, at: str) -> StoryBar | None:
    """For who only approves: on requests of the story, the one that waits, or what comes next."""
    if job is None or job.command == "convert":
        return None
    step = story.now
    usual: dict[str, Any] = {"number": closing_number(job.command), "at": at, "story": story}
    if step is None or step.job is None:
        text = "The next request of the story comes to you too: it appears here, and on your home page."
        if job.state == State.AWAITING_APPROVAL:
            text = DECIDE
        return StoryBar(title="Approve a colleague’s request", text=text, poll_seconds=FOR_SOMEBODY, **usual)
    usual["number"] = closing_number(step.job.command)
    if step.job.pk == job.pk:
        return StoryBar(title=step.title, text=DECIDE, **usual)
    return StoryBar(title=step.title, text=step.text, act=step.act, url=step.url, is_ahead=True, **usual)


def _end(person: Person, root: Root, at: str) -> StoryBar | None:
    """The story is over: what you can do now. For who took part in it, until they put it away."""
    if not Progress(root).undone or not _took_part(person, root):
        return None
    links = [(place.text, place.url) for place in NEXT if place.is_for(person)]
    text = "You have converted a directory, deleted rows with an approval, and undone it: the table reads as before. Next you can:"
    return StoryBar(number=len(KEYS), title="The story is complete", text=text, at=at, next=links)


def _took_part(person: Person, root: Root) -> bool:
    """Who asked for one of its requests, decided on one, or looked at its history and adds people."""
    if person.story_looked_at is not None and person.scopes(Permission.PEOPLE_MANAGE).everything:
        return True
    jobs = Job.objects.filter(table__path=f"{root.uri}/{STORY_DIRECTORY}", command__in=("delete", "restore"))
    return jobs.filter(Q(requested_by=person) | Q(decisions__person=person)).exists()


def _on_home() -> str:
    return f"{reverse('home')}#story"
