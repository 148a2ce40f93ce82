"""The ports of Spark's JVM answer nobody who lacks its secret."""

import socket
import struct
from pathlib import Path

import pytest

from tests.patience import limit


def ports_of(pid: int) -> list[int]:
    """The TCP ports that a process listens on."""
    inodes = {
        link.readlink().name for link in Path(f"/proc/{pid}/fd").iterdir() if str(link.readlink()).startswith("socket")
    }
    found = []
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]:
            local, state, inode = (line.split()[place] for place in (1, 3, 9))
            if state == "0A" and f"socket:[{inode}]" in inodes:
                found.append(int(local.rsplit(":", 1)[1], 16))
    return found


def asked_by_a_stranger(port: int) -> bytes:
    """What comes back for a request of Spark's own protocol, by somebody without the secret."""
    body = b"\x01\x02 a question of a stranger"
    frame = struct.pack(">bqi", 3, 7, len(body)) + body
    with socket.create_connection(("127.0.0.1", port), limit(2.5)) as stranger:
        stranger.settimeout(limit(2.5))
        stranger.sendall(struct.pack(">q", len(frame) + 8) + frame)
        try:
            return stranger.recv(65536)
        except (TimeoutError, ConnectionError):
            return b""


@pytest.mark.spark
@pytest.mark.xdist_group("engine")
def test_a_stranger_on_this_machine_is_told_nothing(runtime):
    """Ports of two of Spark's servers speak this protocol; py4j's own one has a password of its own."""
    answers = [asked_by_a_stranger(port) for port in ports_of(runtime.identity().pid)]
    refused = [
        answer
        for answer in answers
        if b"AuthMessage" in answer or b"Unknown challenge" in answer or b"SecurityException" in answer
    ]
    assert len(refused) == 2, answers
