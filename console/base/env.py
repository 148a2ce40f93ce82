"""Levee's environment, read once: the home, the servers' addresses, the port. Wrong values are named, never guessed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")  # lower case, as browsers send it
BASE_DIR = Path(__file__).resolve().parents[2]


class SettingError(Exception):
    """A setting that can't be used; the message begins with its name."""

    def __init__(self, setting: str, problem: str) -> None:
        super().__init__(f"{setting}: {problem}")
        self.setting = setting


@dataclass(frozen=True)
class Env:
    """The settings of one instance. Without URLs, the embedded servers' sockets come from `<home>/home.json`."""

    home: Path
    port: int
    public_url: str | None  # scheme and host, as browsers see them
    database_url: str | None
    database_admin_url: str | None
    redis_url: str | None
    spark_master: str | None
    spark_conf: Path | None
    secret_key_text: str | None
    audit_heads: Path  # the directory outside the database that signed heads are written to

    @classmethod
    def read(cls, values: Mapping[str, str] = os.environ) -> Env:
        """The environment's values. Raises SettingError."""
        conf = values.get("LEVEE_SPARK_CONF")
        home = Path(values.get("LEVEE_HOME") or BASE_DIR / ".levee").absolute()
        return cls(
            home=home,
            port=_port(values.get("LEVEE_PORT") or "8000"),
            public_url=_public(values.get("LEVEE_PUBLIC_URL") or ""),
            database_url=values.get("LEVEE_DATABASE_URL") or None,
            database_admin_url=values.get("LEVEE_DATABASE_ADMIN_URL") or None,
            redis_url=values.get("LEVEE_REDIS_URL") or None,
            spark_master=values.get("LEVEE_SPARK_MASTER") or None,
            spark_conf=_file("LEVEE_SPARK_CONF", conf) if conf else None,
            secret_key_text=values.get("LEVEE_SECRET_KEY") or None,
            audit_heads=Path(values.get("LEVEE_AUDIT_HEADS") or home / "audit").absolute(),
        )

    @cached_property
    def embedded(self) -> Mapping[str, Any]:
        """What `manage.py up` recorded in the home; empty before the first start."""
        try:
            recorded = json.loads((self.home / "home.json").read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise SettingError("LEVEE_HOME", f"{self.home / 'home.json'} can't be read: {error}") from None
        if not isinstance(recorded, dict):
            raise SettingError("LEVEE_HOME", f"{self.home / 'home.json'} holds no object")
        return recorded

    def database(self, role: str) -> dict[str, Any]:
        """Django's settings for the connection of `role` (`levee_app` or `levee_migrate`). Raises SettingError."""
        setting = "LEVEE_DATABASE_URL" if role == "levee_app" else "LEVEE_DATABASE_ADMIN_URL"
        url = self.database_url if role == "levee_app" else self.database_admin_url
        if url is not None:
            return _postgresql(setting, url)
        return {"NAME": "levee", "USER": role, "HOST": self.embedded.get("pg_socket_dir", "/nonexistent"), "PORT": ""}

    @property
    def hosts(self) -> list[str]:
        """The names that requests may come by: the public one, and this machine's own, which probes use."""
        public = urlsplit(self.public_url or "").hostname
        return ["127.0.0.1", "localhost", "[::1]", *([public] if public else [])]

    @property
    def is_https(self) -> bool:
        """Whether browsers speak TLS, to a proxy in front."""
        return (self.public_url or "").startswith("https://")

    @property
    def redis(self) -> str:
        """Redis's address as Celery's broker and redis-py both take it."""
        if self.redis_url is not None:
            if urlsplit(self.redis_url).scheme not in {"redis", "rediss", "unix"}:
                raise SettingError("LEVEE_REDIS_URL", "must begin with redis://, rediss:// or unix://")
            return self.redis_url
        return f"unix://{self.embedded.get('redis_socket', '/nonexistent')}"

    @property
    def broker(self) -> str:
        """The same address in kombu's spelling."""
        if self.redis.startswith("unix://"):
            return "redis+socket://" + self.redis.removeprefix("unix://").split("?")[0] + "?virtual_host=0"
        return self.redis

    @property
    def secret_key(self) -> str:
        """LEVEE_SECRET_KEY, else the home's own. Before the first start a key that protects nothing yet."""
        if self.secret_key_text is not None:
            if len(self.secret_key_text) < 32:
                raise SettingError("LEVEE_SECRET_KEY", "must have at least 32 characters")
            return self.secret_key_text
        try:
            return (self.home / "secret_key").read_text().strip()
        except OSError:
            return os.urandom(32).hex()


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise SettingError("LEVEE_PORT", f"{text!r} is no port (1 to 65535)")
    return int(text)


def _public(text: str) -> str | None:
    """Scheme, host and port of the address that people type. A path isn't served: Levee's links begin at the root."""
    parts = urlsplit(text)
    try:
        whole = parts.scheme in {"http", "https"} and parts.hostname and text == f"{parts.scheme}://{parts.netloc}"
        named = whole and parts.port != 0 and HOST.fullmatch(parts.netloc)
    except ValueError:
        named = None
    if text and not named:
        raise SettingError("LEVEE_PUBLIC_URL", f"{text!r} is no address such as https://levee.example.org")
    return text or None


def _file(setting: str, text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise SettingError(setting, f"{text} is no file")
    return path


def _postgresql(setting: str, url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise SettingError(setting, "must begin with postgresql://; PostgreSQL is the only database engine")
    name = unquote(parts.path.removeprefix("/"))
    if not name or not parts.username:
        raise SettingError(setting, "needs a user and a database name: postgresql://USER:PASSWORD@HOST:PORT/NAME")
    options = dict(parse_qsl(parts.query))
    try:
        port = str(parts.port or "")
    except ValueError:
        raise SettingError(setting, "its port isn't a number") from None
    return {
        "NAME": name,
        "USER": unquote(parts.username),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", unquote(parts.hostname or "")),
        "PORT": port,
        "OPTIONS": options,
    }
