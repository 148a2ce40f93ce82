"""What of Delta lets only one attempt of a job commit, however late the other wakes up.

Tried on Delta 4.4.0 (`tests/jobs/commands/test_fences.py`), where storage takes each version of the log once.
"""

from __future__ import annotations

from enum import StrEnum


class Fence(StrEnum):
    """Why a second attempt's commit is refused, as a clause; empty where nothing refuses it.

    TRANSACTION: `DeltaCommand.hasBeenExecuted` and `createSetTransaction`. VERSION: `OptimisticTransaction.commitLarge`, which tries the
    one version. DEFINITION, FILES: `ConflictChecker`, a metadata update against any other, and the removal of one file twice. BATCH:
    `DeltaSink.addBatch`, by the query's id.
    """

    NONE = ""
    TRANSACTION = "all attempts carry one transaction"
    VERSION = "it must be the version after the one that it read"
    DEFINITION = "a table’s definition can’t be changed twice at once"
    FILES = "the same files can’t be removed twice"
    BATCH = "a query’s batch is taken once"
