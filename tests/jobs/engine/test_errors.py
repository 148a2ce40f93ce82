"""Every shape of a failure becomes one value."""

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from jobs.domain.errors import CommandRefused, EngineFailed, EngineFailure, EngineLost, Refusal
from jobs.engine.errors import translate
from tests.factories import lakes
from tests.jobs import small_delta

spark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]


def failure(act):
    with pytest.raises(EngineFailed) as caught, translate():
        act()
    found = caught.value.failure
    assert EngineFailure.from_json(found.as_json()) == found
    return found


class TestOnSpark:
    pytestmark = spark

    def test_a_captured_exception(self, sql):
        found = failure(lambda: sql("SELECT * FROM nothing_here"))
        assert (found.condition, found.sqlstate) == ("TABLE_OR_VIEW_NOT_FOUND", "42P01")
        assert found.parameters["relationName"] == "`nothing_here`"
        assert not found.message.startswith("[")

    def test_a_parse_exception(self, sql):
        found = failure(lambda: sql("SELEC 1"))
        assert (found.condition, found.sqlstate) == ("PARSE_SYNTAX_ERROR", "42601")

    def test_a_java_exception_that_python_does_not_know(self, sql, lake):
        path = lake.write("t/p=x1")
        found = failure(lambda: sql(f"CONVERT TO DELTA parquet.`{path}` PARTITIONED BY (p int)"))
        assert (found.condition, found.sqlstate) == ("DELTA_FAILED_CAST_PARTITION_VALUE", "22018")
        assert found.java_class == "org.apache.spark.sql.delta.DeltaRuntimeException"
        assert found.message == "Failed to cast partition value `x1` to IntegerType"

    def test_a_condition_three_causes_deep(self, sql, lake):
        path = lake.write("t")
        (path / "x").write_text("not parquet")
        assert failure(lambda: sql(f"CONVERT TO DELTA parquet.`{path}`")).condition == "DELTA_FAILED_READ_FILE_FOOTER"

    def test_a_plain_java_exception_has_no_condition(self, sql, lake):
        found = failure(lambda: sql(f"CONVERT TO DELTA parquet.`{lake.top}/none`"))
        assert found.condition is None
        assert "doesn't exist" in found.message
        assert "FileNotFoundException" in (found.java_class or "")

    def test_a_lost_race_may_be_tried_again(self, runtime, lake):
        path = lake.top / "t"
        session = runtime.new_session()
        session.range(3).write.format("delta").save(str(path))
        log = session._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, str(path))
        found = failure(lambda: _lose_a_race(session, log, path))
        assert found.retryable is True
        assert (found.condition or "").startswith("DELTA_")

    def test_a_stream_names_the_cause_and_not_the_stream(self, runtime, lake, tmp_path):
        lake.write("src")
        session = runtime.new_session()
        target = lake.write("target")

        def stream():
            reader = session.readStream.schema("id bigint").parquet(str(lake.top / "src"))
            query = reader.writeStream.format("delta").option("checkpointLocation", str(tmp_path / "c"))
            query.option("txnVersion", "1").trigger(availableNow=True).start(str(target)).awaitTermination()

        found = failure(lambda: session.sql("SELECT 1 / 0").collect())
        assert found.condition == "DIVIDE_BY_ZERO"
        (target / "_delta_log").mkdir()
        (target / "_delta_log" / "00000000000000000000.json").write_text("garbage\n")
        assert failure(stream).condition != "STREAM_FAILED"

    @pytest.mark.parametrize(
        ("protocol", "condition"),
        [
            # Without its list of features Delta can't even read such a protocol: a failure of its own, of a JVM that lives.
            ({"minReaderVersion": 1, "minWriterVersion": 8}, "EXPRESSION_DECODING_FAILED"),
            (
                {"minReaderVersion": 1, "minWriterVersion": 8, "writerFeatures": ["appendOnly"]},
                "DELTA_INVALID_PROTOCOL_VERSION",
            ),
            (
                {"minReaderVersion": 9, "minWriterVersion": 9, "readerFeatures": [], "writerFeatures": []},
                "DELTA_INVALID_PROTOCOL_VERSION",
            ),
            (
                {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["appendOnly", "somethingNew"]},
                "DELTA_UNSUPPORTED_FEATURES_FOR_WRITE",
            ),
        ],
        ids=["writer 8 without features", "writer 8", "reader 9", "an unknown feature"],
    )
    def test_a_protocol_that_delta_does_not_know_is_its_refusal_and_no_lost_jvm(
        self, runtime, tmp_path, protocol, condition
    ):
        from delta.tables import DeltaTable

        lakes.delta(tmp_path / "t", {"id": [1, 2]})
        small_delta.commit(tmp_path / "t", "UPGRADE PROTOCOL", [{"protocol": protocol}])
        session = runtime.new_session()
        found = failure(lambda: DeltaTable.forPath(session, str(tmp_path / "t")).delete("id = 1"))
        assert found.condition == condition
        assert found.message


