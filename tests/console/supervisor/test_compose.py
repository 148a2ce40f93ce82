"""docker-compose.yml and the Dockerfile keep what they promise, read as files; tests/containers/bring_up.py brings them up."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from console.base import known_settings
from console.base.env import Env
from console.setup.compose_secrets import NAMES, main
from console.supervisor import cluster, serve, spark_daemons
from console.supervisor.command_lines import WITH_A_JVM
from console.supervisor.object_store import BUCKET
from console.supervisor.programs import WorkerProbe, part_programs

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docker-compose.yml").read_text()
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PARTS = {name: service for name, service in SERVICES.items() if name not in cluster.SERVERS}
DAEMONS = {name for name, service in PARTS.items() if service["command"][1] in spark_daemons.DAEMONS}
LEVEES = {name: service for name, service in PARTS.items() if name not in DAEMONS}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
STAGES: dict[str, str] = dict(re.findall(r"^FROM \S+ AS (\w[\w-]*)\n(.*?)(?=^FROM |\Z)", DOCKERFILE, re.M | re.S))
METRICS = "LEVEE_METRICS_TOKEN"
each_service = pytest.mark.parametrize("name", SERVICES)


def lines_of(stage: str) -> str:
    """What the image of a stage is made by, the stages below it included."""
    below = next((base for base, name in re.findall(r"^FROM (\S+) AS (\S+)", DOCKERFILE, re.M) if name == stage), "")
    return STAGES[stage] + (lines_of(below) if below in STAGES else "")


def test_each_part_of_up_is_a_service_of_the_same_command(levee_home):
    """Beside them are Spark's own processes and a second worker, which `up` has no use for."""
    under_up = {part.name: part.command for part in part_programs(levee_home, Path("/java"), WorkerProbe({}))}
    assert set(PARTS) - {"spark-2", *DAEMONS} == {"prepare", "web", *under_up}
    for name, command in under_up.items():
        assert PARTS[name]["command"][:2] == ["serve", name]
        assert serve.command_line(name, "", sample=True) == command


def test_every_setting_is_one_that_levee_knows():
    known = set(known_settings.NAMES)
    given = {name for service in PARTS.values() for name in service["environment"]}
    assert "LEVEE_DATABASE_URL" in given
    assert given <= known


def test_no_secret_has_a_value_or_a_default():
    """Each comes from .env, where `make compose-secrets` writes it; without it, nothing starts."""
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|CREDENTIALS")
    named = {match for match in re.findall(r"\$\{(\w+)", TEXT) if secret.search(match)}
    assert named == {*NAMES, METRICS}
    assert f"${{{METRICS}:-}}" in TEXT, "the one that may be missing"
    assert len(re.findall(r"\$\{\w*(?:PASSWORD|SECRET|CREDENTIALS)\w*:\?[^}]+\}", TEXT)) == sum(
        TEXT.count(f"${{{n}") for n in NAMES
    )
    for service in SERVICES.values():
        for name, value in service["environment"].items():
            without = re.sub(r"\$\{\w+:(?:\?[^}]+|-)\}", "", str(value))
            assert not secret.search(name) or without == "", name
            assert not re.search(r"//[^/@]*:[^/@]+@", without), name


def test_every_part_is_built_here_and_never_pulled():
    """A service without its own build would be asked for at the registry of images first."""
    for service in (*PARTS.values(), SERVICES["store"]):
        assert service["build"] == {"context": ".", "target": service["image"].removeprefix("levee-")}


