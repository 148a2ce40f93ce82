"""What `Handling.fence` promises, on real Delta: an attempt that wakes up after another of its job has committed commits nothing.

The sleeper is held by Delta's own observer of transactions: before it begins one, or right before it writes its commit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from deltalake import DeltaTable as Witness
from pyspark.java_gateway import ensure_callback_server_started

from jobs.commands import registry
from jobs.commands.base import Handling
from jobs.commands.convert.rules import Convert
from jobs.commands.optimize.handling import written_for as optimize_written
from jobs.commands.optimize.log import from_log as optimize_preview
from jobs.commands.optimize.rules import Optimize
from jobs.commands.reorg.handling import written_for as reorg_written
from jobs.commands.reorg.log import from_log as reorg_preview
from jobs.commands.reorg.rules import Reorg
from jobs.commands.repair import log as repairs
from jobs.commands.repair.rules import Repair
from jobs.commands.stream_round.rules import StreamRound
from jobs.domain.engine import UNCHECKED, Checked, Marks
from jobs.domain.errors import CommandRefused, EngineFailed
from jobs.domain.fences import Fence
from jobs.domain.results import Result
from tests.factories import lakes
from tests.jobs.commands.optimize.test_spark import subject_at
from tests.jobs.commands.stream_round.landing import Stream
from tests.jobs.engine.deltas import VECTORS, deletion, make
from tests.jobs.engine.lake import Recorder, actions
from tests.patience import limit

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]

DELTA = "org.apache.spark.sql.delta"
TRANSACTION, COMMIT = "transaction", "commit"


class Sleeper:
    """Delta's `TransactionExecutionObserver`: lets everything pass, but sleeps once, before a transaction or before its commit."""

    class Java:
        implements: ClassVar = [f"{DELTA}.TransactionExecutionObserver"]

    def __init__(self) -> None:
        self.asleep, self.awake = threading.Event(), threading.Event()
        self.before = COMMIT

    def _sleep(self) -> None:
        self.asleep.set()
        assert self.awake.wait(limit(120)), "nobody woke it"

    def startingTransaction(self, begin: Any) -> Any:
        if self.before == TRANSACTION:
            self._sleep()
        return begin.apply()

    def preparingCommit(self, prepare: Any) -> Any:
        return prepare.apply()

    def beginDoCommit(self) -> None:
        if self.before == COMMIT:
            self._sleep()

    def createChild(self) -> Any:
        return self

    def advanceToNextThreadObserver(self) -> None: ...

    def beginBackfill(self) -> None: ...

    def beginPostCommit(self) -> None: ...

    def transactionCommitted(self) -> None: ...

    def transactionAborted(self) -> None: ...


class Always:
    """A supplier of one value."""

    class Java:
        implements: ClassVar = ["java.util.function.Supplier"]

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value


@dataclass(frozen=True)
class Asked:
    """A command on a table of its own, what its preview says, and the ids that are right once it has run."""

    command: Any
    path: Path
    ids: list[int]
    preview: Any = None
    checked: Checked = UNCHECKED


Made = Callable[[Any, Path], Asked]


def deleted(session: Any, top: Path) -> Asked:
    path = make(session, top / "t")
    return Asked(deletion(path, "id < 10"), path, list(range(10, 40)))


def deleted_by_vectors(session: Any, top: Path) -> Asked:
    path = make(session, top / "t", VECTORS)
    return Asked(deletion(path, "id < 10"), path, list(range(10, 40)))


def converted(session: Any, top: Path) -> Asked:
    lakes.parquet(top / "t" / "a.parquet", {"id": [1, 2, 3]})
    return Asked(Convert(str(top / "t"), None, "parquet", None), top / "t", [1, 2, 3], "measured")


def optimized(session: Any, top: Path) -> Asked:
    path = make(session, top / "t")
    written, node = optimize_written(subject_at(path), Optimize("t"))
    return Asked(written, path, list(range(40)), optimize_preview(subject_at(path), written, node))


