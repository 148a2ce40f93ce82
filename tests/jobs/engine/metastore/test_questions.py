"""Questions to a metastore whose client tests give: what Spark can't read of it, and one that is slow or away."""

import threading
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError

from jobs.domain.errors import CommandRefused
from jobs.engine.metastore import names

ADDRESS = "thrift://metastore.example:9083"


def failure(text):
    """An error of the JVM as py4j raises it."""
    cause = SimpleNamespace(_target_id="o1", getCause=lambda: None, getMessage=lambda: text)
    return Py4JJavaError("An error occurred.\n", cause)


class Lines(list):
    def mkString(self, separator):
        return separator.join(self)

    def size(self):
        return len(self)

    def apply(self, position):
        return self[position]


def option(value):
    return SimpleNamespace(isDefined=lambda: value is not None, get=lambda: value)


def table(name):
    storage = SimpleNamespace(locationUri=lambda: option(None), serde=lambda: option(None))
    return SimpleNamespace(
        tableType=lambda: SimpleNamespace(name=lambda: "EXTERNAL"), storage=lambda: storage,
        provider=lambda: option("delta"), identifier=lambda: SimpleNamespace(table=lambda: name),
    )  # fmt: skip


class Client:
    """Spark's external catalog with tables; `broken` ones fail it, and everything fails once it is `lost`."""

    def __init__(self, tables, broken=()):
        self.tables, self.broken = tables, broken
        self.lost = False
        self.asked = []

    def databaseExists(self, database):
        if self.lost:
            raise failure("Connection reset")
        return True

    def listDatabases(self):
        self.databaseExists("")
        return Lines(["shop"])

    def listTables(self, database):
        return Lines(self.tables)

    def getTablesByName(self, database, chosen):
        self.asked.append(len(chosen))
        if set(chosen) & set(self.broken):
            raise failure("org.apache.spark.SparkException: Cannot recognize hive type string: uniontype<int,string>")
        return Lines([table(name) for name in chosen])

    def getTable(self, database, name):
        self.getTablesByName(database, [name])
        return table(name)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(names, "_failures", {})
    monkeypatch.setattr(names, "_clients", {})
    monkeypatch.setattr(names, "why_away", lambda address: None)


@pytest.fixture
def session():
    utilities = SimpleNamespace(PythonUtils=SimpleNamespace(toSeq=list))
    spark = SimpleNamespace(api=SimpleNamespace(python=utilities))
    conf = SimpleNamespace(get=lambda key: ADDRESS)
    return SimpleNamespace(
        _jvm=SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(spark=spark))),
        sparkContext=SimpleNamespace(getConf=lambda: conf, applicationId="app-1"),
    )


def asked(session, client, **question):
    names._clients["app-1"] = client
    return names.read_metastore(session, question)


def test_a_table_that_spark_cannot_read_is_told_and_the_others_are_there(session):
    answer = asked(session, Client(["a", "b", "c"], broken=["b"]), database="shop")
    assert [(each["name"], each["type"]) for each in answer["tables"]] == [
        ("a", "external"), ("b", "unreadable"), ("c", "external"),
    ]  # fmt: skip
    assert answer["tables"][1]["why"] == "Cannot recognize hive type string: uniontype<int,string>"


def test_a_metastore_lost_meanwhile_is_away_and_not_a_page_of_unreadable_tables(session):
    class Losing(Client):
        def getTablesByName(self, database, chosen):
            self.lost = True
            raise failure("Connection reset")

    with pytest.raises(CommandRefused) as refused:
        asked(session, Losing(["a", "b"]), database="shop")
    assert refused.value.refusals[0].code == "metastore_away"


def test_many_names_are_asked_for_in_chunks(session, monkeypatch):
    monkeypatch.setattr(names, "PAGE", 2)
    client = Client(["a", "b", "c"])
    answer = asked(session, client, database="shop", names=["a", "b", "c"])
    assert (client.asked, len(answer["tables"])) == ([2, 1], 3)


def test_a_failure_is_remembered_for_the_questions_that_queue_behind_it(session, monkeypatch):
    tried = []

    def refused_port(address):
        tried.append(address)
        return "Connection refused"

    monkeypatch.setattr(names, "why_away", refused_port)
    for _ in range(3):
        with pytest.raises(CommandRefused) as refused:
            asked(session, Client([]))
        assert refused.value.refusals[0].message.endswith("doesn’t answer: Connection refused.")
    assert len(tried) == 1
    monkeypatch.setattr(names, "_failures", {ADDRESS: (0.0, names._failures[ADDRESS][1])})
    monkeypatch.setattr(names, "why_away", lambda address: None)
    assert asked(session, Client([])) == {"databases": ["shop"]}
    assert names._failures == {}


def test_a_question_does_not_wait_for_ever_behind_a_slow_one(session, monkeypatch):
    monkeypatch.setattr(names, "PATIENCE", 0.05)
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Client):
        def listDatabases(self):
            begun.set()
            go_on.wait(20)
            return Lines(["shop"])

    slow = threading.Thread(target=asked, args=(session, Slow([])), daemon=True)
    slow.start()
    assert begun.wait(20)
    with pytest.raises(CommandRefused) as refused:
        asked(session, Client([]))
    assert "it is still answering another question" in refused.value.refusals[0].message
    go_on.set()
    slow.join(20)
    assert asked(session, Client([])) == {"databases": ["shop"]}
