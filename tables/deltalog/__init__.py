"""An incremental reader of `_delta_log`: no Spark, no Django.

    log = open_log("/lake/orders")
    sync = log.sync(Path("orders.arrow"), base=None)     # or base=load(Path("orders.arrow"))
    for commit in sync.commits():                        # only what is new, oldest first
        …
    snapshot = sync.snapshot()                           # protocol, metadata, live files as Arrow

Problems are values: whatever is corrupt or missing is named in `problems`, and everything else is still there. The pure parts have
modules of their own: schema, schema_changes, properties, features, retention, reachability, layout.
"""

from tables.deltalog.actions import (
    Action,
    AddCDCFile,
    AddFile,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    UnknownAction,
)
from tables.deltalog.commits import Clock, Commit
from tables.deltalog.layout import Layout, Partition, SizeBin, layout_of
from tables.deltalog.listing import Checkpoint, Compaction, Listing
from tables.deltalog.log import DeltaLog, NoTable, job_of, open_log
from tables.deltalog.problems import Code, Problem, Problems
from tables.deltalog.snapshot import InCommitTimestamps, Snapshot, load
from tables.deltalog.storage import Entry, LocalStorage, Storage, StorageError
from tables.deltalog.sync import Sync

__all__ = [
    "Action",
    "AddCDCFile",
    "AddFile",
    "Checkpoint",
    "Clock",
    "Code",
    "Commit",
    "CommitInfo",
    "Compaction",
    "DeletionVector",
    "DeltaLog",
    "DomainMetadata",
    "Entry",
    "InCommitTimestamps",
    "Layout",
    "Listing",
    "LocalStorage",
    "Metadata",
    "NoTable",
    "Partition",
    "Problem",
    "Problems",
    "Protocol",
    "RemoveFile",
    "SetTransaction",
    "SizeBin",
    "Snapshot",
    "Storage",
    "StorageError",
    "Sync",
    "UnknownAction",
    "job_of",
    "layout_of",
    "load",
    "open_log",
]
