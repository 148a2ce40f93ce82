"""A request as far as it has arrived, and the unsent rest of an answer. Only sockets and bytes: no Django, no gunicorn."""

from __future__ import annotations

import errno
import re
import select
import socket

MOST_HEAD = 64 * 1024
MOST_BODY = 1024 * 1024  # the settings' DATA_UPLOAD_MAX_MEMORY_SIZE: what is longer is refused unread
MOST_SWALLOWED = 16 * MOST_BODY  # of such a body, so that its sender reads the refusal
MOST_KEPT = 1024 * 1024  # of an answer; a longer one, as an export, is sent at the reader's pace
SEND_SECONDS = 30.0  # without a byte taken
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,18})[ \t]*\r\n", re.IGNORECASE)
_CODED = re.compile(rb"\r\ntransfer-encoding[ \t]*:", re.IGNORECASE)
_TOKEN = re.compile(rb"\r\nauthorization:[ \t]*([^\r\n]+)", re.IGNORECASE)
_SESSION = re.compile(rb"\r\ncookie:[^\r\n]*?levee_session_[0-9]+=([^;\r\n]+)", re.IGNORECASE)
_HEALTH = re.compile(rb"GET (?:/[^ ?]{1,255})?/health/(?:live|ready)[ ?]")  # below the prefix of a proxy, too
_EXPECTS = re.compile(rb"\r\nexpect:[ \t]*100-continue[ \t]*\r\n", re.IGNORECASE)


class RefusedRequest(Exception):
    """A request that isn't read on: the status line says why."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Arriving:
    """One request as it arrives: whole once its head and all of its body are there."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.head: int | None = None  # its length, once it is there
        self.body = 0  # as the head announces it
        self.swallowed = 0  # of a body that is too long to be kept
        self.expects_word = False  # the sender wants to be told to go on before it sends the body

    def add(self, data: bytes) -> None:
        """Raises Refused: 431 for an endless head, 411 for a body whose length isn't told before."""
        if self.too_long:
            self.swallowed += len(data)
            return
        begin = max(len(self.data) - 3, 0)
        self.data += data
        if self.head is None:
            self._find_head(begin)

    @property
    def too_long(self) -> bool:
        """Whether the body is longer than any that is taken; `data` is the head alone then."""
        return self.body > MOST_BODY

    @property
    def is_whole(self) -> bool:
        if self.head is None:
            return False
        if self.too_long:
            return self.swallowed >= min(self.body, MOST_SWALLOWED)
        return len(self.data) - self.head >= self.body

    @property
    def asks_health(self) -> bool:
        return _HEALTH.match(self.data) is not None

    @property
    def credential(self) -> bytes | None:
        """What the request is sent with: a token, or else a session; None for neither. It is not checked here."""
        end = self.head or 0
        found = _TOKEN.search(self.data, 0, end) or _SESSION.search(self.data, 0, end)
        return found[1].strip() if found else None

    def _find_head(self, begin: int) -> None:
        if self.data.startswith((b"\r", b"\n")):
            self.data, begin = self.data.lstrip(b"\r\n"), 0
        end = self.data.find(b"\r\n\r\n", begin)
        if (len(self.data) if end < 0 else end) > MOST_HEAD:
            raise RefusedRequest(431, "Request Header Fields Too Large")
        if end < 0:
            return
        self.head = end + 4
        if _CODED.search(self.data, 0, self.head):
            raise RefusedRequest(411, "Length Required")
        length = _LENGTH.search(self.data, 0, self.head)
        self.body = int(length[1]) if length else 0
        self.expects_word = bool(_EXPECTS.search(self.data, 0, self.head))
        if self.too_long:
            self._swallow()

    def _swallow(self) -> None:
        """Whoever asks first is refused at once and sends nothing; the others have sent it all before they read the answer."""
        self.swallowed = self.body if self.expects_word else len(self.data) - (self.head or 0)
        self.expects_word = False
        del self.data[self.head :]


class Outgoing(socket.socket):
    """A connection's socket. What the other side doesn't take at once is kept for the poller; only a long stream waits for its reader."""

    def __init__(self, accepted: socket.socket) -> None:
        super().__init__(fileno=accepted.detach())
        self.retained = bytearray()

    def sendall(self, data: bytes, flags: int = 0, /) -> None:  # type: ignore[override]  # of fewer types than a socket takes
        """Takes all of it. Raises ConnectionResetError when a reader takes nothing of a long answer for SEND_SECONDS."""
        self.retained += data
        self.push()
        while len(self.retained) > MOST_KEPT:
            if not self._is_taken(SEND_SECONDS):
                self.retained.clear()
                raise ConnectionResetError(errno.ECONNRESET, "nobody reads the answer")
            self.push()

    def _is_taken(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self, select.POLLOUT)
        return bool(poll.poll(seconds * 1000))

    def push(self) -> None:
        """Sends what is taken at once."""
        try:
            while self.retained:
                del self.retained[: self.send(self.retained[:MOST_HEAD], socket.MSG_DONTWAIT)]
        except BlockingIOError:
            return
