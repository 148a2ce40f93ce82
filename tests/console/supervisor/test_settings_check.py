"""Wrong settings are named, one line each, before anything starts."""

import socket
import threading

import pytest

from console.base.env import Env, SettingError
from console.supervisor.errors import StartRefused
from console.supervisor.settings_check import bind_port, check_settings, check_spark
from tests.console.running import free_port

DATABASE = "postgresql://levee_app:secret@db/levee"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LEVEE_PORT", "80 80"),
        ("LEVEE_PORT", "70000"),
        ("LEVEE_SPARK_MASTER", "http://cluster"),
        ("LEVEE_SPARK_CONF", "/nowhere/spark.conf"),
        ("LEVEE_REDIS_URL", "amqp://queue"),
        ("LEVEE_SECRET_KEY", "short"),
        ("LEVEE_PUBLIC_URL", "levee.example.org"),
        ("LEVEE_PUBLIC_URL", "ftp://levee.example.org"),
        ("LEVEE_PUBLIC_URL", "https://"),
        ("LEVEE_PUBLIC_URL", "https://levee.example.org/tables"),
        ("LEVEE_PUBLIC_URL", "https://levee.example.org//"),
        ("LEVEE_PUBLIC_URL", "https://u:p@levee.example.org"),
        ("LEVEE_PUBLIC_URL", "https://levee.example.org:99999"),
        ("LEVEE_PUBLIC_URL", "https://*.example.org"),
        ("LEVEE_AUDIT_HEADS", "/proc/nowhere"),
    ],
)
def test_it_names_a_setting_that_cannot_work(name, value):
    with pytest.raises((StartRefused, SettingError), match=f"^{name}: [^\n]+$"):
        check_settings(Env.read({name: value}))


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ("LEVEE_DATABASE_URL", "LEVEE_DATABASE_ADMIN_URL"),
        ("LEVEE_DATABASE_ADMIN_URL", "LEVEE_DATABASE_URL"),
    ],
)
def test_it_asks_for_the_other_address_of_the_database(given, missing):
    with pytest.raises(StartRefused, match=f"^{missing}: is missing"):
        check_settings(Env.read({given: DATABASE}))


def test_it_names_the_line_of_a_wrong_spark_file(tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text("# sizes\nspark.executor.memory 1g\n\nexecutor.cores 2\n")
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_CONF: .*line 4"):
        check_settings(Env.read({"LEVEE_SPARK_CONF": str(file)}))
    file.write_text("spark.executor.memory 1g\n")
    check_settings(Env.read({"LEVEE_SPARK_CONF": str(file), "LEVEE_SPARK_MASTER": "local[2]"}))


def test_what_no_worker_with_spark_would_start_with_is_refused_before_one_does(tmp_path):
    file = tmp_path / "spark.conf"
    file.write_text("spark.ui.enabled=true\n")
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_CONF: spark\.ui\.enabled stays 'false': [^\n]+$"):
        check_spark(Env.read({"LEVEE_SPARK_CONF": str(file)}))
    cluster = {"LEVEE_SPARK_MASTER": "spark://cluster:7077"}
    with pytest.raises(StartRefused, match=r"^LEVEE_SPARK_SECRET: is missing [^\n]+$"):
        check_spark(Env.read(cluster))
    file.write_text(f"spark.authenticate.secret {'s' * 32}\nspark.ui.enabled false\n")
    for given in ({"LEVEE_SPARK_SECRET": "s" * 32}, {"LEVEE_SPARK_CONF": str(file)}):
        check_spark(Env.read({**cluster, **given}))
    check_spark(Env.read({}))


def test_a_taken_port_is_refused_and_a_free_one_held():
    port = free_port()
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        with pytest.raises(StartRefused, match=rf"^LEVEE_PORT: {port} can't be used on 127\.0\.0\.1"):
            bind_port(port)
    with bind_port(port), pytest.raises(StartRefused, match=r"^LEVEE_PORT"):
        bind_port(port)


def test_a_port_that_a_killed_process_still_holds_is_waited_for():
    held = bind_port(0)
    port = held.getsockname()[1]
    threading.Timer(0.3, held.close).start()
    bind_port(port, patience=60).close()
