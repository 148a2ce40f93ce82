"""What lies in `_delta_log`: commits, checkpoints, compactions, checksums."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from tables.deltalog.read.filenames import LAST_CHECKPOINT, LogFileKind, LogName, commit_version, parse
from tables.deltalog.read.problems import LogProblem, ProblemCode
from tables.storage.store import Entry


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A complete checkpoint: every file of it is there. Its sidecars are only known by reading it."""

    version: int
    kind: LogFileKind
    files: tuple[Entry, ...]

    @property
    def size_bytes(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Compaction:
    """A log compaction file: the reconciled actions of the versions `start` to `end`, both included."""

    start: int
    end: int
    file: Entry


@dataclass(frozen=True, slots=True)
class Listing:
    """A log's files. Versions rise; `checkpoints` are complete ones, oldest first; `last_checkpoint` is the file of this name."""

    commits: dict[int, Entry] = field(default_factory=dict)
    checkpoints: tuple[Checkpoint, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    checksums: dict[int, Entry] = field(default_factory=dict)
    problems: tuple[LogProblem, ...] = ()
    last_checkpoint: Entry | None = None

    @property
    def head(self) -> int | None:
        """The newest version that a commit or a checkpoint stands for, None for an empty log."""
        newest = [next(reversed(self.commits))] if self.commits else []
        newest += [point.version for point in self.checkpoints[-1:]]
        return max(newest, default=None)

    @property
    def earliest_commit(self) -> int | None:
        return next(iter(self.commits), None)

    @property
    def rebuildable(self) -> list[range]:
        """Versions whose state can be rebuilt, as ranges: from version 0 or a checkpoint on, as far as the commits have no gap."""
        starts = {point.version for point in self.checkpoints} | ({0} if 0 in self.commits else set())
        spans: list[range] = []
        for start in sorted(starts):
            if spans and start in spans[-1]:
                continue
            end = start
            while end + 1 in self.commits:
                end += 1
            spans.append(range(start, end + 1))
        return spans

    def checkpoints_until(self, version: int) -> list[Checkpoint]:
        """Checkpoints at or below the version, the best to start from first."""
        return [point for point in reversed(self.checkpoints) if point.version <= version]

    def gaps(self, start: int, end: int) -> list[range]:
        """Runs of versions between `start` and `end`, both included, that have no commit file."""
        missing: list[range] = []
        expected = start
        for version in self.commits:
            if start <= version <= end:
                if version > expected:
                    missing.append(range(expected, version))
                expected = version + 1
        if expected <= end:
            missing.append(range(expected, end + 1))
        return missing


def read_listing(entries: Iterable[Entry]) -> Listing:
    """Sorts a folder's files into a Listing. Names that the protocol doesn't know are left out."""
    commits: dict[int, Entry] = {}
    others: list[tuple[LogName, Entry]] = []
    last_checkpoint: Entry | None = None
    for entry in entries:
        if (version := commit_version(entry.name)) is not None:
            commits[version] = entry
        elif (name := parse(entry.name)) is not None:
            others.append((name, entry))
        elif entry.name == LAST_CHECKPOINT:
            last_checkpoint = entry
    checkpoints, problems = _checkpoints(others)
    return Listing(
        commits={version: commits[version] for version in sorted(commits)},
        checkpoints=checkpoints,
        compactions=_compactions(others),
        checksums={n.version: e for n, e in sorted(others, key=_version) if n.kind is LogFileKind.CHECKSUM},
        problems=problems,
        last_checkpoint=last_checkpoint,
    )


def _version(item: tuple[LogName, Entry]) -> int:
    return item[0].version


def _compactions(files: list[tuple[LogName, Entry]]) -> tuple[Compaction, ...]:
    rows = [Compaction(n.version, n.end, e) for n, e in files if n.kind is LogFileKind.COMPACTION and n.version < n.end]
    return tuple(sorted(rows, key=lambda row: (row.start, row.end)))


def _checkpoints(files: list[tuple[LogName, Entry]]) -> tuple[tuple[Checkpoint, ...], tuple[LogProblem, ...]]:
    whole: list[Checkpoint] = []
    parts: dict[tuple[int, int], dict[int, Entry]] = defaultdict(dict)
    for name, entry in files:
        if name.kind in (LogFileKind.CLASSIC, LogFileKind.V2):
            whole.append(Checkpoint(name.version, name.kind, (entry,)))
        elif name.kind is LogFileKind.MULTIPART:
            parts[name.version, name.parts][name.part] = entry
    problems: list[LogProblem] = []
    for (version, count), present in sorted(parts.items()):
        if len(present) == count and set(present) == set(range(1, count + 1)):
            whole.append(Checkpoint(version, LogFileKind.MULTIPART, tuple(present[n] for n in sorted(present))))
        else:
            file = next(iter(present.values())).name
            reason = f"{len(present)} of the {count} parts of this checkpoint are there, so it is not used"
            problems.append(LogProblem(file, reason, ProblemCode.MISSING))
    return tuple(sorted(whole, key=_preference)), tuple(problems)


def _preference(point: Checkpoint) -> tuple[int, int]:
    """By version; among several of one version a V2 checkpoint comes last, and is tried first."""
    return point.version, (LogFileKind.CLASSIC, LogFileKind.MULTIPART, LogFileKind.V2).index(point.kind)
