"""The guided first story on home: the sample's `orders` converted, looked at, deleted from, approved by a second person, undone.

What is done is read from jobs and grants, so the story is true whoever takes a step, and wherever. By the rule of independence
nobody approves what their own appointer asks for: so the story says whom to add, and which command on the machine ends the chain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse

from console.accounts.appointments import Doubt, doubt_about
from console.accounts.authority import Scope
from console.accounts.models import Grant, Person
from console.accounts.roles import Permission, Role
from console.accounts.services import is_unclaimed
from jobs.domain.states import ENDED, State
from jobs.models import Job
from tables.models import Root, Table
from tables.rules.sample_lake import ROOT_NAME

DIRECTORY = "orders"
PREDICATE = "country = 'DE' AND amount < 50"
LOOKED = "story_history"  # in the session: looking leaves no other trace
COMMAND = ".venv/bin/python"
MOST = 20  # approvers who are asked about
IN_VAIN = sorted(state.value for state in ENDED - {State.SUCCEEDED})


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `state` is done, now (the first that isn't), or todo; `job` the open job that stands behind it."""

    key: str
    title: str
    text: str
    state: str
    act: str = ""
    url: str = ""
    job: Job | None = None


@dataclass(frozen=True, slots=True)
class Approver:
    """Who can approve the story's requests: a name, or why nobody's approval counts yet.

    `unclaimed`: whoever is to be vouched for has to set a password first.
    """

    name: str = ""
    doubt: Doubt | None = None
    unclaimed: bool = False

    @property
    def command(self) -> str:
        """The command that lets the approval count, to be run in Levee's directory on its machine."""
        return f"{COMMAND} {self.doubt.command}" if self.doubt else ""


@dataclass(frozen=True, slots=True)
class Story:
    """The steps that concern a person. `approver` is None where the person has nothing to do with approvers."""

    steps: list[Step]
    approver: Approver | None
    may_add_people: bool

    @property
    def done(self) -> int:
        return sum(step.state == "done" for step in self.steps)

    @property
    def asks_for_approver(self) -> bool:
        """Whether the step at hand waits for somebody who can approve."""
        waits = any(step.key == "approve" and step.state == "now" for step in self.steps)
        return waits and self.approver is not None and not self.approver.name

    @property
    def polls(self) -> bool:
        """Whether it goes on by itself: a job runs, and no form stands open that a new answer would empty."""
        return not self.asks_for_approver and any(step.state == "now" and step.job is not None for step in self.steps)


def story_of(request: HttpRequest, person: Person) -> Story | None:
    """The person's story; None once it is done or dismissed, without the sample lake, or for who takes no part in it."""
    if person.story_dismissed_at is not None:
        return None
    root = Root.objects.filter(name=ROOT_NAME).first()
    if root is None or not person.scopes(Permission.TABLE_READ).covers_root(root.pk):
        return None
    asks, decides = (person.scopes(p).covers_root(root.pk) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE))
    if not asks and not decides:
        return None
    known = _Known(root)
    if known.undone:
        return None
    if not asks:
        return Story(_deciding(known), None, may_add_people=False)
    author = known.asked.requested_by if known.asked else person
    approver = _approver(root, author)
    steps = _asking(known, decides, person, looked=request.session.get(LOOKED) == str(known.table_id))
    return Story(steps, approver, person.scopes(Permission.PEOPLE_MANAGE).everything)


class _Known:
    """What has happened to the story's table: its jobs by what they do, the newest that counts of each."""

    def __init__(self, root: Root) -> None:
        self.path = f"{root.uri}/{DIRECTORY}"
        self.table = Table.objects.filter(path=self.path, hidden_at=None).first()
        self.table_id = self.table.pk if self.table else None
        self.converting = self._newest("convert")
        self.is_delta = self.table is not None and self.table.version is not None
        self.asked = self._newest("delete")
        self.undoing = self._newest("restore", self.asked)

    def _jobs(self, command: str) -> QuerySet[Job]:
        """Those that are open or have changed the table, newest first; a preview may be large, and the story shows none."""
        jobs = Job.objects.filter(table=self.table_id, command=command).defer("preview").select_related("requested_by")
        return jobs.exclude(state__in=IN_VAIN).exclude(state=State.SUCCEEDED, version=None)

    def _newest(self, command: str, after: Job | None = None) -> Job | None:
        if self.table is None:
            return None
        jobs = self._jobs(command)
        return (jobs.filter(requested_at__gt=after.requested_at) if after else jobs).first()

    @property
    def approved(self) -> bool:
        return self.asked is not None and self.asked.state not in (State.PREVIEWING, State.AWAITING_APPROVAL)

    @property
    def removed(self) -> bool:
        return self.asked is not None and self.asked.state == State.SUCCEEDED

    @property
    def undone(self) -> bool:
        """Whether a restore has ever followed a delete: a later delete doesn't begin the story again."""
        if self.asked is None:
            return False
        deleted, restored = (self._jobs(command).filter(state=State.SUCCEEDED) for command in ("delete", "restore"))
        return restored.filter(Exists(deleted.filter(requested_at__lt=OuterRef("requested_at")))).exists()


