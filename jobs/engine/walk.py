"""One task of an inspection: walks its share of a directory and reads the footers of its files.

Runs inside Spark's Python workers, which are only certain to have the standard library, pyarrow, and what the storage takes: obstore for
an object store, hdfs-native for HDFS. This module, the readers of footers and Thrift, what storage has for tasks,
jobs.domain.partition_values and footers, and tables.rules.table_formats travel to them by value. A task's answer is bounded, however many
files it saw.
Delta's ConvertUtils and Spark's PartitioningUtils define which names count.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import Any, NamedTuple

from jobs.domain.footers.chunks import DAMAGED, Faulty, FooterFault, faults
from jobs.domain.footers.times import (
    Calendar,
    OldTimes,
    Watched,
    old_times,
    schema_faults,
    time_faults,
    watched_columns,
)
from jobs.domain.partition_values import HIVE_DEFAULT, ValueSet, casts, meant, partition_values
from jobs.engine.footers.reading import BadFooter, Footer, NotParquet, read_footer
from tables.rules.table_formats import (
    MARKED,
    TableFormat,
    above_partitions,
    format_of_file,
    marked_format,
    marks_hudi_partition,
    may_mark,
)
from tables.storage.local.directories import Irregular, Linked
from tables.storage.trees import DIRECTORY, FILE, LINK, MARKER, Reach, Tree

DELTA_LOG = "_delta_log"
COMMIT_NAME = re.compile(r"\d{20}\.(?:json|checkpoint(?:\..+)?\.(?:parquet|json))")

EXAMPLES = 20
FILES_PER_SCHEMA = 3
LINES = 10_000
SCHEMAS = 200
LAYOUTS = 50
MISREAD = 50
OLD_COLUMNS = 100
FAULTS = 50
DIGEST_RANGE = 1 << 256


class WalkOrder(NamedTuple):
    """The instructions for every task. `fields` are (name, type) of a given partition schema; `reach` says how the
    storage is reached."""

    root: str
    footers: bool
    fields: tuple[tuple[str, str], ...]
    reach: Reach
    lines: int = LINES


class WorkShare(NamedTuple):
    """A part of the work: a whole tree, every `of`-th file of one directory, or a list of files.

    `names` are (relative path, size, changed_ns).
    """

    tree: str | None = None
    files_of: str | None = None
    part: int = 0
    of: int = 1
    names: tuple[tuple[str, int, int], ...] = ()


class WalkFindings:
    """The merged findings of tasks. Lists hold examples; `counts` has the full numbers."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.examples: dict[str, list[str]] = {}
        self.digest = 0
        self.lines: list[str] | None = []
        self.values: dict[str, ValueSet] = {}
        self.layouts: dict[tuple[str, ...], tuple[int, str]] = {}
        self.schemas: dict[str, tuple[int, list[str]]] = {}
        self.misfits: dict[str, tuple[str, str]] = {}
        self.times: dict[Calendar, OldTimes] = {}
        self.faults: dict[FooterFault, Faulty] = {}
        self.misread: dict[str, str] = {}  # names of partition directories that Spark misreads, each with a directory

    def count(self, name: str, amount: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + amount

    def note(self, name: str, example: str) -> None:
        """Counts one `name` and keeps the first few in path order as examples."""
        self.count(name)
        retained = self.examples.setdefault(name, [])
        retained.append(example)
        if len(retained) > 2 * EXAMPLES:
            retained[:] = sorted(retained)[:EXAMPLES]

    def first(self, name: str) -> list[str]:
        return sorted(self.examples.get(name, []))[:EXAMPLES]

    def total(self, name: str) -> int:
        return self.counts.get(name, 0)

    def merge(self, other: WalkFindings, lines: int = LINES) -> None:
        for name, amount in other.counts.items():
            self.count(name, amount)
        for name, retained in other.examples.items():
            self.examples[name] = sorted(self.examples.get(name, []) + retained)[:EXAMPLES]
        self.digest = (self.digest + other.digest) % DIGEST_RANGE
        self.lines = _joined(self.lines, other.lines, lines)
        for column, values in other.values.items():
            self.values.setdefault(column, ValueSet()).merge(values)
        for columns, (files, example) in other.layouts.items():
            self._layout(columns, files, example)
        for key, (files, examples) in other.schemas.items():
            self._schema(key, files, examples)
        for column, misfit in other.misfits.items():
            self.misfits[column] = min(self.misfits.get(column, misfit), misfit)
        for part, directory in other.misread.items():
            self.misread_name(part, directory)
        for calendar, times in other.times.items():
            self.old(calendar, times)
        for fault, faulty in other.faults.items():
            self.fault(fault, faulty)

    def file(self, path: str, size: int, changed_ns: int, lines: int) -> None:
        """Adds one file that the conversion would include."""
        line = f"{path}\t{size}\t{changed_ns}"
        digest = int.from_bytes(hashlib.sha256(line.encode("utf-8", "surrogatepass")).digest(), "big")
        self.digest = (self.digest + digest) % DIGEST_RANGE
        self.count("files")
        self.count("bytes", size)
        self.lines = _joined(self.lines, [line], lines)

    def _layout(self, columns: tuple[str, ...], files: int, example: str) -> None:
        known = self.layouts.get(columns)
        if known:
            self.layouts[columns] = (known[0] + files, min(known[1], example))
        elif len(self.layouts) < LAYOUTS:
            self.layouts[columns] = (files, example)

    def _schema(self, key: str, files: int, examples: list[str]) -> None:
        known = self.schemas.get(key)
        if known:
            self.schemas[key] = (known[0] + files, sorted(known[1] + examples)[:FILES_PER_SCHEMA])
        elif len(self.schemas) < SCHEMAS:
            self.schemas[key] = (files, examples)
        else:
            self.count("schemas beyond the limit")

    def misread_name(self, part: str, directory: str) -> None:
        """Keeps the first directory of each such name; `misread beyond the limit` says that there are more names."""
        if part in self.misread or len(self.misread) < MISREAD:
            self.misread[part] = min(self.misread.get(part, directory), directory)
        else:
            self.counts["misread beyond the limit"] = 1

    def old(self, calendar: Calendar, times: OldTimes) -> None:
        known = self.times.get(calendar)
        if known is not None:
            self.times[calendar] = known.merged(times)
        elif len(self.times) < OLD_COLUMNS:
            self.times[calendar] = times

    def fault(self, fault: FooterFault, faulty: Faulty) -> None:
        """Beyond the limit all that is damaged counts as one, so that nothing that refuses is lost."""
        known = self.faults.get(fault)
        if known is None and len(self.faults) >= FAULTS:
            fault = FooterFault(DAMAGED, "it is damaged in other ways")
            known = self.faults.get(fault)
        self.faults[fault] = faulty if known is None else known.merged(faulty)

    def layout(self, columns: tuple[str, ...], example: str) -> None:
        self._layout(columns, 1, example)

    def schema(self, key: str, example: str) -> None:
        self._schema(key, 1, [example])


def _joined(known: list[str] | None, more: list[str] | None, limit: int) -> list[str] | None:
    """Both lists, or None once there are more than `limit` lines."""
    if known is None or more is None or len(known) + len(more) > limit:
        return None
    known.extend(more)
    return known


def scan(shares: list[WorkShare], order: WalkOrder) -> WalkFindings:
    """Walks the shares and returns the findings."""
    walk = _Walk(order)
    for share in shares:
        walk.share(share)
    return walk.found


def is_hidden_file(name: str) -> bool:
    return name.startswith(("_", "."))


def is_hidden_directory(name: str) -> bool:
    """Whether a directory is hidden. Names with `=` never are: a partition column may be called `_p`."""
    return name.startswith(("_", ".")) and "=" not in name


def holds_table(storage: Tree, relative: str) -> bool:
    """Whether the directory `relative` (a `_delta_log`) holds a commit or checkpoint; without one there is no table."""
    try:
        return any(COMMIT_NAME.fullmatch(name) for name, kind, _ in storage.entries(relative) if kind == FILE)
    except (FileNotFoundError, NotADirectoryError):
        return False


def format_of(storage: Tree, name: str) -> TableFormat | None:
    """The other format that the storage's own directory, of this name, is a table in or a part of, by its marks; None if none can be seen.

    Raises Denied.
    """
    own = [("", name)] if may_mark(name) and name not in MARKED else []  # a transaction of Hive
    for directory, marked in [*own, *((each, each) for each in MARKED)]:
        try:
            names = (child for child, _, _ in storage.entries(directory))
            found = next((known for child in names if (known := marked_format(marked, child))), None)
        except OSError:  # not there, a link, or not to be listed
            continue
        if found is not None:
            return found
    return None


class _Walk:
    def __init__(self, order: WalkOrder) -> None:
        self.order = order
        self.storage = order.reach.opened(order.root)
        self.found = WalkFindings()
        self.fields = {name.lower(): type_name for name, type_name in order.fields}
        self.directory: tuple[str, list[tuple[str, str]] | None] | None = None
        self.watched: dict[str, Watched] = {}  # by the key of the schema

    def share(self, share: WorkShare) -> None:
        for path, size, changed_ns in share.names:
            self._file(path, size, changed_ns)
        if share.tree is not None:
            self._tree(share.tree)
        if share.files_of is not None:
            self._entries(share.files_of, share.part, share.of)

    def _tree(self, top: str) -> None:
        pending = [top]
        while pending:
            pending += self._entries(pending.pop(), 0, 1)

    def _entries(self, directory: str, part: int, of: int) -> list[str]:
        """Handles every `of`-th name of a directory; returns the visible subdirectories without entering them."""
        prefix = f"{directory}/" if directory else ""
        below: list[str] = []
        for name, kind, handle in self.storage.entries(directory):
            if of > 1 and zlib.crc32(name.encode("utf-8", "surrogatepass")) % of != part:
                continue
            path = prefix + name
            if kind == DIRECTORY and not is_hidden_directory(name):
                below.append(path)
            else:
                self._entry(path, name, kind, handle)
        return below

    def _entry(self, path: str, name: str, kind: str, handle: Any) -> None:
        if kind == LINK:
            self.found.note("links", path)
        elif kind == DIRECTORY:
            self._hidden(path, name)
        elif is_hidden_file(name):
            self.found.count("hidden")
            if marks_hudi_partition(name):
                self.found.note(TableFormat.HUDI.code, path.rpartition("/")[0] or ".")
        elif kind == FILE and (marked := _marked_table(path)) is not None:
            self.found.note(*marked)
        elif kind == FILE:
            self._file(path, *self.storage.stat(handle))
        else:
            self.found.note("stray", path)

    def _hidden(self, path: str, name: str) -> None:
        """Handles a hidden directory: only counts its files, but reports another table's log, or Hudi's own directory."""
        parent = path.rpartition("/")[0]
        if name == DELTA_LOG and parent and holds_table(self.storage, path):
            self.found.note("nested", parent)
        pending, is_hudi = [path], False
        while pending:
            directory = pending.pop()
            for child, kind, _ in self.storage.entries(directory):
                is_hudi = is_hudi or (directory == path and marked_format(name, child) is TableFormat.HUDI)
                if kind == DIRECTORY:
                    pending.append(f"{directory}/{child}")
                else:
                    self.found.count("hidden")
        if is_hudi and parent:
            self.found.note(TableFormat.HUDI.code, parent)

    def _file(self, path: str, size: int, changed_ns: int) -> None:
        self.found.file(path, size, changed_ns, self.order.lines)
        if not path.endswith(MARKER):  # its place says nothing of partitions: it stands beside a directory
            self._partition(path)
        if self.order.footers:
            self._footer(path, size)

    def _partition(self, path: str) -> None:
        directory = path.rpartition("/")[0]
        if self.directory is None or self.directory[0] != directory:
            self.directory = (directory, partition_values(directory))
            self._values(directory, self.directory[1])
        pairs = self.directory[1]
        if pairs is not None:
            self.found.layout(tuple(column for column, _ in pairs), path)

    def _values(self, directory: str, pairs: list[tuple[str, str]] | None) -> None:
        if pairs is None:
            self.found.note("half pairs", directory)
            return
        parts = [part for part in directory.split("/") if "=" in part]
        for part in parts[len(parts) - len(pairs) :]:
            if meant(part) is not None:
                self.found.misread_name(part, directory)
        for column, value in pairs:
            values = self.found.values.setdefault(column, ValueSet())
            if value == HIVE_DEFAULT:
                values.nulls += 1
                continue
            values.add(value)
            type_name = self.fields.get(column.lower())
            if type_name and not casts(type_name, value):
                misfit = (value, directory)
                self.found.misfits[column.lower()] = min(self.found.misfits.get(column.lower(), misfit), misfit)

    def _footer(self, path: str, size: int) -> None:
        try:  # each was a regular file when listed, but may have changed since
            footer = read_footer(self.storage, path, size)
            watched = self.watched.get(footer.key) or watched_columns(footer.schema)
        except FileNotFoundError:
            self.found.note("missing", path)
        except Linked:
            self.found.note("links", path)
        except Irregular:
            self.found.note("stray", path)
        except NotParquet:
            self.found.note("stray", path)
            self.found.count("markers", path.endswith(MARKER))
        except BadFooter as error:
            self._bad_footer(error.fault, path)
        except UnicodeDecodeError:
            self._bad_footer(FooterFault(DAMAGED, "a name in its footer isn’t UTF-8"), path)
        else:
            self.watched[footer.key] = watched
            self._read(path, size, footer, watched)

    def _bad_footer(self, fault: FooterFault, path: str) -> None:
        self.found.count("no footer")
        self.found.fault(fault, Faulty(1, path))

    def _read(self, path: str, size: int, footer: Footer, watched: Watched) -> None:
        self.found.count("rows", footer.rows)
        if footer.rows == 0:
            self.found.note("empty", path)
        self.found.schema(footer.key, path)
        for calendar, least, greatest in old_times(footer.groups, watched, footer.words, footer.created_by):
            self.found.old(calendar, OldTimes(1, least, greatest, path, (size, path)))
        wrong = faults(footer.groups, watched.types, footer.body)
        for fault, column in {**wrong, **schema_faults(watched), **time_faults(footer.groups, watched)}.items():
            self.found.fault(fault, Faulty(1, path, column))


def _marked_table(path: str) -> tuple[str, str] | None:
    """The code of the format and the directory below the walk's own that a visible file marks as a table in it."""
    directory, _, name = path.rpartition("/")
    if (own := format_of_file(name)) is not None:
        return own.code, above_partitions(directory) or "."
    table, _, marked = directory.rpartition("/")
    found = marked_format(marked, name)
    if found is TableFormat.HIVE_ACID:
        return found.code, above_partitions(table) or "."
    return (found.code, table) if table and found in (TableFormat.ICEBERG, TableFormat.PAIMON) else None
