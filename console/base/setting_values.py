"""What the text of a setting may be. Each reader takes the setting's name and text, and gives its value or raises SettingError."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")  # lower case, as browsers send it
TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{32,}")
PROCESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
DEFAULT_PORTS = {"http": 80, "https": 443}
SPARK_MASTERS = ("local", "spark://", "yarn", "k8s://")
STANDALONE = re.compile(r"spark://[A-Za-z0-9.-]+:[0-9]{1,5}(,[A-Za-z0-9.-]+:[0-9]{1,5})*")
# As Spark reads them: what it can't read ends each worker with Spark as often as it is started.
LOCAL = re.compile(r"local(\[([1-9][0-9]*|\*)(,[1-9][0-9]*)?\]|-cluster\[ *[0-9]+ *, *[0-9]+ *, *[0-9]+ *\])?")
BROKERS = ("redis://", "rediss://", "unix://")
LABELS = re.compile(r"[^\s.]{1,63}(\.[^\s.]{1,63})*\.?")  # of a host name; one beyond them can't even be looked up
SHORTEST_KEY = 32
PREFIX = re.compile(r"(/[A-Za-z0-9_][A-Za-z0-9._~-]*)+")  # of an address, as no browser rewrites it
# The first parts of Levee's own addresses: below a prefix of that name nobody could tell whether a proxy has taken it off.
OWN_PATHS = frozenset(
    {
        *(
            "account",
            "api",
            "approvals",
            "audit",
            "banners",
            "confirm",
            "convert",
            "find",
            "first-sign-in",
            "health",
            "help",
            "home",
            "jobs",
            "keys",
            "metrics",
            "notices",
        ),
        *(
            "people",
            "policies",
            "reads",
            "roots",
            "schedules",
            "sign-in",
            "sign-out",
            "static",
            "streams",
            "tables",
            "workers",
        ),
    }
)


class SettingError(Exception):
    """A setting that can't be used; the message begins with its name."""

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting


def directory(_setting: str, text: str) -> Path:
    return Path(text).absolute()


def port(setting: str, text: str) -> int:
    # ASCII alone: int() reads digits of every script, and isdigit() takes some that it doesn't.
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise SettingError(setting, f"{text!r} is no port (1 to 65535)")
    return int(text)


def public_address(setting: str, text: str) -> str:
    """Scheme, host, port and perhaps a path of the address that people type, without a slash at its end.

    Browsers leave the scheme's own port out of what they send, and so does the value: forms are accepted from that very origin.
    """
    address = text.removesuffix("/")
    try:
        parts = urlsplit(address)
        whole = parts.scheme in {"http", "https"} and address == f"{parts.scheme}://{parts.netloc}{parts.path}"
        named = whole and parts.hostname and parts.port != 0 and HOST.fullmatch(parts.netloc)
    except ValueError:
        named = None
    if not named or (parts.path and not PREFIX.fullmatch(parts.path)):
        raise SettingError(
            setting, f"{text!r} is no address such as https://levee.example.org or https://example.org/levee"
        )
    if (first := parts.path.partition("/")[2].partition("/")[0]) in OWN_PATHS:
        raise SettingError(setting, f"Levee has addresses below /{first} itself; choose another path, such as /levee")
    own_port = parts.port in (None, DEFAULT_PORTS[parts.scheme])
    return f"{parts.scheme}://{parts.hostname}{'' if own_port else f':{parts.port}'}{parts.path}"


def postgresql(setting: str, text: str) -> str:
    connection(setting, text)
    return text


