"""The guided first story on home: the sample's `orders` converted, looked at, deleted from by a colleague, approved by another, undone.

What is done is read from jobs and grants, so the story is true whoever takes a step, and wherever. By the rule of independence
nobody approves what their own appointer asks for: so the story has the first person add two colleagues, and shows which command on
the machine ends the chain; or, where there is another admin, has that one add the second.

The colleagues' step is done once somebody asks and another active person approves (colleagues.py): neither has to have set a password
yet, nor a command to have vouched. Who has to do either is said at the step that waits for it. Once the delete is approved, it stays done.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from console.accounts.models import Person
from console.accounts.roles import Permission
from console.pages.home.colleagues import Team, team_of
from console.pages.home.forms import ColleaguesForm
from console.pages.home.progress import Progress
from console.pages.home.steps import Step, StoryReader, asking_steps, deciding_steps
from jobs.domain.states import State
from tables.models import Root
from tables.rules.sample_lake import ROOT_NAME

WITH_A_JOB, FOR_SOMEBODY = 5, 15  # seconds after which an open page asks again


@dataclass(frozen=True, slots=True)
class Invitation:
    """The link of somebody who was just added."""

    name: str
    asks: bool
    link: str


@dataclass(frozen=True, slots=True)
class Story:
    """The steps that concern a person. `team` is None where the person doesn't ask; `form` adds who is missing, where that is at hand.

    `invitations` are on the answer to that form alone.
    """

    steps: list[Step]
    team: Team | None
    may_add_people: bool
    form: ColleaguesForm | None = None
    invitations: list[Invitation] = field(default_factory=list)

    @property
    def done(self) -> int:
        return sum(step.state == "done" for step in self.steps)

    @property
    def now(self) -> Step | None:
        return next((step for step in self.steps if step.state == "now"), None)

    @property
    def poll_seconds(self) -> int:
        """When it asks again, as it goes on by itself; 0 where a new answer would take away what stands there to be used."""
        step = self.now
        if step is None or self.form or self.invitations or self._has_a_command(step):
            return 0
        return WITH_A_JOB if step.job else FOR_SOMEBODY if step.waits else 0

    def _has_a_command(self, step: Step) -> bool:
        """Whether a command stands there to be copied; while the preview is measured the page goes on all the same."""
        measures = step.job is not None and step.job.state == State.PREVIEWING
        return step.decision and not measures and self.team is not None and bool(self.team.approver.command)


def sample() -> Root | None:
    """The root of the sample lake, on which the story is played."""
    return Root.objects.filter(name=ROOT_NAME).only("name", "uri").first()


def story_of(person: Person) -> Story | None:
    """The person's story; None once it is done or dismissed, without the sample lake, or for who takes no part in it."""
    if person.story_dismissed_at is not None:
        return None
    root = sample()
    if root is None or not person.scopes(Permission.TABLE_READ).covers_root(root.pk):
        return None
    asks, decides = (person.scopes(p).covers_root(root.pk) for p in (Permission.JOB_REQUEST, Permission.JOB_DECIDE))
    if not asks and not decides:
        return None
    progress = Progress(root)
    if progress.undone:
        return None
    if not asks:
        return Story(deciding_steps(progress), None, may_add_people=False)
    leads = person.scopes(Permission.PEOPLE_MANAGE).everything
    reader = StoryReader(person, leads, decides, looked=person.story_looked_at is not None)
    team = team_of(root, person, progress.author, leads=leads)
    steps = asking_steps(progress, reader, team)
    at_hand = any(step.key == "team" and step.state == "now" for step in steps)
    return Story(steps, team, leads, ColleaguesForm(wanted=team.offered) if leads and at_hand else None)
