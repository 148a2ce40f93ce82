"""An operation as a command line of curl."""

from __future__ import annotations

import re

from console.pages.reference.operations import Operation
from console.pages.reference.schemas import placeholder

SENT_AS_IT_IS = {"GET", "POST"}  # POST where there is a body


def curl(operation: Operation, base: str, body: str = "") -> str:
    """The command for a shell, with the token in `LEVEE_TOKEN`. `base` is the address of the API, `body` JSON."""
    lines = ['curl -s -H "Authorization: Bearer $LEVEE_TOKEN"'] if operation.scopes else ["curl -s"]
    lines += [f'-H "{each.field.name}: $(uuidgen)"' for each in operation.parameters if each.place == "header"]
    if body:
        lines.append('-H "Content-Type: application/json" -d @-')
    if operation.method not in SENT_AS_IT_IS or (operation.method == "POST" and not body):
        lines.append(f"-X {operation.method}")
    lines.append(f'"{base}{address_of(operation)}"' + (" <<'END'" if body else ""))
    return " \\\n     ".join(lines) + (f"\n{body}\nEND" if body else "")


def address_of(operation: Operation) -> str:
    """Its address below the API's, with names in capitals for what only you know."""
    path = re.sub(r"{(\w+)}", lambda part: _stand_in(part[1]), operation.address)
    wanted = [each.field.name for each in operation.parameters if each.place == "query" and each.field.required]
    query = "&".join(f"{name}={name.upper()}" for name in wanted)
    return f"{path}?{query}" if query else path


def _stand_in(name: str) -> str:
    return placeholder(name) if name.endswith("_id") else name.upper()
