"""The home's own Redis: durable, on a unix socket, without TCP; and the address of a cluster's."""

import os

import redis

from console.base.disks import says_full
from console.base.env import CLUSTERS_REDIS
from console.supervisor import tools
from console.supervisor.errors import StartRefused
from console.supervisor.home import Home


def command(home: Home) -> list[str]:
    """Redis in the foreground. Raises StartRefused when it isn't installed."""
    data = home.path / "redis"
    data.mkdir(mode=0o700, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": home.record.redis_socket,
        "unixsocketperm": "700",
        "dir": str(data),
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    return [str(tools.redis_server()), *(part for name, value in options.items() for part in (f"--{name}", value))]


def url(home: Home) -> str:
    """The address of the home's own Redis, as redis-py takes it."""
    return f"unix://{home.record.redis_socket}"


def tell(home: Home, address: str) -> None:
    """Has commands in this home use the Redis at this address, until `forget`. It has a password: the file is for this user alone."""
    forget(home)
    file = os.open(home.path / CLUSTERS_REDIS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(file, "w", encoding="utf-8") as stream:
        stream.write(f"{address}\n")


def forget(home: Home) -> None:
    """Has commands in this home use the home's own Redis."""
    (home.path / CLUSTERS_REDIS).unlink(missing_ok=True)


def answers(address: str) -> bool:
    """True when Redis at the address answers and has loaded its data; also when its disk is full and it takes nothing."""
    with redis.Redis.from_url(address, socket_timeout=2, socket_connect_timeout=2) as client:
        try:
            return bool(client.ping())
        except redis.RedisError as error:
            return says_full(error)


def works(address: str) -> bool:
    """False when Redis leaves a question waiting; one that loads its data, or refuses, works."""
    with redis.Redis.from_url(address, socket_timeout=5, socket_connect_timeout=5) as client:
        try:
            client.ping()
        except redis.TimeoutError:
            return False
        except redis.RedisError:
            return True
    return True


def check(address: str, setting: str) -> None:
    """Refuse a Redis that doesn't answer, or that loses every queued message when it is killed (no AOF)."""
    try:
        with redis.Redis.from_url(address, socket_timeout=5, socket_connect_timeout=5) as client:
            persistence = client.info("persistence")
    # A TypeError names an option of the address that there isn't.
    except (redis.RedisError, ValueError, TypeError) as error:
        raise StartRefused(f"{setting}: Redis doesn't answer: {error}") from error
    if not int(persistence["aof_enabled"]):
        raise StartRefused(f"{setting}: Redis runs without its append-only file; set `appendonly yes`")