def reorganized(session: Any, top: Path) -> Asked:
    path = make(session, top / "t", VECTORS)
    session.sql(f"DELETE FROM delta.`{path}` WHERE id < 5")
    written, node = reorg_written(subject_at(path), Reorg("t", None))
    return Asked(written, path, list(range(5, 40)), reorg_preview(subject_at(path), written, node))


def repaired(session: Any, top: Path) -> Asked:
    path = make(session, top / "t", files=1)
    lost = next(add for add in actions(path, "add") if add["partitionValues"] == {"p": "0"})
    (path / lost["path"]).unlink()
    subject = subject_at(path)
    preview = repairs.with_look(subject, repairs.asked(subject))
    return Asked(Repair("t", str(path)), path, list(range(1, 40, 2)), preview, Checked(0))


CASES: dict[str, tuple[Made, str]] = {
    "delete": (deleted, "DELTA_CONCURRENT_TRANSACTION"),
    "delete, deletion vectors": (deleted_by_vectors, "DELTA_CONCURRENT_TRANSACTION"),
    "convert": (converted, "ConcurrentWriteException"),
    "optimize": (optimized, "DELTA_CONCURRENT_"),
    "reorg": (reorganized, "DELTA_CONCURRENT_"),
    "repair": (repaired, "DELTA_CONCURRENT_"),
}


@pytest.fixture(autouse=True)
def no_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    """No stream reads these tables."""
    monkeypatch.setattr(repairs, "_read_by", lambda subject, values: dict(values))


@pytest.fixture
def attempt(engine: Any, marks: Marks) -> Callable[..., Result]:
    """Runs one attempt of the job."""

    def run(asked: Asked, number: int) -> Result:
        mine = Marks(marks.job, number, marks.digest, number)
        preview = asked.preview or {}
        if preview == "measured":
            preview = measured(engine, asked, mine)
        return engine.run(asked.command, preview, asked.checked, mine, Recorder())  # type: ignore[no-any-return]

    return run


def measured(engine: Any, asked: Asked, marks: Marks) -> dict[str, Any]:
    found: dict[str, Any] = engine.preview(asked.command, None, marks, Recorder()).as_json()
    return found


@pytest.fixture
def asleep(runtime: Any) -> Iterator[Callable[..., tuple[Sleeper, Any]]]:
    """Starts an attempt in a thread of its own, and answers once it sleeps."""
    session = runtime.new_session()
    ensure_callback_server_started(session.sparkContext._gateway)
    observers = getattr(getattr(session._jvm, f"{DELTA}.TransactionExecutionObserver$"), "MODULE$")
    nothing = getattr(getattr(session._jvm, f"{DELTA}.NoOpTransactionExecutionObserver$"), "MODULE$")
    sleeper, usual = Sleeper(), observers.threadObserver()
    # Nobody can set the observer of a stream's own thread: from the sleeper's start on, each new thread has it.
    replace = getattr(
        observers, f"{DELTA.replace('.', '$')}$ThreadStorageExecutionObserver$_setter_$threadObserver_$eq"
    )

    with ThreadPoolExecutor(1) as pool:

        def start(act: Callable[[], Result], before: str = COMMIT) -> tuple[Sleeper, Any]:
            sleeper.before = before
            replace(session._jvm.java.lang.ThreadLocal.withInitial(Always(sleeper)))
            observers.setObserver(nothing)
            run = pool.submit(act)
            while not sleeper.asleep.wait(0.2):
                assert not run.done(), run.result()
            return sleeper, run

        yield start
        sleeper.awake.set()
    replace(usual)


def marked(path: Path, job: str) -> list[dict[str, Any]]:
    """The commits of the job, by their marks."""
    infos = [info for info in actions(path, "commitInfo") if info.get("userMetadata")]
    return [info for info in infos if json.loads(info["userMetadata"]).get("job") == job]


def ids_of(session: Any, path: Path) -> list[int]:
    return sorted(row["id"] for row in session.read.format("delta").load(str(path)).select("id").collect())


