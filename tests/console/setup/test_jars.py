"""Delta's jars come whole and with the pinned bytes, or not at all."""

import hashlib
from pathlib import Path

import pytest

from console.setup import jars
from console.setup.cli import PURPOSES, parts_for
from console.setup.jars import HadoopJars, Jar, Jars
from console.setup.places import HERE, Places
from console.setup.troubles import CannotInstall, CommandFailed

BYTES = b"a jar"
ONE = Jar("io.delta", "delta-storage", "4.4.0", hashlib.sha256(BYTES).hexdigest())


@pytest.fixture
def places(tmp_path, monkeypatch) -> Places:
    """A clone whose pyspark has an Ivy and that wants one jar."""
    ivy = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages" / "pyspark" / "jars" / "ivy-2.5.3.jar"
    ivy.parent.mkdir(parents=True)
    ivy.touch()
    (tmp_path / "jars.txt").write_text(f"# comment\n{ONE.group} {ONE.artifact} {ONE.version} {ONE.sha256}\n")
    monkeypatch.setattr(jars, "pinned", lambda _listing: [ONE])
    monkeypatch.setattr(jars, "LIST", tmp_path / "jars.txt")
    return Places(tmp_path)


def delivering(monkeypatch, content: bytes) -> list[list[str]]:
    """Ivy brings `content`; the commands it was run with."""
    commands: list[list[str]] = []

    def run(command: list[str], log: Path) -> None:
        commands.append(command)
        pattern = command[command.index("-retrieve") + 1]
        Path(pattern.replace("[artifact]-[revision](-[classifier]).[ext]", ONE.file)).write_bytes(content)

    monkeypatch.setattr(jars, "run", run)
    return commands


def test_a_jar_of_a_classifier_is_asked_for_and_named_by_it():
    shaded = Jar("com.google", "connector", "2.2", "-", "shaded")
    assert shaded.file == "connector-2.2-shaded.jar"
    assert '<artifact name="connector" type="jar" m:classifier="shaded"/>' in shaded.dependency()
    assert "<artifact" not in ONE.dependency()


def test_the_right_bytes_are_kept(places, monkeypatch):
    delivering(monkeypatch, BYTES)
    Jars(places).install()
    assert Jars(places).ready()
    assert (places.jars / ONE.file).read_bytes() == BYTES


def test_other_bytes_are_refused_and_the_old_jars_stay(places, monkeypatch):
    places.jars.mkdir(parents=True)
    (places.jars / "old.jar").touch()
    delivering(monkeypatch, b"another jar")
    with pytest.raises(CannotInstall, match=r"delta-storage-4\.4\.0\.jar did not arrive with the pinned bytes"):
        Jars(places).install()
    assert not Jars(places).ready()
    assert [file.name for file in places.jars.iterdir()] == ["old.jar"]


def test_jars_that_are_already_right_are_not_fetched_again(places, monkeypatch):
    places.jars.mkdir(parents=True)
    (places.jars / ONE.file).write_bytes(BYTES)
    commands = delivering(monkeypatch, BYTES)
    Jars(places).install()
    assert commands == []


def test_a_missing_jar_is_noticed_despite_the_stamp(places, monkeypatch):
    delivering(monkeypatch, BYTES)
    Jars(places).install()
    (places.jars / ONE.file).unlink()
    assert not Jars(places).ready()


def test_a_fetch_that_was_cut_off_is_repaired_by_the_next(places, monkeypatch):
    def cut_off(command: list[str], log: Path) -> None:
        raise CommandFailed(command, 1, log, "Connection reset")

    monkeypatch.setattr(jars, "run", cut_off)
    with pytest.raises(CommandFailed):
        Jars(places).install()
    delivering(monkeypatch, BYTES)
    Jars(places).install()
    assert Jars(places).ready()


def test_the_list_names_the_jars_in_the_versions_of_the_locks():
    listed = jars.pinned(HERE.root / "console" / "setup" / "jars.txt")
    lock = (HERE.requirements / "spark.txt").read_text()
    assert len({jar.file for jar in listed}) == len(listed)
    delta = {jar.version for jar in listed if jar.group == "io.delta"}
    assert [f"delta-spark=={version} " in lock for version in delta] == [True]


def test_hadoop_s_part_for_s3_has_the_version_of_spark_s_hadoop():
    listed = jars.pinned(HERE.root / "console" / "setup" / "jars.txt")
    (aws,) = [jar for jar in listed if jar.artifact == "hadoop-aws"]
    assert list(HERE.venv.glob(f"lib/python3*/site-packages/pyspark/jars/hadoop-client-api-{aws.version}.jar"))
    assert len({jar.version for jar in listed if jar.group == "software.amazon.awssdk"}) == 1


def test_the_tests_hadoop_has_the_version_of_spark_s_and_lies_where_spark_doesn_t_look():
    (cluster,) = [jar for jar in jars.pinned(jars.TEST_LIST) if jar.group == "org.apache.hadoop"]
    assert list(HERE.venv.glob(f"lib/python3*/site-packages/pyspark/jars/hadoop-client-api-{cluster.version}.jar"))
    assert HadoopJars(HERE).directory != Jars(HERE).directory
    for purpose in PURPOSES:
        parts = [type(part) for part in parts_for(purpose, HERE)]
        assert (HadoopJars in parts) == (purpose in ("test", "test-all"))


def test_the_fetched_jars_of_this_clone_have_the_pinned_bytes():
    for part in (Jars(HERE), HadoopJars(HERE)):
        assert jars.wrong(part.directory, jars.pinned(part.listing)) == []
