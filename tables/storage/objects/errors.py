"""What an object store's refusal means, in one line that names the part of its description to look at.

A store's own answer is never repeated: it may hold the id of a key, and comes from whatever answers at the endpoint.
So what is raised instead of obstore's exception is raised `from None`: a chain of causes shows the answer wherever it is printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from obstore.exceptions import (
    BaseError,
    InvalidPathError,
    NotFoundError,
    PermissionDeniedError,
    UnauthenticatedError,
)

_CODE = re.compile(r"<Code>(\w{1,60})</Code>")
_REGION = re.compile(r"<Region>([a-z0-9-]{1,40})</Region>")
_STATUS = re.compile(r"status code: (\d{3})")
_SAID = {
    "NoSuchBucket": ("bucket", "the store has no such bucket"),
    "InvalidAccessKeyId": ("key_id", "the store doesn’t know the key ID"),
    "SignatureDoesNotMatch": ("secret", "the secret isn’t the one of this key ID"),
    "ExpiredToken": ("session_token", "the session token has expired"),
    "ExpiredTokenException": ("session_token", "the session token has expired"),
    "TokenRefreshRequired": ("session_token", "the session token has expired"),
    "InvalidToken": ("session_token", "the store doesn’t accept the session token"),
    "AccessDenied": ("key_id", "the key may not do this"),
    "AuthenticationRequired": ("key_id", "the store doesn’t accept the key"),
    "AllAccessDisabled": ("key_id", "the store has switched off all access to the bucket"),
    "RequestTimeTooSkewed": ("clock", "this machine’s clock and the store’s differ by too much"),
}
_REGIONAL = frozenset({"PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException"})
_ONE_PLACE = frozenset({"AccessDenied", ""})
_OF_ONE_OBJECT = frozenset({412, 416})  # another version or a shorter one than was asked for


@dataclass(frozen=True, slots=True)
class StoreRefusal:
    """Why a store didn't do it. `field` is the part of the description that it is about, empty for none of them.

    `everywhere`: the next request would fail alike, whatever it asks for.
    """

    text: str
    field: str = ""
    everywhere: bool = True

    def __str__(self) -> str:
        return self.text


class Panicked(BaseError):
    """obstore gave up a request by a panic, which is no Exception: unturned, it would end the whole process's work."""


class _Turning:
    """As a context: `except` can't name the type of a panic, which is in no module that can be imported."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and (kind.__module__, kind.__name__) == ("pyo3_runtime", "PanicException"):
            raise Panicked from None


turning_panics = _Turning()  # around each call of obstore, within what handles its errors


def refusal(error: Exception, *, silence: str = "") -> StoreRefusal:
    """What an exception of obstore's means. `silence` goes on the sentence for a store that doesn't answer."""
    if isinstance(error, Panicked):
        return StoreRefusal("the bucket can’t be asked as it is described", "endpoint")
    text = str(error)
    code = match[1] if (match := _CODE.search(text)) else ""
    if code in _SAID:
        field, told = _SAID[code]
        return StoreRefusal(told, field, everywhere=code not in _ONE_PLACE)
    if code in _REGIONAL or "incorrectly configured region" in text:
        region = _REGION.search(text)
        where = f" ({region[1]})" if region else ""
        return StoreRefusal(f"the bucket is in another region{where}, or at another endpoint", "region")
    if isinstance(error, InvalidPathError):
        return StoreRefusal("a key in it has an empty part, as a//b has, and can’t be read", "", everywhere=False)
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return StoreRefusal("the store refuses the key", "key_id", everywhere=False)
    if isinstance(error, NotFoundError | FileNotFoundError):
        return StoreRefusal("it is not there", "", everywhere=False)
    return _unclear(text, silence)


def _unclear(text: str, silence: str) -> StoreRefusal:
    status = int(match[1]) if (match := _STATUS.search(text)) else 0
    if status in (401, 403):
        return StoreRefusal("the store refuses the key", "key_id", everywhere=status == 401)
    if status == 404:
        return StoreRefusal("what answers at the endpoint isn’t a store with this bucket", "endpoint")
    if status >= 500:
        return StoreRefusal(f"the store is overloaded or out of order (HTTP {status})", "endpoint")
    if status:
        return StoreRefusal(f"the store answers HTTP {status}", "endpoint", everywhere=status not in _OF_ONE_OBJECT)
    return StoreRefusal(f"the endpoint doesn’t answer{silence}", "endpoint")