def connection(setting: str, url: str) -> dict[str, Any]:
    """Django's settings for the connection that the address names."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise SettingError(setting, "is no address such as postgresql://USER:PASSWORD@HOST:PORT/NAME") from None
    if parts.scheme not in {"postgresql", "postgres"}:
        raise SettingError(setting, "must begin with postgresql://; PostgreSQL is the only database engine")
    name = unquote(parts.path.removeprefix("/"))
    if not name or not parts.username:
        raise SettingError(setting, "needs a user and a database name: postgresql://USER:PASSWORD@HOST:PORT/NAME")
    options = dict(parse_qsl(parts.query))
    try:
        number = "" if parts.port is None else str(parts.port)
    except ValueError:
        number = "0"
    if number == "0":
        raise SettingError(setting, "its port isn't a number from 1 to 65535")
    return {
        "NAME": name,
        "USER": unquote(parts.username),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": number,
        "OPTIONS": options,
    }


def redis_address(setting: str, text: str) -> str:
    if not text.startswith(BROKERS):
        raise SettingError(setting, "must begin with redis://, rediss:// or unix://")
    if not _is_whole(text):
        raise SettingError(
            setting,
            "is no address such as redis://:PASSWORD@HOST:PORT/0 or unix:///PATH; in a password, / is %2F, # is %23 and ? is %3F",
        )
    return text


def _is_whole(text: str) -> bool:
    """False for a password with a character that ends it: a part of it would be taken, and told, as the port."""
    try:
        parts = urlsplit(text)
        has_port = parts.port is None or parts.port > 0
    except ValueError:
        return False
    if parts.scheme == "unix":
        return len(parts.path) > 1
    is_cut = "#" in text or "@" in parts.query
    return has_port and not is_cut and re.fullmatch("(/[0-9]*)?", parts.path) is not None


def spark_master(setting: str, text: str) -> str:
    if not text.startswith(SPARK_MASTERS):
        raise SettingError(setting, f"{text!r} is no master ({', '.join(SPARK_MASTERS)})")
    if text.startswith("spark://"):
        if not STANDALONE.fullmatch(text) or not all(map(_is_reachable, text.removeprefix("spark://").split(","))):
            raise SettingError(setting, f"{text!r} is no address such as spark://HOST:PORT")
    elif not (LOCAL.fullmatch(text) or text == "yarn" or re.fullmatch(r"k8s://\S+", text)):
        raise SettingError(setting, f"{text!r} is no master such as local[2], spark://HOST:PORT, yarn or k8s://…")
    return text


def _is_reachable(address: str) -> bool:
    """Whether `HOST:PORT` can be connected to, by its text."""
    name, _, number = address.rpartition(":")
    return LABELS.fullmatch(name) is not None and 0 < int(number) < 65536


def memory(setting: str, text: str) -> str:
    if not re.fullmatch("[1-9][0-9]{0,6}[mg]", text):
        raise SettingError(setting, f"{text!r} is no size such as 512m or 2g")
    return text


def count(setting: str, text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,3}", text):
        raise SettingError(setting, f"{text!r} is no number from 1 to 9999")
    return int(text)


def host(setting: str, text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?", text) or not LABELS.fullmatch(text):
        raise SettingError(setting, f"{text!r} is no host name and no IPv4 address")
    return text


METASTORES = "thrift://HOST:PORT or postgresql://USER@HOST:PORT/NAME"


def metastore(setting: str, text: str) -> str:
    """Where a Hive metastore answers: its service, several of them with commas between, or the PostgreSQL that holds its tables."""
    for address in text.split(",") if text.startswith("thrift://") else [text]:
        _metastore(setting, address)
    return text


def _metastore(setting: str, address: str) -> None:
    try:
        parts = urlsplit(address)
        number = parts.port
    except ValueError:
        raise SettingError(setting, f"is no address such as {METASTORES}") from None
    if (
        not address.startswith(("thrift://", "postgresql://"))
        or not parts.hostname
        or not number
        or parts.query
        or parts.fragment
    ):
        raise SettingError(setting, f"must be {METASTORES}")
    if ":" not in parts.hostname and not LABELS.fullmatch(parts.hostname):
        raise SettingError(setting, f"{parts.hostname!r} is no host name")
    if parts.password is not None:
        raise SettingError(setting, "must not hold the password; set LEVEE_METASTORE_PASSWORD")
    if parts.scheme == "thrift" and (parts.path or parts.username):
        raise SettingError(setting, f"{address!r} must be thrift://HOST:PORT and no more")
    if parts.scheme == "postgresql" and not (parts.username and re.fullmatch(r"/[^/]+", parts.path)):
        raise SettingError(setting, "needs a user and a database name: postgresql://USER@HOST:PORT/NAME")


def line(setting: str, text: str) -> str:
    if not text.isprintable():
        raise SettingError(setting, "must be one line of printable characters")
    return text


def file(setting: str, text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise SettingError(setting, f"{text} is no file")
    return path


def secret_key(setting: str, text: str) -> str:
    if len(text) < SHORTEST_KEY:
        raise SettingError(setting, f"must have at least {SHORTEST_KEY} characters")
    return text


def bearer_token(setting: str, text: str) -> str:
    """A secret that isn't guessed, as an HTTP header can hold it."""
    if not TOKEN.fullmatch(text):
        raise SettingError(setting, "must be at least 32 letters, digits or any of -._~+/=")
    return text


def seconds_by_name(setting: str, text: str) -> dict[str, float]:
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise SettingError(setting, "must be a JSON object of seconds")
    wrong = [name for name, value in given.items() if not _is_positive(value)]
    if wrong:
        raise SettingError(setting, f"{', '.join(wrong)}: no positive number")
    return given


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")


def process_name(setting: str, text: str) -> str:
    if not PROCESS.fullmatch(text):
        raise SettingError(setting, f"{text!r} is no name for a log file (letters, digits, -._)")
    return text


def names(_setting: str, text: str) -> list[str]:
    return text.split(",")
