"""HDFS, as a kind of storage."""

from __future__ import annotations

import re

from tables.storage.hdfs import name_nodes
from tables.storage.hdfs.client import user_name
from tables.storage.hdfs.files import HdfsStorage
from tables.storage.hdfs.folders import HdfsFolders
from tables.storage.hdfs.probe import probe
from tables.storage.hdfs.tree import HdfsTree, HdfsUser
from tables.storage.kind import StoreKind
from tables.storage.paths import BadPlace
from tables.storage.trees import reached

_NAME_NODE = re.compile(r"hdfs://[a-z0-9]([a-z0-9._-]{0,251}[a-z0-9])?(:[0-9]{1,5})?")
_PORT = re.compile(r"0*([1-9][0-9]{0,4})")
MOST_PORT = 65_535


def _tree(path: str) -> HdfsTree:
    return HdfsTree(path, *reached(name_nodes.opened, path))


def _reach(path: str) -> HdfsUser:
    return HdfsUser(name_nodes.split(path)[0], user_name())


def _authority(text: str) -> str:
    """A name node's host in small letters, and its port without zeros before it."""
    host, colon, port = text.lower().partition(":")
    if not colon:
        return host
    match = _PORT.fullmatch(port)
    if match is None or int(match[1]) > MOST_PORT:
        raise BadPlace(f"A name node’s port is a number from 1 to {MOST_PORT}.")
    return f"{host}:{match[1]}"


def _require_name_node(prefix: str) -> None:
    if not _NAME_NODE.fullmatch(prefix):
        raise BadPlace(f"{prefix} names no name node: it takes a host and a port, as hdfs://namenode:8020.")


HDFS = StoreKind(
    scheme="hdfs",
    what="hdfs:// directories",
    one="a directory on HDFS",
    example="hdfs://namenode:8020/lake",
    where="on HDFS",
    files=HdfsStorage,
    folders=lambda _path: HdfsFolders(),
    tree=_tree,
    reach=_reach,
    is_there=name_nodes.holds_directory,
    is_away=name_nodes.is_away,
    probe=probe,
    user=user_name,
    copies=False,
    takes_names_once=True,  # it renames in one step
    hadoop={
        # A name node that is gone fails an attempt after a minute; by the defaults the client would go on for a quarter of an hour.
        "ipc.client.connect.timeout": "15000",
        "ipc.client.connect.max.retries": "3",
        "ipc.client.connect.max.retries.on.timeouts": "2",
        "ipc.client.rpc-timeout.ms": "60000",
    },
    reserved=(".snapshot", ".reserved"),
    authority=_authority,
    require_root=_require_name_node,
)
