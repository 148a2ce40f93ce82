"""Levee's environment, read once: the home, the servers' addresses, the port. Wrong values are named, never guessed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from console.base.known_settings import BASE_DIR, read_all
from console.base.setting_values import SettingError, connection

__all__ = ["BASE_DIR", "CLUSTERS_REDIS", "Env", "SettingError"]

CLUSTERS_REDIS = "redis_url"  # a file of the home, there as long as `manage.py cluster` runs in it


@dataclass(frozen=True)
class Env:
    """The settings of one instance. Without URLs, the home says where its own servers are."""

    home: Path
    port: int
    public_url: str | None  # scheme, host and perhaps a path, as browsers see them
    database_url: str | None
    database_admin_url: str | None
    redis_url: str | None
    spark_master: str | None
    spark_conf: Path | None
    metastore: str | None  # the address of a Hive metastore, or of the PostgreSQL that holds its tables
    metastore_password: str | None
    spark_secret: str | None  # of a cluster
    spark_executor_memory: str | None  # as Spark writes it, "2g"
    spark_executor_cores: int | None
    spark_cores_max: int | None  # of one JVM of Levee's
    spark_driver_host: str | None  # by which executors reach this host
    secret_key_text: str | None
    credentials_key: str | None  # encrypts the credentials of object stores; None: the home's own file
    metrics_token: str | None  # what a scraper of /metrics sends
    audit_heads: Path  # the directory outside the database that signed heads are written to

    @classmethod
    def read(cls, values: Mapping[str, str] = os.environ) -> Env:
        """The environment's values. Raises SettingError."""
        given = read_all(values)
        home = given["LEVEE_HOME"] or (BASE_DIR / ".levee").absolute()
        return cls(
            home=home,
            port=given["LEVEE_PORT"] or 8000,
            public_url=given["LEVEE_PUBLIC_URL"],
            database_url=given["LEVEE_DATABASE_URL"],
            database_admin_url=given["LEVEE_DATABASE_ADMIN_URL"],
            redis_url=given["LEVEE_REDIS_URL"],
            spark_master=given["LEVEE_SPARK_MASTER"],
            spark_conf=given["LEVEE_SPARK_CONF"],
            metastore=given["LEVEE_METASTORE"],
            metastore_password=given["LEVEE_METASTORE_PASSWORD"],
            spark_secret=given["LEVEE_SPARK_SECRET"],
            spark_executor_memory=given["LEVEE_SPARK_EXECUTOR_MEMORY"],
            spark_executor_cores=given["LEVEE_SPARK_EXECUTOR_CORES"],
            spark_cores_max=given["LEVEE_SPARK_CORES_MAX"],
            spark_driver_host=given["LEVEE_SPARK_DRIVER_HOST"],
            secret_key_text=given["LEVEE_SECRET_KEY"],
            credentials_key=given["LEVEE_CREDENTIALS_KEY"],
            metrics_token=given["LEVEE_METRICS_TOKEN"],
            audit_heads=given["LEVEE_AUDIT_HEADS"] or home / "audit",
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
            return connection(setting, url)
        return {"NAME": "levee", "USER": role, "HOST": self.embedded.get("pg_socket_dir", "/nonexistent"), "PORT": ""}

    @property
    def hosts(self) -> list[str]:
        """The names that requests may come by: the public one, and this machine's own, which probes use."""
        public = urlsplit(self.public_url or "").hostname
        return ["127.0.0.1", "localhost", "[::1]", *([public] if public else [])]

    @property
    def public_origin(self) -> str | None:
        """Scheme and host of the public address, as a browser names an origin."""
        parts = urlsplit(self.public_url or "")
        return f"{parts.scheme}://{parts.netloc}" if parts.netloc else None

    @property
    def prefix(self) -> str:
        """The path below which every address of this instance lies, as `/levee`; empty for the root."""
        return urlsplit(self.public_url or "").path

    @property
    def is_https(self) -> bool:
        """Whether browsers speak TLS, to a proxy in front."""
        return (self.public_url or "").startswith("https://")

    @property
    def redis(self) -> str:
        """Redis's address as Celery's broker and redis-py both take it."""
        if self.redis_url is not None:
            return self.redis_url
        return self._clusters_redis() or f"unix://{self.embedded.get('redis_socket', '/nonexistent')}"

    def _clusters_redis(self) -> str:
        """The address that `manage.py cluster` tells while it runs, whose Redis speaks TCP; empty for who may not know it."""
        try:
            return (self.home / CLUSTERS_REDIS).read_text().strip()
        except OSError:
            return ""

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
            return self.secret_key_text
        try:
            return (self.home / "secret_key").read_text().strip()
        except OSError:
            return os.urandom(32).hex()
