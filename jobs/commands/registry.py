"""The table of commands, one row each. Outside a command's own packages only this and the table of Spark runners name one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.base.errors import Problem
from jobs.commands.alter_schema import comparison as alter_schema_comparison
from jobs.commands.alter_schema import rules as alter_schema_rules
from jobs.commands.alter_schema import wording as alter_schema_wording
from jobs.commands.alter_schema.handling import AlterSchemaHandling
from jobs.commands.alter_schema.rules import AlterSchema
from jobs.commands.base import Drift, DriftVerdict, Edited, Handling, with_article
from jobs.commands.clone import comparison as clone_comparison
from jobs.commands.clone import rules as clone_rules
from jobs.commands.clone import wording as clone_wording
from jobs.commands.clone.handling import CloneHandling
from jobs.commands.clone.rules import Clone
from jobs.commands.convert import comparison as convert_comparison
from jobs.commands.convert import wording as convert_wording
from jobs.commands.convert.handling import ConvertHandling
from jobs.commands.convert.rules import Convert
from jobs.commands.delete import comparison as delete_comparison
from jobs.commands.delete import rules as delete_rules
from jobs.commands.delete import wording as delete_wording
from jobs.commands.delete.handling import DeleteHandling
from jobs.commands.delete.rules import Delete
from jobs.commands.drop_feature import comparison as drop_feature_comparison
from jobs.commands.drop_feature import rules as drop_feature_rules
from jobs.commands.drop_feature import wording as drop_feature_wording
from jobs.commands.drop_feature.handling import DropFeatureHandling
from jobs.commands.drop_feature.rules import DropFeature
from jobs.commands.optimize import comparison as optimize_comparison
from jobs.commands.optimize import rules as optimize_rules
from jobs.commands.optimize import wording as optimize_wording
from jobs.commands.optimize.handling import OptimizeHandling
from jobs.commands.optimize.rules import Optimize
from jobs.commands.reorg import comparison as reorg_comparison
from jobs.commands.reorg import rules as reorg_rules
from jobs.commands.reorg import wording as reorg_wording
from jobs.commands.reorg.handling import ReorgHandling
from jobs.commands.reorg.rules import Reorg
from jobs.commands.repair import comparison as repair_comparison
from jobs.commands.repair import rules as repair_rules
from jobs.commands.repair import wording as repair_wording
from jobs.commands.repair.handling import RepairHandling
from jobs.commands.repair.rules import Repair
from jobs.commands.restore import comparison as restore_comparison
from jobs.commands.restore import rules as restore_rules
from jobs.commands.restore import wording as restore_wording
from jobs.commands.restore.handling import RestoreHandling, preview_by_log
from jobs.commands.restore.rules import Restore
from jobs.commands.set_properties import comparison as set_properties_comparison
from jobs.commands.set_properties import rules as set_properties_rules
from jobs.commands.set_properties import wording as set_properties_wording
from jobs.commands.set_properties.handling import SetPropertiesHandling
from jobs.commands.set_properties.rules import SetProperties
from jobs.commands.stream_round import rules as stream_round_rules
from jobs.commands.stream_round import wording as stream_round_wording
from jobs.commands.stream_round.handling import StreamRoundHandling
from jobs.commands.stream_round.rules import StreamRound
from jobs.commands.vacuum import comparison as vacuum_comparison
from jobs.commands.vacuum import rules as vacuum_rules
from jobs.commands.vacuum import wording as vacuum_wording
from jobs.commands.vacuum.handling import VacuumHandling
from jobs.commands.vacuum.rules import Vacuum
from jobs.domain.commands import Command, command_to_json
from jobs.domain.comparison import OF_ROWS, ROWS_CHANGED, Line, Preview, Unit, Verdict, contradictions, has_moved
from jobs.domain.delta.feature_support import Cells
from jobs.domain.fences import Fence
from jobs.domain.results import Result, affected_rows
from jobs.domain.wording import Figure, Wording
from jobs.models import Job

Compare = Callable[[Preview, Result], Iterable[Line]]


def no_lines(preview: Preview, result: Result) -> Iterable[Line]:
    """The comparison of a command that predicts no metric: no lines."""
    return ()


@dataclass(frozen=True, slots=True)
class Row:
    """One command. `web` is the package of its pages, named and not imported, since they belong to a higher layer (empty: you can't
    request it over HTTP). Its Spark runner is in `jobs.worker.runners`, which the web never loads.

    `is_always_reviewed`: it has a review even if the policy requires no approval. `takes_tree`: it works on everything below its
    directory, so only one job may run there. `queue`: the queue of its runs, which is a kind of worker.
    `is_requested`: you request it through `POST /jobs` and a page of its own; without, another room of Levee enters its jobs.
    `schedule_bytes`: the field of its preview that a schedule's `max_bytes` bounds; empty: it makes no sense again and again, or each
    run needs its own review, so it can't be scheduled. `is_rehearsable`: its preview can run it on a clone, as its runner says how.
    `refuses`: what it can't do on a table with a feature of Delta's; None for a command that takes no table.
    """

    value: type[Command]
    wording: Wording
    handling: Handling[Any]
    web: str
    compare: Compare = no_lines
    is_always_reviewed: bool = True
    takes_tree: bool = False
    queue: str = "spark"
    is_requested: bool = True
    schedule_bytes: str = ""
    is_rehearsable: bool = False
    refuses: Cells | None = None

    @property
    def may_be_scheduled(self) -> bool:
        return bool(self.schedule_bytes)

    @property
    def kind(self) -> str:
        return self.value.kind


ROWS: dict[str, Row] = {
    row.kind: row
    for row in (
        Row(
            Convert,
            convert_wording,
            ConvertHandling(),
            web="jobs.web.commands.convert",
            compare=convert_comparison.compare,
            is_always_reviewed=False,
            takes_tree=True,
        ),
        Row(
            Delete,
            delete_wording,
            DeleteHandling(),
            web="jobs.web.commands.delete",
            refuses=delete_rules.REFUSED,
            compare=delete_comparison.compare,
            is_rehearsable=True,
        ),
        Row(
            Restore,
            restore_wording,
            RestoreHandling(),
            web="jobs.web.commands.restore",
            refuses=restore_rules.REFUSED,
            compare=restore_comparison.compare,
            is_rehearsable=True,
        ),
        Row(
            Optimize,
            optimize_wording,
            OptimizeHandling(),
            web="jobs.web.commands.optimize",
            refuses=optimize_rules.REFUSED,
            compare=optimize_comparison.compare,
            is_rehearsable=True,
            is_always_reviewed=False,
            schedule_bytes="bytes_in",
        ),
        Row(
            Reorg,
            reorg_wording,
            ReorgHandling(),
            web="jobs.web.commands.reorg",
            refuses=reorg_rules.REFUSED,
            compare=reorg_comparison.compare,
            is_always_reviewed=False,
            schedule_bytes="bytes_in",
        ),
        Row(
            Vacuum,
            vacuum_wording,
            VacuumHandling(),
            web="jobs.web.commands.vacuum",
            refuses=vacuum_rules.REFUSED,
            compare=vacuum_comparison.compare,
            takes_tree=True,
            schedule_bytes="bytes",
        ),
        Row(
            AlterSchema,
            alter_schema_wording,
            AlterSchemaHandling(),
            web="jobs.web.commands.alter_schema",
            refuses=alter_schema_rules.REFUSED,
            compare=alter_schema_comparison.compare,
            is_rehearsable=True,
        ),
        Row(
            SetProperties,
            set_properties_wording,
            SetPropertiesHandling(),
            web="jobs.web.commands.set_properties",
            refuses=set_properties_rules.REFUSED,
            compare=set_properties_comparison.compare,
            is_always_reviewed=False,
        ),
        Row(
            DropFeature,
            drop_feature_wording,
            DropFeatureHandling(),
            web="jobs.web.commands.drop_feature",
            refuses=drop_feature_rules.REFUSED,
            compare=drop_feature_comparison.compare,
        ),
        Row(
            Repair,
            repair_wording,
            RepairHandling(),
            web="jobs.web.commands.repair",
            refuses=repair_rules.REFUSED,
            compare=repair_comparison.compare,
        ),
        Row(
            Clone,
            clone_wording,
            CloneHandling(),
            web="jobs.web.commands.clone",
            refuses=clone_rules.REFUSED,
            compare=clone_comparison.compare,
            is_always_reviewed=False,
            takes_tree=True,
        ),
        Row(
            StreamRound,
            stream_round_wording,
            StreamRoundHandling(),
            web="jobs.web.commands.stream_round",
            refuses=stream_round_rules.REFUSED,
            is_requested=False,
            is_always_reviewed=False,
            queue="streams",
        ),
    )
}


def handling_of(kind: str) -> Handling[Any]:
    """The handling of a command. Raises KeyError for an unknown one."""
    return ROWS[kind].handling


def command_from_json(kind: str, schema_version: int, parameters: Mapping[str, Any]) -> Command:
    """The command stored in a job. Raises KeyError for an unknown kind, ValueError for another schema version."""
    value = ROWS[kind].value
    if schema_version != value.schema_version:
        raise ValueError(f"{kind}: schema version {schema_version}, this build knows {value.schema_version}")
    return value(**parameters)


def back_to(job: Job, version: int, accepted: Sequence[int]) -> Command:
    """The command that undoes a job's commit: back to `version`; `accepted` are the later commits that it undoes as well."""
    return Restore(str(job.table_id), version, undoes=str(job.pk), accepted_commits=accepted)


