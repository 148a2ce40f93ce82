"""Writes a deletion vector file as Delta's protocol describes it ("Deletion Vector Format")."""

from __future__ import annotations

import base64
import struct
import uuid
import zlib
from pathlib import Path
from typing import Any

_MAGIC = 1681511377
_NO_RUNS = 12346  # the cookie of a 32-bit roaring bitmap without run containers
_Z85 = str.maketrans(
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
)


def write(table: Path, identity: uuid.UUID, rows: list[int]) -> dict[str, Any]:
    """Writes the vector of the given row numbers (below 65,536) beside the table's files; returns its descriptor."""
    data = struct.pack("<iqi", _MAGIC, 1, 0) + _bitmap(sorted(rows))
    framed = struct.pack(">bi", 1, len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (table / f"deletion_vector_{identity}.bin").write_bytes(framed)
    name = base64.b85encode(identity.bytes).decode().translate(_Z85)
    return {
        "storageType": "u",
        "pathOrInlineDv": name,
        "offset": 1,
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


def _bitmap(rows: list[int]) -> bytes:
    """One array container of a 32-bit roaring bitmap."""
    header = struct.pack("<iiHHI", _NO_RUNS, 1, 0, len(rows) - 1, 16)
    return header + struct.pack(f"<{len(rows)}H", *rows)
