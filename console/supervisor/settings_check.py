"""Checks of the settings before anything starts, each failure in one line that names the setting."""

import os
import socket
import time
from pathlib import Path

from console.base.env import Env
from console.supervisor.errors import StartRefused
from jobs.engine.config import SettingRefused, cluster_of, overrides_of, spark_conf


def check_settings(env: Env, migrates: bool = True) -> None:
    """Raises StartRefused for the first setting that can't work; SettingError for one that can't be read.

    What doesn't migrate the database needs no address for that, and had better not know it.
    """
    if migrates and (env.database_url is None) != (env.database_admin_url is None):
        missing = "LEVEE_DATABASE_URL" if env.database_url is None else "LEVEE_DATABASE_ADMIN_URL"
        raise StartRefused(f"{missing}: is missing; a database of your own needs both addresses")
    if env.spark_conf is not None:
        _check_spark_conf(env.spark_conf)
    if env.audit_heads != env.home / "audit":
        _check_heads(env.audit_heads)


def check_spark(env: Env) -> None:
    """Refuses what a worker with Spark would refuse as often as it is started: a cluster without its secret, a changed safety setting.

    Raises StartRefused, SettingError.
    """
    cluster, overrides = cluster_of(env), overrides_of(env)
    try:
        spark_conf(
            "spark",
            jars=(),
            archive=None,
            cores=1,
            memory_bytes=0,
            scratch=env.home,
            cluster=cluster,
            overrides=overrides,
        )
    except SettingRefused as error:
        raise StartRefused(str(error)) from None


def _check_heads(place: Path) -> None:
    """Unwritable heads would leave the audit without its proof, unnoticed until you need it."""
    probe = place / f"writable.{os.getpid()}"
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe.write_text("")
        probe.unlink(missing_ok=True)
    except OSError as error:
        raise StartRefused(f"LEVEE_AUDIT_HEADS: {place} can't be written: {error.strerror}") from error


def _check_spark_conf(path: Path) -> None:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise StartRefused(f"LEVEE_SPARK_CONF: {path} can't be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if text and not text.startswith("#") and (not text.startswith("spark.") or len(text.split(None, 1)) < 2):
            raise StartRefused(f"LEVEE_SPARK_CONF: {path}, line {number}: must be `spark.key value`")


def bind_port(port: int, patience: float = 0) -> socket.socket:
    """The web's listening address, bound here and handed down, so that nothing starts when it is taken.

    `patience` (seconds) is for a web process that was just killed: its address is free when its last thread has ended, which may
    be later than when it has become a zombie. Raises StartRefused.
    """
    until = time.monotonic() + patience
    while True:
        try:
            return _bound(port)
        except OSError as error:
            if time.monotonic() >= until:
                raise StartRefused(f"LEVEE_PORT: {port} can't be used on 127.0.0.1: {error.strerror}") from error
            time.sleep(0.05)


def _bound(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener
