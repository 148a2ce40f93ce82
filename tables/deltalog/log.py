"""The log of one table: what is in it, its commits, its state, only what is new."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tables.deltalog.actions import Action, CommitInfo, Metadata
from tables.deltalog.commits import Clock, Commit, read_commit
from tables.deltalog.filenames import LOG, commit_version, parse
from tables.deltalog.lines import parse_json, read_actions, read_lines
from tables.deltalog.listing import Listing, read_listing
from tables.deltalog.parsing import parse_action
from tables.deltalog.problems import Code, Problems
from tables.deltalog.readahead import reading_ahead
from tables.deltalog.rebuild import rebuild
from tables.deltalog.snapshot import Snapshot
from tables.deltalog.storage import LocalStorage, Storage
from tables.deltalog.sync import Sync

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://")


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

    def read_commits(
        self,
        since: int | None = None,
        until: int | None = None,
        clock: Clock | None = None,
        before: Metadata | None = None,
    ) -> Iterator[Commit]:
        """Commits after `since` (all without it) up to `until`, oldest first. Missing ones are left out.

        Times are those of DESCRIBE HISTORY when the reading starts at the log's beginning, or `clock` carries on from an earlier one.
        `before` is the metadata at `since`, for `schema_changed`.
        """
        clock = clock or Clock()
        listed = self.listing(None if since is None else since + 1).commits
        wanted = {version: entry for version, entry in listed.items() if until is None or version <= until}
        with reading_ahead(self.storage, wanted.values()) as storage:
            for version, entry in wanted.items():
                commit = read_commit(storage, version, entry, clock, before)
                before = commit.metadata or before
                yield commit

    def sync(self, target: Path, base: Snapshot | None = None, since: int | None = None) -> Sync:
        """One pass over what is new: its commits, then the snapshot at the head (see Sync). Raises NoTable."""
        found = Sync(self.storage, target, base, since)
        if found.head is None:
            raise NoTable("the log holds no commit and no checkpoint")
        return found

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

    def actions(self, version: int, problems: Problems | None = None) -> Iterator[Action]:
        """One commit's actions, typed, as they pass by. What can't be read goes to `problems`. A missing commit has none."""
        problems = problems if problems is not None else Problems()
        name = f"{version:020d}.json"
        entry = self.storage.entry(f"{LOG}/{name}")
        if entry is None:
            problems.add(name, "the commit's file is missing", Code.MISSING)
            return
        for action_name, value in read_actions(self.storage, f"{LOG}/{name}", entry.size, name, problems):
            if action := parse_action(action_name, value, name, problems):
                yield action

    def find_mark(self, job_id: str, since: int | None = None) -> Commit | None:
        """The first commit after `since` whose `userMetadata` is JSON with `"job": job_id`, None when there is none.

        Lines without the id are not parsed.
        """
        needle = job_id.encode()
        commits = self.listing(None if since is None else since + 1).commits
        with reading_ahead(self.storage, commits.values()) as storage:
            for version, entry in commits.items():
                lines = read_lines(storage, f"{LOG}/{entry.name}", entry.size, entry.name, Problems())
                if any(needle in line and _marks(line, job_id) for _, line in lines):
                    return read_commit(storage, version, entry, Clock())
        return None


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
    found = parse(name)
    return found.version if found else None


def open_log(location: str, storage: Storage | None = None) -> DeltaLog:
    """The log of the table at an absolute path, `file:` and an absolute path, or a URI of an object store.

    Paths are literal; only `scheme://` makes a URI. Raises ValueError for a relative path. With a `storage` (`ObjectStorage.of` for an
    obstore store that is open already) the location is not looked at.
    """
    if storage is not None:
        return DeltaLog(storage)
    if location.startswith("file:"):
        location = "/" + location.removeprefix("file:").lstrip("/")
    if location.startswith("/"):
        return DeltaLog(LocalStorage(location))
    if _URI.match(location):
        from tables.deltalog.object_storage import ObjectStorage

        return DeltaLog(ObjectStorage(location))
    raise ValueError(f"{location!r} is neither an absolute path nor a URI")