@each_service
def test_a_service_has_no_more_rights_than_it_needs(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert not {"cap_add", "privileged", "pid", "network_mode", "devices"} & service.keys()


@each_service
def test_a_service_comes_back_and_says_whether_it_works(name):
    service = SERVICES[name]
    if name == "prepare":
        assert service["restart"] == "on-failure"
        return
    assert service["restart"] == "unless-stopped"
    assert service["healthcheck"]["test"]
    if name in PARTS:
        kind = service["command"][1]
        assert service["healthcheck"]["test"] == ["CMD", "python", "-m", "console.supervisor.alive", kind]


def test_no_service_is_root():
    assert {SERVICES[name]["user"] for name in ("postgres", "redis")} == {"postgres", "redis"}
    assert all("user" not in service for service in (*PARTS.values(), SERVICES["store"]))
    assert re.findall(r"^USER (\S+)$", STAGES["store"], re.M) == ["10001:10001"]
    for stage in ("web", "spark"):
        assert re.findall(r"^USER (\S+)$", lines_of(stage), re.M) == ["levee"]


def test_each_worker_has_a_name_of_its_own_that_lasts():
    """By host names, workers and their jobs are told apart; a container's own changes whenever it is made anew."""
    assert {name: service["hostname"] for name, service in PARTS.items()} == {name: name for name in PARTS}


def test_only_the_web_is_reachable_and_only_from_this_machine():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"web"}
    assert [port.split(":")[0] for port in SERVICES["web"]["ports"]] == ["127.0.0.1"]
    assert [name for name, service in SERVICES.items() if service["networks"] != ["inside"]] == ["web"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}


def test_only_the_web_knows_who_may_scrape_it():
    assert {name for name, service in SERVICES.items() if METRICS in service["environment"]} == {"web"}
    assert Env.read({METRICS: ""}).metrics_token is None


def test_the_web_s_port_is_one_inside_and_outside():
    """The cookies of instances on one machine are told apart by it."""
    port = "${LEVEE_PORT:-8000}"
    assert {service["environment"]["LEVEE_PORT"] for service in LEVEES.values()} == {port}
    assert SERVICES["web"]["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert SERVICES["web"]["command"][-1] == f"0.0.0.0:{port}"


def test_postgres_is_healthy_once_levee_can_sign_in_by_password():
    (_, check) = SERVICES["postgres"]["healthcheck"]["test"]
    for words in ("PGPASSWORD=$$LEVEE_DB_APP_PASSWORD", "-U levee_app", "-h $$(hostname)"):
        assert words in check


def test_what_comes_from_a_checkout_can_be_read_whatever_its_modes():
    for stage in ("pages", "code"):
        assert re.search(r"chmod -R u=rwX,go=rX [^&\n]+\s*\Z", STAGES[stage])


def test_only_prepare_knows_the_role_that_migrates():
    knowing = {name for name, service in SERVICES.items() if "MIGRATE" in str(service["environment"])}
    assert knowing == {"prepare", "postgres"}


def test_all_parts_share_the_home_and_those_that_write_to_the_lake_may():
    assert all("home:/var/lib/levee" in service["volumes"] for service in LEVEES.values())
    lake = {name: [v for v in service["volumes"] if v.startswith("lake:")] for name, service in SERVICES.items()}
    writers = {name for name, volumes in lake.items() if volumes == ["lake:/lake"]}
    assert writers == {"web", "dispatcher", "interactive", "spark", "spark-2", "streams", *DAEMONS}
    assert {name: volumes for name, volumes in lake.items() if volumes and name not in writers} == {
        "light": ["lake:/lake:ro"]
    }
    on_spark = {name for name, service in PARTS.items() if service["image"] == "levee-spark"}
    assert on_spark == {*WITH_A_JVM, "spark-2", *DAEMONS}


def test_executors_find_the_lake_and_nothing_of_levee_s_own():
    """They run as the cluster's processes: with Levee's home or its database they could act in its name."""
    for name in DAEMONS:
        assert PARTS[name]["volumes"] == ["lake:/lake", "/var/lib/levee"]
        assert PARTS[name]["environment"].keys() <= {"LEVEE_SPARK_SECRET", "LEVEE_SPARK_MASTER"}


def test_each_driver_is_reached_by_its_host_name_and_takes_a_part_of_the_cluster():
    drivers = {name: service["environment"] for name, service in LEVEES.items() if service["image"] == "levee-spark"}
    assert {name: given["LEVEE_SPARK_DRIVER_HOST"] for name, given in drivers.items()} == {n: n for n in drivers}
    master = PARTS["spark-master"]["command"]
    assert {given["LEVEE_SPARK_MASTER"] for given in drivers.values()} == {
        f"spark://{master[master.index('--bind') + 1]}"
    }
    offered = sum(int(part.words[part.words.index("--cores") + 1]) for part in cluster.PARTS if "--cores" in part.words)
    taken = sum(int(given["LEVEE_SPARK_CORES_MAX"].partition(":-")[2].rstrip("}")) for given in drivers.values())
    assert taken <= offered, "a driver would wait for executors that never come"
    assert taken == sum(map(int, cluster.CORES_MAX.values()))


def test_redis_keeps_every_message_it_can():
    (_, _, script) = SERVICES["redis"]["command"]
    for words in ("--appendonly yes", "--appendfsync everysec", "--maxmemory-policy noeviction", "requirepass"):
        assert words in script


def test_the_store_has_the_bucket_of_make_cluster_and_its_check_asks_the_store():
    store = SERVICES["store"]
    (script,) = store["command"]
    assert script.startswith(f"mkdir -p /data/{BUCKET} && exec ")
    assert store["volumes"] == ["store:/data"], "the bucket is there until the volume goes"
    port, path = re.findall(r"--port :(\d+) --health (\S+) posix /data$", script)[0]
    assert store["healthcheck"]["test"][-1] == f"http://127.0.0.1:{port}{path}"
    assert store["environment"]["ROOT_SECRET_ACCESS_KEY"].startswith("${LEVEE_STORE_SECRET:?")


def test_only_the_store_knows_its_secret():
    """People enter it with the root; from then on it is encrypted in the database."""
    assert {name for name, service in SERVICES.items() if "LEVEE_STORE_SECRET" in str(service)} == {"store"}


def test_the_web_image_has_neither_java_nor_spark():
    assert not re.search(r"java|jdk|jre|spark", lines_of("web"), re.I)
    copied = set(re.findall(r"--from=(\S+)", lines_of("web")))
    assert copied == {"packages", "pages", "code"}
    for stage in copied:
        assert not re.search(r"java|jdk|jre|spark", lines_of(stage), re.I), stage


def test_what_the_images_are_built_from_is_named_and_holds_no_secret():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert ignored[1] == "*", "everything that isn't named stays out"
    copied = {
        word.split("/")[0]
        for words in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.M)
        for word in words.split()
    }
    assert {line[1:] for line in ignored if line.startswith("!")} == copied


