"""The log of one table: what is in it, its commits, its state, only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path

from tables.deltalog.checkpoints.last_checkpoint import newest_checkpoint
from tables.deltalog.read.actions import Action, CommitInfo, Metadata
from tables.deltalog.read.commits import LogCommit, read_commit
from tables.deltalog.read.filenames import LOG, commit_name, commit_version, parse
from tables.deltalog.read.lines import parse_json, read_lines
from tables.deltalog.read.parsing import parse_action, typed_actions
from tables.deltalog.read.problems import ProblemCode, Problems
from tables.deltalog.read.readahead import reading_ahead
from tables.deltalog.read.times import Clock, in_commit_timestamps
from tables.deltalog.replay.rebuild import rebuild
from tables.deltalog.replay.sync import Sync
from tables.deltalog.state.listing import Listing, read_listing
from tables.deltalog.state.snapshot import Snapshot
from tables.storage.store import Entry, Storage, StorageError
from tables.storage.stores import files_at


class NoTable(Exception):
    """The location's log holds neither a commit nor a checkpoint, or not the version that was asked for."""


class DeltaLog:
    """Reads `_delta_log` below a location. Holds no state: every call looks at the log anew.

    StorageError is raised when the log's folder can't be listed at all; everything smaller becomes a Problem of the answer.
    """

    def __init__(self, storage: Storage) -> None:
        self.storage = storage

    def exists(self) -> bool:
        """True when the log holds a commit or a checkpoint; a bare `_delta_log` folder is no table."""
        return any(_makes_table(name) for name in self.storage.names(LOG))

    def head_version(self, since: int | None = None) -> int | None:
        """The newest version, None without a table. With `since`, only names from that version on are looked at."""
        names = self.storage.names(LOG, "" if since is None else f"{since:020d}")
        return max((version for name in names if (version := _version(name)) is not None), default=None)

    def listing(self, since: int | None = None) -> Listing:
        """The log's files; with `since`, those of that version and later."""
        return read_listing(self.storage.entries(LOG, "" if since is None else f"{since:020d}"))

    def sync(self, target: Path, base: Snapshot | None = None, since: int | None = None) -> Sync:
        """One pass over what is new: its commits, then the snapshot at the head (see Sync). Raises NoTable."""
        run = Sync(self.storage, target, base, since)
        if run.head is None:
            raise NoTable("the log holds no commit and no checkpoint")
        return run

    def snapshot(self, version: int | None = None, target: Path | None = None) -> Snapshot:
        """The table at a version (the head without one). Files are read only when there is a `target` to write them to.

        Raises NoTable when the log doesn't reach the version.
        """
        listing = self.listing()
        wanted = listing.head if version is None else version
        if wanted is None or listing.head is None or not 0 <= wanted <= listing.head:
            raise NoTable(
                f"the log has no version {wanted}"
                if wanted is not None
                else "the log holds no commit and no checkpoint"
            )
        return rebuild(self.storage, listing, wanted, target, Problems(newest=True))

    def times(self, versions: range, newest: Metadata | None) -> Iterator[tuple[int, datetime]]:
        """When the commits of these versions that are still in the log were made, oldest first, by the table's newest metadata."""
        clock = Clock(newest=lambda: newest)
        begin = in_commit_timestamps(newest).begin
        for version, entry in self.listing().commits.items():
            if version >= versions.stop:
                return
            if version < versions.start:
                clock.pass_over(entry.modified_ms)
            elif version < begin:
                yield version, clock.tell(version, entry.modified_ms, None)
            else:
                yield version, read_commit(self.storage, version, entry, clock).committed_at

    def actions(self, version: int, problems: Problems | None = None) -> Iterator[Action]:
        """One commit's actions, typed, as they pass by. What can't be read goes to `problems`. A missing commit has none."""
        problems = problems if problems is not None else Problems()
        name = f"{version:020d}.json"
        entry = self.storage.entry(f"{LOG}/{name}")
        if entry is None:
            problems.add(name, "the commit's file is missing", ProblemCode.MISSING)
            return
        yield from typed_actions(self.storage, f"{LOG}/{name}", entry.size, name, problems)

    def find_mark(self, job_id: str, since: int | None = None) -> LogCommit | None:
        """The first commit after `since` whose `userMetadata` is JSON with `"job": job_id`, None when there is none.

        Lines without the id are not parsed. Raises StorageError for a commit that can't be read, or is gone: it may be the one.
        """
        listing = self.listing(since)
        if since is None:
            return self._first_marked(job_id, listing.commits)
        later = {version: entry for version, entry in listing.commits.items() if version > since}
        found = self._first_marked(job_id, later)
        if found is None:
            _require_all(listing, since)
        return found

    def find_marks(self, job_id: str, since: int | None = None) -> list[LogCommit]:
        """Every commit after `since` that `find_mark` would take, oldest first. Raises StorageError as it does."""
        listing = self.listing(since)
        commits = {version: entry for version, entry in listing.commits.items() if since is None or version > since}
        if since is not None:
            _require_all(listing, since)
        found = [self._first_marked(job_id, {version: entry}) for version, entry in sorted(commits.items())]
        return [commit for commit in found if commit is not None]

    def look_for_mark(self, job_id: str, since: int, most: int) -> tuple[LogCommit | None, int]:
        """As `find_mark`, in `most` commits at most and without listing a long log; with the last version that was looked at.

        Raises StorageError as `find_mark` does.
        """
        commits = self._next_commits(since, most)
        return self._first_marked(job_id, commits), max(commits, default=since)

    def _first_marked(self, job_id: str, commits: Mapping[int, Entry]) -> LogCommit | None:
        needle = job_id.encode()
        with reading_ahead(self.storage, commits.values()) as storage:
            for version, entry in commits.items():
                problems = Problems()
                lines = read_lines(storage, f"{LOG}/{entry.name}", entry.size, entry.name, problems)
                if any(needle in line and _marks(line, job_id) for _, line in lines):
                    return read_commit(storage, version, entry, Clock())
                _require_read(problems)
        return None

    def _next_commits(self, since: int, most: int) -> dict[int, Entry]:
        """At most `most` commits after `since`, asked for by name. Listed only where the next one was cleaned up behind a checkpoint."""
        commits: dict[int, Entry] = {}
        while len(commits) < most:
            version = since + 1 + len(commits)
            entry = self.storage.entry(f"{LOG}/{commit_name(version)}")
            if entry is None:
                break
            commits[version] = entry
        if commits or newest_checkpoint(self.storage) <= since:
            return commits
        return dict(islice(self.listing(since + 1).commits.items(), most))