def undo_request(job: Job, version: int) -> Job:
    """The request that would undo a job's commit, not stored: back to `version`, with its preview by the log. Raises CommandRefused."""
    command = back_to(job, version, ())
    preview = preview_by_log(job.table_id, version)
    return Job(command=command.kind, table=job.table, parameters=command_to_json(command), preview=preview)


def always_reviewed() -> frozenset[str]:
    """The commands that have a review even if the policy requires no approval."""
    return frozenset(kind for kind, row in ROWS.items() if row.is_always_reviewed)


def has_outcome(kind: str) -> bool:
    """Whether the page of an ended job shows its result beside its prediction: where there is a review, or a comparison."""
    row = ROWS.get(kind)
    return row is not None and (row.is_always_reviewed or row.compare is not no_lines)


def tree_takers() -> list[str]:
    """The commands that work on everything below their directory."""
    return [kind for kind, row in ROWS.items() if row.takes_tree]


def is_rehearsable(kind: str) -> bool:
    """Whether a request of this command may ask for a rehearsal."""
    row = ROWS.get(kind)
    return row is not None and row.is_rehearsable


def queue_of(kind: str) -> str:
    """The queue of a command's runs; that of an unknown one is `spark`, where nobody claims it."""
    row = ROWS.get(kind)
    return row.queue if row else "spark"


