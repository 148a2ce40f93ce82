"""Secrets in what a table, a catalog or a log line says: Delta keeps property values and options as they were given, keys and all.

The one rule for all of Levee, the engine too: it stands on the standard library. Every pattern begins where a word or a sign
begins and is bounded, so that a hostile text costs no more than its length. What is masked already stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, overload

MASK = "*** masked ***"
# Spark's own `spark.redaction.regex`, the words by which storage connectors call theirs, and every setting of a file system.
_NAMES = re.compile(
    r"(?i)secret|password|passwd|pwd|pass[._-]?phrase|token|access[._-]?key|account[._-]?key|\bsas\b|credential|private[._-]?key|api[._-]?key"
    r"|authorization|signature|^(?:option\.|spark\.hadoop\.)*fs\."
)
_IN_URI = re.compile(r"(?i)((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://)[^/@\s]+@")
_IN_QUERY = re.compile(r"([?&;])([\w.-]{1,100})=(?!\*\*\*)[^&;\s\"']+")
_SHORT_NAMES = re.compile(r"(?i)^(?:sig|sas|key|code|x-amz-[a-z-]+)$")
_IN_JSON = re.compile(r"(\"(?:[^\"\\]|\\.){0,200}\"\s*:\s*)(\"(?:[^\"\\]|\\.)*\"|[-\w.]+)")
_SETTING = re.compile(r"(?<![\w.-])([\w.-]+)(\s*[=:]\s*|\s+->\s+)(?!\*\*\*)(?:(?:Bearer|Basic)\s+)?\S+")


def is_secret_name(name: str) -> bool:
    """True for the name of a property or option with a secret value."""
    return _NAMES.search(name) is not None


def masked(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """The mapping with secret values masked: by name, inside JSON texts, and in URIs."""
    return {name: MASK if value and is_secret_name(name) else masked_text(value) for name, value in values.items()}


def masked_properties(values: Mapping[str, str | None]) -> dict[str, str | None]:
    """The same for properties and options: in those that aren't Delta's own (a constraint may compare `token`) also settings."""
    return {
        name: masked_line(value) if value and value != MASK and not name.startswith("delta.") else value
        for name, value in masked(values).items()
    }


@overload
def masked_text(value: str) -> str: ...
@overload
def masked_text(value: None) -> None: ...
def masked_text(value: str | None) -> str | None:
    """A text without the credentials of URIs and without values of secret names in JSON that it holds."""
    return value and _masked(value)


def masked_line(text: str) -> str:
    """A line of a log, or a free text: as `masked_text`, and without the values of settings such as `db.password = x`."""
    return _masked(_SETTING.sub(_masked_setting, text))


def masked_json(value: Any) -> Any:
    """A JSON value with every text in it as `masked_text` has it, and texts under secret names masked."""
    if isinstance(value, str):
        return _masked(value)
    if isinstance(value, list):
        return [masked_json(item) for item in value]
    if isinstance(value, dict):
        return {name: MASK if _is_secret(name, item) else masked_json(item) for name, item in value.items()}
    return value


def _is_secret(name: str, value: Any) -> bool:
    return bool(value) and isinstance(value, str) and is_secret_name(name)


def _masked(value: str) -> str:
    value = _IN_URI.sub(rf"\1{MASK}@", value)
    value = _IN_QUERY.sub(_masked_argument, value)
    return _IN_JSON.sub(_masked_pair, value) if value.lstrip()[:1] in {"{", "["} else value


def _masked_argument(argument: re.Match[str]) -> str:
    sign, name = argument.groups()
    return f"{sign}{name}={MASK}" if is_secret_name(name) or _SHORT_NAMES.match(name) else argument[0]


def _masked_pair(pair: re.Match[str]) -> str:
    return f'{pair[1]}"{MASK}"' if is_secret_name(pair[1].partition('"')[2]) else pair[0]


def _masked_setting(setting: re.Match[str]) -> str:
    name, between = setting.groups()
    return f"{name}{between}{MASK}" if is_secret_name(name) else setting[0]
