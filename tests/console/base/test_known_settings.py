"""A wrong setting is named with what is allowed, in one line; an unknown name with the one that was meant."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.base.env import Env, SettingError
from console.base.known_settings import SETTINGS, read_all, unknown

PROJECT = Path(__file__).parents[3]
SECRET = "hunter2hunter2"

WRONG = [
    ("LEVEE_PORT", "http"), ("LEVEE_PORT", "0"), ("LEVEE_PORT", "65536"), ("LEVEE_PORT", "²"), ("LEVEE_PORT", "-1"),
    ("LEVEE_PUBLIC_URL", "levee.example.org"), ("LEVEE_PUBLIC_URL", "https://[::1"), ("LEVEE_PUBLIC_URL", "https://levee.example.org/x/../y"),
    ("LEVEE_DATABASE_URL", f"mysql://ann:{SECRET}@db/levee"), ("LEVEE_DATABASE_URL", f"postgresql://ann:{SECRET}@db"),
    ("LEVEE_DATABASE_URL", f"postgresql://ann:{SECRET}@[db/levee"), ("LEVEE_DATABASE_ADMIN_URL", f"postgresql://ann:{SECRET}@db:x/levee"),
    ("LEVEE_DATABASE_URL", f"postgresql://ann:{SECRET}@db:0/levee"), ("LEVEE_DATABASE_URL", f"postgresql://ann:{SECRET}@db:65536/levee"),
    ("LEVEE_REDIS_URL", f"amqp://:{SECRET}@queue"), ("LEVEE_REDIS_URL", "redis"), ("LEVEE_REDIS_URL", "redis://queue:x"),
    ("LEVEE_REDIS_URL", f"redis://:{SECRET}/1@queue:6379"), ("LEVEE_REDIS_URL", f"redis://:{SECRET}#1@queue:6379"),
    ("LEVEE_REDIS_URL", f"redis://:{SECRET}?1@queue:6379"), ("LEVEE_REDIS_URL", "redis://:12#34@queue:6379"),
    ("LEVEE_REDIS_URL", "redis://:12/34@queue:6379"), ("LEVEE_REDIS_URL", "redis://:12?34@queue:6379"),
    ("LEVEE_REDIS_URL", "redis://[::1"), ("LEVEE_REDIS_URL", "redis://queue:65536"), ("LEVEE_REDIS_URL", "redis://queue:6379/first"),
    ("LEVEE_REDIS_URL", "unix://"), ("LEVEE_REDIS_URL", "unix://[queue/redis.sock"),
    ("LEVEE_SPARK_MASTER", "http://cluster"), ("LEVEE_SPARK_MASTER", "spark://cluster"), ("LEVEE_SPARK_SECRET", SECRET),
    ("LEVEE_SPARK_MASTER", "localhost:7077"), ("LEVEE_SPARK_MASTER", "local["), ("LEVEE_SPARK_MASTER", "local[0]"),
    ("LEVEE_SPARK_MASTER", "yarn-client"), ("LEVEE_SPARK_MASTER", "k8s://"), ("LEVEE_SPARK_MASTER", "spark://cluster:65536"),
    ("LEVEE_SPARK_MASTER", "spark://a:7077,b..c:7077"), ("LEVEE_SPARK_DRIVER_HOST", "a..b"),
    ("LEVEE_SPARK_EXECUTOR_MEMORY", "2"), ("LEVEE_SPARK_EXECUTOR_CORES", "0"), ("LEVEE_SPARK_CORES_MAX", "all"),
    ("LEVEE_SPARK_DRIVER_HOST", "http://here"), ("LEVEE_SPARK_CONF", "/nowhere/spark.conf"), ("LEVEE_SPARK_CONF", "/"),
    ("LEVEE_METASTORE", "metastore:9083"), ("LEVEE_METASTORE", "thrift://metastore"), ("LEVEE_METASTORE", "thrift://a:9083,b:9083"),
    ("LEVEE_METASTORE", "THRIFT://a:9083"), ("LEVEE_METASTORE", "thrift://a..b:9083"), ("LEVEE_METASTORE", f"thrift://{'a' * 64}:9083"),
    ("LEVEE_METASTORE", "thrift://a:x"), ("LEVEE_METASTORE", "thrift://a:9083/shop"), ("LEVEE_METASTORE", "postgresql://db:5432/metastore"),
    ("LEVEE_METASTORE", f"postgresql://hive:{SECRET}@db:5432/metastore"), ("LEVEE_METASTORE_PASSWORD", f"{SECRET}\n"),
    ("LEVEE_SECRET_KEY", SECRET), ("LEVEE_CREDENTIALS_KEY", SECRET), ("LEVEE_METRICS_TOKEN", SECRET), ("LEVEE_METRICS_TOKEN", "x y" * 20),
    ("LEVEE_TIMING", "30"), ("LEVEE_TIMING", "{"), ("LEVEE_TIMING", '{"lease": -1}'), ("LEVEE_TIMING", '{"lease": true}'),
    ("LEVEE_TIMING", '{"lease": NaN}'), ("LEVEE_PROCESS", "../web"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), WRONG)
def test_a_wrong_one_is_named_in_one_line_that_tells_no_secret(name, text):
    with pytest.raises(SettingError, match=rf"\A{name}: [^\n]+\Z") as refused:
        Env.read({name: text})
    assert refused.value.setting == name
    assert SECRET not in str(refused.value)


def test_every_setting_that_can_be_wrong_was_tried():
    free = {"LEVEE_HOME", "LEVEE_AUDIT_HEADS", "LEVEE_UP_WITHOUT"}  # any directory, any names
    assert {name for name, _ in WRONG} == {setting.name for setting in SETTINGS} - free


def test_an_empty_one_is_unset_and_the_defaults_hold(tmp_path):
    empty = {setting.name: "" for setting in SETTINGS}
    assert set(read_all(empty).values()) == {None}
    env = Env.read({**empty, "LEVEE_HOME": str(tmp_path)})
    assert (env.home, env.port, env.audit_heads) == (tmp_path, 8000, tmp_path / "audit")
    assert (env.public_url, env.database_url, env.metrics_token) == (None, None, None)


def test_right_ones_are_taken(tmp_path):
    conf = tmp_path / "spark.conf"
    conf.write_text("")
    given = {
        "LEVEE_PORT": "8443", "LEVEE_PUBLIC_URL": "https://levee.example.org", "LEVEE_SPARK_CONF": str(conf),
        "LEVEE_DATABASE_URL": "postgresql://app:s%40e@db:5433/levee?sslmode=require", "LEVEE_REDIS_URL": "rediss://queue:6380/0",
        "LEVEE_SPARK_MASTER": "spark://cluster:7077", "LEVEE_METRICS_TOKEN": "t" * 32, "LEVEE_TIMING": '{"lease": 12.5}',
        "LEVEE_METASTORE": "thrift://one:9083,thrift://two:9083", "LEVEE_METASTORE_PASSWORD": "pä ss",
    }  # fmt: skip
    env = Env.read(given)
    assert (env.port, env.spark_conf, env.redis, env.spark_master) == (
        8443,
        conf,
        "rediss://queue:6380/0",
        "spark://cluster:7077",
    )
    assert (env.metastore, env.metastore_password) == ("thrift://one:9083,thrift://two:9083", "pä ss")
    database = env.database("levee_app")
    assert (database["USER"], database["PASSWORD"], database["HOST"], database["PORT"]) == ("app", "s@e", "db", "5433")
    assert database["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("LEVEE_SPARK_MASTER", text) for text in ("local", "local[2]", "local[*]", "local[*,3]", "local-cluster[2,1,1024]", "yarn",
            "k8s://https://cluster:6443", "spark://a:7077,b.c:7078")),
        *(("LEVEE_REDIS_URL", text) for text in ("redis://queue", "redis://:p%2Fw@queue:6379/", "rediss://ann:pw@[::1]:6380/1?ssl_cert_reqs=none",
            "unix:///run/redis.sock", "unix://ann:pw@/run/redis.sock?db=1")),
        *(("LEVEE_METASTORE", text) for text in ("thrift://[::1]:9083", "thrift://meta_store.example.org.:9083")),
    ],
)  # fmt: skip
def test_unusual_ones_that_work_are_taken_as_they_are(name, text):
    assert read_all({name: text})[name] == text


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("https://levee.example.org:443", "https://levee.example.org"),
        ("http://levee.example.org:0080/levee/", "http://levee.example.org/levee"),
        ("https://levee.example.org:08443", "https://levee.example.org:8443"),
        ("http://levee.example.org:443", "http://levee.example.org:443"),
    ],
)
def test_a_public_address_is_the_origin_that_browsers_name(given, address):
    """They leave the scheme's own port out of a form's Origin, which must be the same text."""
    assert Env.read({"LEVEE_PUBLIC_URL": given}).public_url == address


@pytest.mark.parametrize(
    ("name", "meant"),
    [("LEVEE_PROT", "LEVEE_PORT"), ("LEVEE_DATABSE_URL", "LEVEE_DATABASE_URL"), ("LEVEE_METRIC_TOKEN", "LEVEE_METRICS_TOKEN")],
)  # fmt: skip
def test_an_unknown_name_is_named_with_the_nearest_known_one(name, meant):
    assert unknown({name: "1", meant: "2"}) == [
        f"{name} is no setting of Levee's and has no effect; did you mean {meant}?"
    ]


def test_an_unknown_name_like_no_other_is_named_alone_and_the_tests_own_are_not():
    given = {"LEVEE_QUUX": "1", "LEVEE_SOAK_SIZE": "full", "LEVEE_TEST_HOST": "x", "PATH": "/bin", "LEVEE_PORT": "80"}
    assert unknown(given) == ["LEVEE_QUUX is no setting of Levee's and has no effect."]


def command(**settings):
    """A command on the machine, as a person types it; it needs no server."""
    return subprocess.run(
        [sys.executable, "manage.py", "help", "up"], cwd=PROJECT, capture_output=True, text=True,
        env={**os.environ, **settings},
    )  # fmt: skip


def test_a_command_warns_of_an_unknown_name_and_works():
    done = command(LEVEE_PROT="80")
    assert (done.returncode, done.stderr) == (
        0,
        "LEVEE_PROT is no setting of Levee's and has no effect; did you mean LEVEE_PORT?\n",
    )


def test_a_command_refuses_a_wrong_one_in_one_line():
    done = command(LEVEE_PORT="80 80")
    assert (done.returncode, done.stderr) == (1, "Levee can't start. LEVEE_PORT: '80 80' is no port (1 to 65535)\n")