def kinds_of(queue: str) -> list[str]:
    """The commands whose runs wait in this queue."""
    return [kind for kind, row in ROWS.items() if row.queue == queue]


# A newer Levee may have stored a job of a command that this one doesn't know: such a job gets a plain title and nothing more.


def title_of(job: Job) -> str:
    """A job's title, the same on every page: with its number of rows, once that is counted.

    Lists read what it takes of the preview as `title_preview`.
    """
    row = ROWS.get(job.command)
    if row is None:
        return f"{job.command.capitalize()} {job.table.name}"
    shown = getattr(job, "title_preview", None)
    preview = job.preview or {} if shown is None else shown
    known = {name: preview[name] for name in row.wording.TITLED_BY if preview.get(name) is not None}
    return row.wording.title(job.table.name, job.parameters or {}, known)


def title_fields() -> frozenset[str]:
    """The fields of previews that titles need: a preview also lists files, and lists of jobs don't read those."""
    return frozenset(name for row in ROWS.values() for name in row.wording.TITLED_BY)


def figures_of(job: Job, preview: Mapping[str, Any] | None = None) -> Sequence[Figure]:
    """The numbers of its preview, or of one that it had before."""
    row = ROWS.get(job.command)
    return row.wording.figures(preview or job.preview or {}) if row else ()


def outcome_of(job: Job, result: Result) -> Sequence[Figure]:
    """The numbers that lead its result."""
    row = ROWS.get(job.command)
    return row.wording.outcome(result) if row else ()


def weight_of(job: Job) -> Figure | None:
    """The one number that shows how much work it is."""
    row = ROWS.get(job.command)
    return row.wording.weight(job.preview or {}) if row else None


def facts_of(job: Job) -> Mapping[str, str]:
    """Further facts about it, by label, in a word or two each."""
    row = ROWS.get(job.command)
    return row.wording.facts(job.preview or {}) if row else {}


def sample_of(job: Job) -> Mapping[str, Any] | None:
    """The read that returns some of the rows it affects; None if it has none."""
    row = ROWS.get(job.command)
    return row.handling.sample(job) if row else None


def drift_by_log(job: Job) -> Drift | None:
    """How far its table has moved since its preview, by the log alone."""
    row = ROWS.get(job.command)
    return row.handling.look(job) if row else None