def _require_all(listing: Listing, since: int) -> None:
    """Raises StorageError unless all commits after a version that the log once had are there: it may be shortened, or another one."""
    if listing.head is None:
        raise StorageError(f"it holds neither version {since} nor a later one")
    if gaps := listing.gaps(since + 1, listing.head):
        raise StorageError(f"version {gaps[0].start} is missing")


def _require_read(problems: Problems) -> None:
    """Raises StorageError for a file that wasn't read to its end; damage in what was read is no matter here."""
    for problem in problems.found():
        if problem.code in (ProblemCode.MISSING, ProblemCode.UNREADABLE):
            raise StorageError(f"{problem.file}: {problem.reason}")


def job_of(user_metadata: str | None) -> str | None:
    """The job named in a commit's `userMetadata`, None when it is not Levee's."""
    if not user_metadata or '"job"' not in user_metadata:
        return None
    try:
        value = parse_json(user_metadata)
    except ValueError:
        return None
    job = value.get("job") if isinstance(value, dict) else None
    return job if isinstance(job, str) else None


def _marks(line: bytes, job_id: str) -> bool:
    try:
        value = parse_json(line)
    except ValueError:
        return False
    info = value.get("commitInfo") if isinstance(value, dict) else None
    if not isinstance(info, dict):
        return False
    action = parse_action("commitInfo", info, "", Problems())
    return isinstance(action, CommitInfo) and job_of(action.user_metadata) == job_id


def _makes_table(name: str) -> bool:
    return _version(name) is not None


def _version(name: str) -> int | None:
    if (version := commit_version(name)) is not None:
        return version
    if "checkpoint" not in name:
        return None
    log_name = parse(name)
    return log_name.version if log_name else None


def open_log(location: str, storage: Storage | None = None) -> DeltaLog:
    """The log of the table at a location, as `files_at` reads it; with a `storage` that is open already it is not looked at."""
    return DeltaLog(files_at(location) if storage is None else storage)
