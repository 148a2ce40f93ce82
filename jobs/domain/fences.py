"""What of Delta lets only one attempt of a job commit, however late the other wakes up.

Tried on Delta 4.4.0 (`tests/jobs/commands/test_fences.py`), where storage takes each version of the log once.
"""

from __future__ import annotations

from enum import StrEnum


class Fence(StrEnum):
    """Why a second attempt's commit is refused, as a clause; empty where nothing refuses it.

    It holds whenever the sleeper wakes up, before or after it has begun Delta's transaction. TRANSACTION:
    `DeltaCommand.hasBeenExecuted` and `createSetTransaction`. VERSION: `commitLarge` takes version 0 alone, and a table that is there
    is converted no more. FILES: `ConflictChecker`, for the removal of one file twice; who begins afterwards finds nothing left to do.
    BATCH: `DeltaSink.addBatch`, by the query's id, from one checkpoint.
    """

    NONE = ""
    TRANSACTION = "all attempts carry one transaction"
    VERSION = "a table begins once"
    FILES = "the same files can’t be removed twice"
    BATCH = "a query’s batch is taken once"