def clean_up(job: Job) -> None:
    """Removes what a worker left behind when it died without a commit; its processes are dead, the caller still holds the lease."""
    row = ROWS.get(job.command)
    if row is not None:
        row.handling.clean_up(job)


def is_editable(job: Job) -> bool:
    """Whether its requester may edit it before it runs."""
    row = ROWS.get(job.command)
    return row is not None and row.handling.editable


def edited(job: Job, change: Mapping[str, Any]) -> Edited:
    """The request with its requester's change. Raises Problem; 409 `wrong_state` for a command that can't be edited or is unknown."""
    row = ROWS.get(job.command)
    if row is None:
        raise Problem(
            409, "wrong_state", f"This Levee doesn't know the command {job.command}: you can only withdraw the request."
        )
    return row.handling.edited(job, change)


def not_undone(job: Job) -> str:
    """Why a restore can't undo its commit; empty if it can."""
    row = ROWS.get(job.command)
    return row.handling.not_undone if row else f"A restore can’t undo {with_article(job.command)}."


def commits_several(job: Job) -> bool:
    """Whether a run of the job's command makes several commits, one after the other."""
    row = ROWS.get(job.command)
    return row is not None and row.handling.several_commits


def fence_of(job: Job) -> Fence:
    """What lets only one attempt of the job commit; none for a command of a later release."""
    row = ROWS.get(job.command)
    return row.handling.fence_of(job) if row is not None else Fence.NONE


def several_kinds() -> list[str]:
    """The commands whose run makes several commits."""
    return [kind for kind, row in ROWS.items() if row.handling.several_commits]


def shortfall(job: Job, result: Result) -> Mapping[str, Any] | None:
    """The job's error if its commits are only a part of what it should do; None if they are all of it."""
    row = ROWS.get(job.command)
    return row.handling.shortfall(job, result) if row else None


def reread(job: Job, result: Result) -> Result:
    """The result with what another look at the table tells, where the run hasn't told it. Reads the table; its run is over."""
    row = ROWS.get(job.command)
    return row.handling.reread(job, result) if row else result


def compared(job: Job, result: Result) -> list[Line]:
    """Its run compared with its prediction, metric by metric; empty for a run that committed nothing. A query for some commands."""
    row = ROWS.get(job.command)
    if row is None or result.no_op or result.version is None:
        return []
    return list(row.compare(job.preview or {}, row.handling.completed(job, result)))


def contradicted(job: Job, result: Result) -> list[Line]:
    """The metrics of its run that are not what it predicted, and people approved, and that no other commit explains.

    Where it ran on a newer version, the matching rows were the same by then and only their number stands; where another commit came
    between the check and its own, nothing does.
    """
    wrong, moved = contradictions(compared(job, result)), has_moved(job.preview or {}, result)
    same = (job.drift or {}).get("verdict") in (DriftVerdict.SAME_FILES, DriftVerdict.SAME_ROWS)
    if result.drifted or (moved and not same):
        return [line for line in wrong if line.name == ROWS_CHANGED]  # of its own commits, whatever came before them
    return [line for line in wrong if line.name in OF_ROWS] if moved else wrong


def rehearsed(job: Job) -> list[Figure]:
    """The metrics of its rehearsal that the command has words for, times aside, and whether the rest came out as predicted; empty
    without one, or if nothing was committed there."""
    row, preview = ROWS.get(job.command), job.preview or {}
    found = preview.get("rehearsal") or {}
    metrics, details = found.get("operation_metrics") or {}, found.get("details") or {}
    if row is None or not (metrics or details):
        return []
    result = Result(None, None, operation_metrics=metrics, num_affected_rows=affected_rows(metrics), details=details)
    lines = [line for line in row.compare(preview, result) if line.unit is not Unit.MILLISECONDS]
    return [figure for line in lines if (figure := _rehearsed_figure(line, details)) is not None]


def _rehearsed_figure(line: Line, details: Mapping[str, Any]) -> Figure | None:
    """A number as it was there; a word, which is none for people, by whether it is the predicted one."""
    if isinstance(line.actual, int):
        return Figure(line.label, line.actual, line.name, unit=line.unit)
    if line.actual is None or not details:
        return None
    return Figure(line.label, None, "", word="as predicted" if line.verdict is Verdict.SAME else "other than predicted")
