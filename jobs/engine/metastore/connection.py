"""How Spark's own Hive client reaches a metastore: its settings, and whether something answers at its address.

Sessions keep their catalog in memory, so a metastore that is away stops only what asks it (docs/adr, 0012).
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

SETTING = "LEVEE_METASTORE"
ADDRESS = "spark.levee.metastore"  # the address as it was set, for messages
CONNECT_SECONDS = 3
# A read that ignores its limit ends the JVM, and the client waits several times: to greet, to ask, to ask once more.
ANSWER_SECONDS = 8
SSL_REQUEST = struct.pack("!ii", 8, 80877103)  # PostgreSQL answers it with one byte, whatever it is set to
_JDO = "javax.jdo.option.Connection"


@dataclass(frozen=True, slots=True)
class Metastore:
    """A metastore by its address: `thrift://host:port[,…]`, or `postgresql://user@host:port/name` with that user's password."""

    address: str
    password: str | None = field(default=None, repr=False)

    @property
    def is_service(self) -> bool:
        return self.address.startswith("thrift://")

    def conf(self) -> dict[str, str]:
        """The Spark settings for it. They reach the JVM in a file for this user alone; no session reads them by itself."""
        given = self._service() if self.is_service else self._postgresql()
        return {ADDRESS: self.address, **{f"spark.hadoop.{key}": value for key, value in given.items()}}

    def _service(self) -> dict[str, str]:
        return {
            "hive.metastore.uris": self.address,
            "hive.metastore.client.socket.timeout": f"{ANSWER_SECONDS}s",
            "hive.metastore.connect.retries": "1",
            "hive.metastore.failure.retries": "0",
        }

    def _postgresql(self) -> dict[str, str]:
        return {
            **self.jdo(),
            "hive.metastore.schema.verification": "false",
            # Making tables in the middle of a question would wait for its own lock without end: `metastore create` makes them.
            "datanucleus.schema.autoCreateAll": "false",
            "hive.hmshandler.retry.attempts": "2",
            "hive.hmshandler.retry.interval": "500ms",
        }

    def jdo(self) -> dict[str, str]:
        """The connection of a metastore on PostgreSQL, as Hive and DataNucleus name it."""
        parts = urlsplit(self.address)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        patience = f"connectTimeout={CONNECT_SECONDS}&socketTimeout={ANSWER_SECONDS}&tcpKeepAlive=true"
        return {
            f"{_JDO}URL": f"jdbc:postgresql://{host}:{parts.port}{parts.path}?{patience}",
            f"{_JDO}DriverName": "org.postgresql.Driver",
            f"{_JDO}UserName": unquote(parts.username or ""),
            f"{_JDO}Password": self.password or "",
        }


def why_away(address: str) -> str | None:
    """Why nothing answers at any host of the address; None if something does."""
    why = None
    for each in address.split(","):
        parts = urlsplit(each)
        try:
            with socket.create_connection((parts.hostname or "", parts.port or 0), CONNECT_SECONDS) as there:
                _greet(there, parts.scheme)
        except OSError as error:
            why = error.strerror or str(error)
        else:
            return None
    return why


def _greet(there: socket.socket, scheme: str) -> None:
    """Has a PostgreSQL say its first byte: Hive's client would wait for one that hangs longer than a read may. Raises OSError.

    A service of thrift speaks only when it is asked.
    """
    if scheme == "postgresql":
        there.sendall(SSL_REQUEST)
        if there.recv(1) not in (b"S", b"N"):
            raise OSError("what listens there is no PostgreSQL")


def away(address: str, why: str) -> str:
    """The one line about a metastore that can't be used."""
    return f"{SETTING}: the metastore at {address} doesn’t answer: {why.rstrip('.')}."
