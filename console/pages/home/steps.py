"""The steps of the first story: what each says, and where its button leads, for the person who reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.accounts.models import Person
from console.accounts.services import is_unclaimed
from console.pages.home.colleagues import APPROVER, ASKER, CLAIM_FIRST, Team
from console.pages.home.progress import Progress
from jobs.domain.states import State
from jobs.models import Job
from tables.rules.sample_lake import STORY_DIRECTORY

PREDICATE = "country = 'DE' AND amount < 50"
CONVERTED = f"First story: {STORY_DIRECTORY} becomes a Delta table."
DELETED = "First story: a trial delete."
UNDONE = "First story: the trial delete is undone."
KEYS = ("convert", "history", "team", "delete", "approve", "undo")  # of the steps, in their order


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `state` is done, now (the first that isn't), or todo; `job` the open job that stands behind it.

    `waits`: somebody else has to act. `yourself` is where the reader can do it all the same. `decision`: who can approve is shown.
    """

    key: str
    title: str
    text: str
    state: str
    act: str = ""
    url: str = ""
    job: Job | None = None
    waits: bool = False
    yourself: str = ""
    decision: bool = False


@dataclass(frozen=True, slots=True)
class StoryReader:
    """Who reads the story, who also asks. `leads`: adds people."""

    person: Person
    leads: bool
    decides: bool
    looked: bool

    def asks(self, team: Team) -> bool:
        """Whether the reader is to ask: a leader leaves that to the colleague, if there is one."""
        return not self.leads or team.asker in (None, self.person) or not team.may_ask

    def decides_on(self, job: Job) -> bool:
        return self.decides and job.requested_by_id != self.person.pk


def asking_steps(progress: Progress, reader: StoryReader, team: Team) -> list[Step]:
    """All six steps, for who may ask for changes. A colleague who has come for the delete isn't sent back to the history."""
    looked = reader.looked or progress.asked is not None or (not team.missing and not reader.leads)
    return _in_order(
        [
            (progress.is_delta, _convert(progress)),
            (progress.is_delta and looked, _history()),
            (not team.missing or progress.approved, _colleagues(progress, team)),
            (progress.asked is not None, _delete(progress, reader, team)),
            (progress.approved, _approve(progress, reader)),
            (False, _undo(progress, reader, team)),  # once that is done there is no story
        ]
    )


def closing_number(command: str) -> int:
    """The number of the step that a request of this command is decided in."""
    return KEYS.index("undo" if command == "restore" else "approve") + 1


def deciding_steps(progress: Progress) -> list[Step]:
    """The one step of an approver."""
    if progress.approved and (progress.undoing is None or progress.undoing.state != State.AWAITING_APPROVAL):
        return []
    waits = progress.undoing if progress.approved else progress.asked
    step: dict[str, Any] = {"key": "approve", "title": "Approve a colleague’s request"}
    if waits is None or waits.state != State.AWAITING_APPROVAL:
        text = f"Nothing waits for you. When a colleague asks for a delete on {STORY_DIRECTORY}, it appears here."
        return [Step(**step, text=text, state="now", waits=True)]
    text = f"{waits.requested_by.name} asked for a change of {STORY_DIRECTORY}. Read what it does, then approve or reject it."
    return [Step(**step, text=text, state="now", act="Review", url=_review(waits), job=waits)]


def _in_order(steps: list[tuple[bool, dict[str, Any]]]) -> list[Step]:
    """Each with its state: the first that isn't done is at hand, and has its button."""
    placed, at_hand = [], True
    for is_done, step in steps:
        state = "done" if is_done else "now" if at_hand else "todo"
        at_hand = at_hand and is_done
        placed.append(Step(**step, state=state) if state == "now" else Step(step["key"], step["title"], "", state))
    return placed


def _convert(progress: Progress) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "convert", "title": f"Convert {STORY_DIRECTORY} to a Delta table"}
    if progress.converting is not None:
        return step | _follow(progress.converting, "The conversion runs.")
    text = "It is a directory of parquet files. Levee reads it, proposes its partitions, and writes a log beside the files."
    url = f"{reverse('jobs:convert')}?{urlencode({'path': progress.path, 'reason': CONVERTED})}"
    return step | {"text": text, "act": "Convert", "url": url}


def _history() -> dict[str, Any]:
    text = "The conversion is version 0. Every later change becomes a version that you can read and restore."
    url = reverse("story_history")
    return {"key": "history", "title": "Look at its history", "text": text, "act": "Open the history", "url": url}


