"""Where a deletion vector's file lies, from its name in the log."""

from __future__ import annotations

import base64
import uuid

ID_LENGTH = 20  # characters of an encoded UUID
# Delta encodes the id of a vector's file in Z85; Python's base85 is the same code with other letters.
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
LETTERS = str.maketrans(Z85, B85)


def vector_file(stored: str) -> str:
    """The file, below the table's directory: `stored` is an optional directory, then ID_LENGTH characters. Raises ValueError."""
    prefix, code = stored[:-ID_LENGTH], stored[-ID_LENGTH:]
    name = f"deletion_vector_{uuid.UUID(bytes=base64.b85decode(code.translate(LETTERS)))}.bin"
    return f"{prefix}/{name}" if prefix else name