def test_the_secrets_are_random_and_for_their_owner_alone(tmp_path, capsys):
    assert main(tmp_path) == 0
    file = tmp_path / ".env"
    values = dict(line.split("=") for line in file.read_text().splitlines())
    assert set(values) == set(NAMES)
    assert len(set(values.values())) == len(NAMES)
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in values.values())
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_text()
    assert main(tmp_path) == 0
    assert file.read_text() == before, "volumes hold data under them"
    assert not any(value in "".join(capsys.readouterr()) for value in values.values())


def test_a_secret_that_a_newer_composition_wants_is_added_to_those_that_are_there(tmp_path, capsys):
    file = tmp_path / ".env"
    file.write_text("LEVEE_PORT=8100\nLEVEE_SECRET_KEY=mine\n# LEVEE_REDIS_PASSWORD=no\nLEVEE_PUBLIC_URL=")
    assert main(tmp_path) == 0
    lines = file.read_text().splitlines()
    assert lines[:4] == ["LEVEE_PORT=8100", "LEVEE_SECRET_KEY=mine", "# LEVEE_REDIS_PASSWORD=no", "LEVEE_PUBLIC_URL="]
    assert [line.split("=")[0] for line in lines[4:]] == [name for name in NAMES if name != "LEVEE_SECRET_KEY"]
    assert "LEVEE_SECRET_KEY" not in capsys.readouterr().out


def test_a_secret_without_a_value_is_yours_to_settle(tmp_path, capsys):
    """The volumes may know one under that name; a new one would lock them."""
    file = tmp_path / ".env"
    file.write_text("LEVEE_DB_APP_PASSWORD=\n")
    assert main(tmp_path) == 1
    assert file.read_text() == "LEVEE_DB_APP_PASSWORD=\n"
    assert "LEVEE_DB_APP_PASSWORD has no value" in capsys.readouterr().err