def refusal_of(run: Any) -> str:
    """How the sleeper ended: Delta's condition and words."""
    failed = run.exception(limit(60))
    assert isinstance(failed, EngineFailed), failed
    return f"{failed.failure.condition} {failed}"


@pytest.mark.parametrize("case", CASES)
def test_a_sleeper_that_wakes_up_after_the_next_attempt_commits_nothing(
    runtime: Any, tmp_path: Path, attempt: Any, asleep: Any, marks: Marks, case: str
) -> None:
    make_it, condition = CASES[case]
    asked = make_it(runtime.new_session(), tmp_path)
    sleeper, run = asleep(lambda: attempt(asked, 1))
    result = attempt(asked, 2)
    sleeper.awake.set()
    assert condition in refusal_of(run)
    assert [json.loads(info["userMetadata"])["attempt"] for info in marked(asked.path, marks.job)] == [2]
    assert result.version is not None
    assert ids_of(runtime.new_session(), asked.path) == asked.ids


@pytest.mark.parametrize("case", CASES)
def test_a_sleeper_that_has_not_begun_commits_nothing_either(
    runtime: Any, tmp_path: Path, attempt: Any, asleep: Any, marks: Marks, case: str
) -> None:
    asked = CASES[case][0](runtime.new_session(), tmp_path)
    sleeper, run = asleep(lambda: attempt(asked, 1), TRANSACTION)
    attempt(asked, 2)
    sleeper.awake.set()
    run.exception(limit(60))  # whether it fails or finds that nothing is left to do
    assert [json.loads(info["userMetadata"])["attempt"] for info in marked(asked.path, marks.job)] == [2]
    assert ids_of(runtime.new_session(), asked.path) == asked.ids


@pytest.mark.parametrize("case", CASES)
def test_an_attempt_after_one_that_woke_up_commits_nothing(
    runtime: Any, tmp_path: Path, attempt: Any, marks: Marks, case: str
) -> None:
    asked = CASES[case][0](runtime.new_session(), tmp_path)
    attempt(asked, 1)
    with suppress(EngineFailed, CommandRefused):
        attempt(asked, 2)
    assert [json.loads(info["userMetadata"])["attempt"] for info in marked(asked.path, marks.job)] == [1]
    assert ids_of(runtime.new_session(), asked.path) == asked.ids


def test_a_batch_that_another_attempt_has_committed_is_refused_to_a_sleeper(
    tmp_path: Path, engine: Any, marks: Marks, asleep: Any
) -> None:
    """The other attempt is another engine's commit: one JVM runs a query once."""
    stream = Stream(tmp_path)

    def round_of(number: int) -> Result:
        command = StreamRound("s", "orders", stream.definition().as_json())
        return engine.run(command, {}, UNCHECKED, Marks(marks.job, number, marks.digest, number), Recorder())  # type: ignore[no-any-return]

    stream.write(1)
    round_of(1)
    stream.write(2)
    sleeper, run = asleep(lambda: round_of(1))
    batch = CommitProperties(app_transactions=[Transaction(stream.query_id(), 1)])
    write_deltalake(
        stream.target, Witness(stream.target).to_pyarrow_table().slice(0, 0), mode="append", commit_properties=batch
    )
    sleeper.awake.set()
    assert "DELTA_CONCURRENT_TRANSACTION" in refusal_of(run)
    assert stream.ids() == [1]
    again = round_of(2)
    assert (again.version, [batch["skipped"] for batch in again.details["batches"]]) == (None, [True])
    assert stream.ids() == [1]


def test_every_command_with_a_fence_is_tried_here() -> None:
    fenced = {kind for kind, row in registry.ROWS.items() if may_have_one(row.handling)}
    assert fenced == {case.partition(",")[0] for case in CASES} | {"stream_round"}


def may_have_one(handling: Any) -> bool:
    return handling.fence is not Fence.NONE or type(handling).fence_of is not Handling.fence_of