def _lose_a_race(session, log, path):
    """A delete that read version 0 commits after another delete removed the same file."""
    from delta.tables import DeltaTable

    none = log.startTransaction(session._jvm.scala.Option.empty(), session._jvm.scala.Option.empty())
    none.filterFiles()
    DeltaTable.forPath(session, str(path)).delete("id = 1")
    operation = getattr(session._jvm, "org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$").__getattr__("MODULE$")
    none.commit(session._jvm.PythonUtils.toSeq([]), operation)


def test_a_lost_connection_is_a_lost_engine():
    for error in (Py4JNetworkError("Answer from Java side is empty"), ConnectionRefusedError(111, "refused")):
        with pytest.raises(EngineLost) as caught, translate():
            raise error
        assert caught.value.failure.retryable is True


class Speechless:
    """An exception of the JVM whose own code fails as it is read; `gone` says that the JVM ended meanwhile."""

    def __init__(self, gone):
        self.gone = gone

    def getClass(self):
        return self

    def getName(self):
        return "org.apache.spark.SparkThrowable"

    def getInterfaces(self):
        return [self]

    def getMessage(self):
        return "[DELTA_SOMETHING] It is so. SQLSTATE: KD004"

    def getCause(self):
        return None

    def getCondition(self):
        raise (
            Py4JNetworkError("Answer from Java side is empty")
            if self.gone
            else Py4JError("Method getCondition([]) does not exist")
        )

    getSqlState = getMessageParameters = getCondition


class Overflowed(Speechless):
    """A Java error of a class that Spark's own aren't of."""

    def __init__(self, name):
        super().__init__(gone=False)
        self.name = name

    def getName(self):
        return self.name

    def getInterfaces(self):
        return []

    def getSuperclass(self):
        return None


@pytest.mark.parametrize(("name", "is_lost"), [("StackOverflowError", False), ("OutOfMemoryError", True)])
def test_a_stack_that_overflowed_loses_no_jvm(monkeypatch, name, is_lost):
    monkeypatch.setattr("jobs.engine.errors._throwable", lambda error: Overflowed(f"java.lang.{name}"))
    with pytest.raises(EngineLost if is_lost else EngineFailed), translate():
        raise Py4JError("An error occurred while calling o1.delete")


def test_an_exception_that_can_not_be_read_whole_is_told_as_far_as_it_can(monkeypatch):
    error = Py4JError("An error occurred while calling o1.delete")
    monkeypatch.setattr("jobs.engine.errors._throwable", lambda error: Speechless(gone=False))
    with pytest.raises(EngineFailed) as caught, translate():
        raise error
    found = caught.value.failure
    assert (found.condition, found.sqlstate, found.message) == ("DELTA_SOMETHING", "KD004", "It is so.")
    monkeypatch.setattr("jobs.engine.errors._throwable", lambda error: Speechless(gone=True))
    with pytest.raises(EngineLost), translate():
        raise error


def test_a_name_that_a_dead_jvm_no_longer_knows_is_a_lost_engine():
    with pytest.raises(EngineLost), translate():
        raise Py4JError("io does not exist in the JVM")


def test_levees_own_refusals_pass():
    with pytest.raises(CommandRefused), translate():
        raise CommandRefused(Refusal("no_files", "nothing"))


def test_what_is_no_failure_of_the_engine_passes():
    with pytest.raises(KeyError), translate():
        raise KeyError("bug")
