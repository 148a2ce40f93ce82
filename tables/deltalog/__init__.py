"""An incremental reader of `_delta_log`: no Spark, no Django.

    log = open_log("/lake/orders")
    sync = log.sync(Path("orders.arrow"), base=None)     # or base=load(Path("orders.arrow"))
    for commit in sync.commits():                        # only what is new, oldest first
        …
    snapshot = sync.snapshot()                           # protocol, metadata, live files as Arrow

Problems are values: whatever is corrupt or missing is named in `problems`, and everything else is still there.
"""

from tables.deltalog.commits import Clock, Commit
from tables.deltalog.listing import Checkpoint, Compaction, Listing
from tables.deltalog.log import DeltaLog, NoTable, job_of, open_log
from tables.deltalog.problems import Code, Problem, Problems
from tables.deltalog.snapshot import InCommitTimestamps, Snapshot, load
from tables.deltalog.storage import Entry, LocalStorage, Storage, StorageError
from tables.deltalog.sync import Sync

__all__ = [
    "Checkpoint",
    "Clock",
    "Code",
    "Commit",
    "Compaction",
    "DeltaLog",
    "Entry",
    "InCommitTimestamps",
    "Listing",
    "LocalStorage",
    "NoTable",
    "Problem",
    "Problems",
    "Snapshot",
    "Storage",
    "StorageError",
    "Sync",
    "job_of",
    "load",
    "open_log",
]