def _colleagues(progress: Progress, team: Team) -> dict[str, Any]:
    why = "Nobody approves their own request"
    if progress.asked is not None:
        text = f"{progress.asked.requested_by.name} has asked for the delete. {why}: a colleague is missing who approves it."
    elif team.missing == (APPROVER,) and team.asker:
        text = f"{why}: {team.asker.name} can ask for a delete, a colleague is missing who approves it."
    elif team.missing == (ASKER,):
        text = f"{why}: {team.approver.name} can approve, a colleague is missing who asks for a delete."
    else:
        text = f"{why}: one colleague asks for a delete, the other one approves it."
    if team.helper:
        text = f"{text} {_helped(team)}"
    yourself = _delete_url(progress) if ASKER in team.missing else ""
    return {"key": "team", "title": "Add two colleagues", "text": text, "waits": True, "yourself": yourself}


def _helped(team: Team) -> str:
    """Who adds the second of the two."""
    why = "Two people whom the same admin adds don’t count as independent."
    if len(team.missing) > 1:
        return f"{why} So add who asks; {team.helper}, an admin too, then adds who approves, under People."
    return f"{why} So {team.helper}, an admin too, adds that one, under People."


def _delete(progress: Progress, reader: StoryReader, team: Team) -> dict[str, Any]:
    step = {"key": "delete", "title": "Preview a delete, and request it"}
    if progress.asked is None and team.asker is not None and not reader.asks(team):
        text = _turn_of(team.asker)
        if is_unclaimed(team.asker):
            text = f"{text} {CLAIM_FIRST.format(name=team.asker.name)}"
        return step | {"text": text, "waits": True, "yourself": _delete_url(progress)}
    text = "The condition is filled in. Levee shows which files and rows it touches before you ask; nothing runs without approval."
    return step | {"text": text, "act": "Preview a delete", "url": _delete_url(progress)}


def _turn_of(person: Person) -> str:
    return f"It is {person.name}’s turn: the button is on their home page."


def _delete_url(progress: Progress) -> str:
    if progress.table_id is None:
        return ""
    filled_in = urlencode({"predicate": PREDICATE, "reason": DELETED})
    return f"{reverse('jobs:delete', args=[progress.table_id])}?{filled_in}"


def _approve(progress: Progress, reader: StoryReader) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "approve", "title": "Have it approved by a second person"}
    job = progress.asked
    if job is None or job.state == State.PREVIEWING:
        return step | {"text": "Levee is measuring what the delete would do.", "job": job, "decision": True}
    return step | _decision(job, reader, "Nobody approves their own request.")


def _decision(job: Job, reader: StoryReader, why: str) -> dict[str, Any]:
    """What an open request waits for, and who can give it."""
    if reader.decides_on(job):
        text, act = f"{job.requested_by.name} asked for it.", "Review"
    else:
        text, act = f"{why} The approver signs in, opens it on their home page, and decides.", "Open the request"
    return {"text": text, "act": act, "url": _review(job), "job": job, "decision": True}


def _undo(progress: Progress, reader: StoryReader, team: Team) -> dict[str, Any]:
    step: dict[str, Any] = {"key": "undo", "title": "Undo it"}
    if progress.asked is None or not progress.removed:
        return step | (_follow(progress.asked, "The delete runs.") if progress.asked else {"text": ""})
    if progress.undoing is not None:
        if progress.undoing.state == State.AWAITING_APPROVAL:
            return step | _decision(progress.undoing, reader, "The restore waits for approval, as the delete did.")
        return step | _follow(progress.undoing, "The restore runs.")
    text = "The deleted files are still there. A restore makes the version before the delete the current one again."
    url = f"{reverse('jobs:undo', args=[progress.asked.pk])}?{urlencode({'reason': UNDONE})}"
    if team.asker is not None and not reader.asks(team):
        text = f"{text} {_turn_of(team.asker)}"
        return step | {"text": text, "waits": True, "yourself": url}
    return step | {"text": text, "act": "Undo the delete", "url": url}


def _follow(job: Job, text: str) -> dict[str, Any]:
    return {"text": text, "act": "Open the job", "url": reverse("jobs:detail", args=[job.pk]), "job": job}


def _review(job: Job) -> str:
    return reverse("jobs:review", args=[job.pk])