def _asking(known: _Known, decides: bool, person: Person, *, looked: bool) -> list[Step]:
    """All five steps, for who may ask for changes."""
    own = decides and known.asked is not None and known.asked.requested_by_id != person.pk
    return _in_order(
        [
            (known.is_delta, _convert(known)),
            (known.is_delta and (looked or known.asked is not None), _history()),
            (known.asked is not None, _delete(known)),
            (known.approved, _approve(known, own)),
            (False, _undo(known)),  # once that is done there is no story
        ]
    )


def _deciding(known: _Known) -> list[Step]:
    """The one step of an approver."""
    if known.approved and (known.undoing is None or known.undoing.state != State.AWAITING_APPROVAL):
        return []
    waits = known.undoing if known.approved else known.asked
    if waits is None or waits.state != State.AWAITING_APPROVAL:
        text = f"Nothing waits for you. When a colleague asks for a delete on {DIRECTORY}, it appears here."
        return [Step("approve", "Approve a colleague’s request", text, "now")]
    text = f"{waits.requested_by.name} asked for a change of {DIRECTORY}. Read what it does, then approve or reject it."
    return [Step("approve", "Approve a colleague’s request", text, "now", "Review", _review(waits), waits)]


def _in_order(steps: list[tuple[bool, dict[str, Any]]]) -> list[Step]:
    """Each with its state: the first that isn't done is at hand, and has its button."""
    placed, at_hand = [], True
    for is_done, step in steps:
        state = "done" if is_done else "now" if at_hand else "todo"
        at_hand = at_hand and is_done
        placed.append(Step(**step, state=state) if state == "now" else Step(step["key"], step["title"], "", state))
    return placed


def _convert(known: _Known) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "convert", "title": f"Convert {DIRECTORY} to a Delta table"}
    if known.converting is not None:
        return step | _follow(known.converting, "The conversion runs.")
    text = "It is a directory of parquet files. Levee reads it, proposes its partitions, and writes a log beside the files."
    return step | {
        "text": text,
        "act": "Convert",
        "url": f"{reverse('jobs:convert')}?{urlencode({'path': known.path})}",
    }


def _history() -> dict[str, Any]:
    text = "The conversion is version 0. Every later change becomes a version that you can read and restore."
    url = reverse("story_history")
    return {"key": "history", "title": "Look at its history", "text": text, "act": "Open the history", "url": url}


def _delete(known: _Known) -> dict[str, Any]:
    text = "The condition is filled in. Levee shows which files and rows it touches before you ask; nothing runs without approval."
    url = (
        f"{reverse('jobs:delete', args=[known.table_id])}?{urlencode({'predicate': PREDICATE})}"
        if known.table_id
        else ""
    )
    return {
        "key": "delete",
        "title": "Preview a delete, and request it",
        "text": text,
        "act": "Preview a delete",
        "url": url,
    }


def _approve(known: _Known, own: bool) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "approve", "title": "Have it approved by a second person"}
    job = known.asked
    if job is None or job.state == State.PREVIEWING:
        return step | {"text": "Levee is measuring what the delete would do.", "job": job}
    if own:
        return step | {
            "text": f"{job.requested_by.name} asked for it.",
            "act": "Review",
            "url": _review(job),
            "job": job,
        }
    text = "Nobody approves their own request. The approver signs in, opens it under Approvals, and decides."
    return step | {"text": text, "act": "Open the request", "url": _review(job), "job": job}


def _undo(known: _Known) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "undo", "title": "Undo it"}
    if known.asked is not None and not known.removed:
        return step | _follow(known.asked, "The delete runs.")
    if known.undoing is not None:
        waits = known.undoing.state == State.AWAITING_APPROVAL
        text = "The restore waits for approval, as the delete did." if waits else "The restore runs."
        return step | _follow(known.undoing, text)
    text = "The deleted files are still there. A restore makes the version before the delete the current one again."
    url = reverse("jobs:undo", args=[known.asked.pk]) if known.asked else ""
    return step | {"text": text, "act": "Undo the delete", "url": url}


def _follow(job: Job, text: str) -> dict[str, Any]:
    return {"text": text, "act": "Open the job", "url": reverse("jobs:detail", args=[job.pk]), "job": job}


def _review(job: Job) -> str:
    return reverse("jobs:review", args=[job.pk])


def _approver(root: Root, author: Person) -> Approver:
    """The first approver of the sample whose approval of the author's requests counts; else why the first one's doesn't."""
    held = Grant.objects.filter(Q(scope=Grant.Scope.EVERYTHING) | Q(root=root), role=Role.APPROVER)
    people = held.filter(person__is_active=True).exclude(person=author).select_related("person").order_by("-granted_at")
    doubts = []
    for grant in people[:MOST]:
        doubt = doubt_about(grant.person, author, Role.APPROVER, Scope(root_id=root.pk))
        if doubt is None:
            return Approver(grant.person.name)
        doubts.append(doubt)
    if not doubts:
        return Approver()
    return Approver(doubt=doubts[0], unclaimed=is_unclaimed(Person.objects.get(name=doubts[0].vouch_for)))
