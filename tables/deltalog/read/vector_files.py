"""Files of deletion vectors: where one lies, from its name in the log, and which removals are of one."""

from __future__ import annotations

import base64
import re
import uuid

ID_LENGTH = 20  # characters of an encoded UUID
# Delta encodes the id of a vector's file in Z85; Python's base85 is the same code with other letters.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
LETTERS = str.maketrans(Z85, B85)
_NAME = re.compile(r"(?:.*/)?deletion_vector_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.bin", re.DOTALL)


def vector_file(stored: str) -> str:
    """The file, below the table's directory: `stored` is an optional directory, then ID_LENGTH characters. Raises ValueError."""
    prefix, code = stored[:-ID_LENGTH], stored[-ID_LENGTH:]
    name = f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(code.translate(LETTERS)))}.bin"
    return f"{prefix}/{name}" if prefix else name


def is_vector_file(path: str) -> bool:
    """Whether the path of a removal is that of a vector's file, which holds no rows.

    Delta removes such files so that a vacuum deletes them before the feature is dropped (`PreDowngradeTableFeatureCommand.scala`,
    "Deletion Vector Tombstones").
    """
    return _NAME.fullmatch(path) is not None
