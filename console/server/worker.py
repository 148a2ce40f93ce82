"""gunicorn's worker of threads, as Levee runs it: a connection holds a thread only between a whole request and its answer.

gunicorn 27 gives each connection a thread when it is accepted, reads head and body there without an end, and closes in its main loop:
sixty connections that send half a request, or read nothing, stop a site. Here the poller reads, sends and closes.
"""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import struct
import time
from collections.abc import Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from gunicorn.workers.gthread import TConn, ThreadWorker

from console.server.connections import CONTINUE, SEND_SECONDS, Arriving, Outgoing, RefusedRequest
from console.server.turns import MOST_EACH, SENDERS, RequestTurns

REQUEST_SECONDS = 20.0  # for head and body together
LEAVE_SECONDS = 2.0  # for the other side to close, once it has its answer
MOST_WAITING = 400  # connections without a thread; the oldest makes room for a new one
MOST_HELD = 48 * 1024 * 1024  # bytes of unfinished requests and untaken answers
HEALTH_THREADS = 2  # of their own: health is told when every other thread is taken
READ = 64 * 1024
NEVER_READ = struct.pack(
    "ll", 1, 0
)  # a thread finds all that it reads here already; a second, should gunicorn see it differently
GONE = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EMFILE, errno.ENFILE}
REFUSAL = (
    "HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Length: 0\r\nCache-Control: no-store\r\n"
    "X-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\n\r\n"
)


class Connection(TConn):  # type: ignore[misc]  # the package is untyped
    """A connection, the request that arrives on it, and until when it may wait without a thread."""

    def __init__(self, cfg: Any, sock: socket.socket, client: Any, server: Any) -> None:
        super().__init__(cfg, Outgoing(sock), client, server)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, NEVER_READ)
        self.arriving = Arriving()
        self.deadline = 0.0
        self.stays = False  # for another request
        self.leaves = False  # answered: only its end is waited for
        self.sender: Hashable = None  # of the request that is handed over

    @property
    def held(self) -> int:
        return len(self.arriving.data) + len(self.sock.retained)


class PatientWorker(ThreadWorker):  # type: ignore[misc]  # the package is untyped
    """See above. Threads run `handle`; everything else here runs in the main loop."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiting: dict[Connection, None] = {}  # in the order of their coming
        self.health_pool = ThreadPoolExecutor(HEALTH_THREADS)
        self.turns: RequestTurns[Connection] = RequestTurns(MOST_EACH)
        self._swept = 0.0
        self._latest: float | None = None  # of every deadline, once the worker stops

    def accept(self, listener: socket.socket) -> None:
        """Takes a connection, and at once what it has sent already."""
        try:
            sock, address = listener.accept()
        except OSError as error:
            if error.errno not in GONE:
                raise
            return
        self.nr_conns += 1
        connection = Connection(self.cfg, sock, address, listener.getsockname())
        self._wait(connection, REQUEST_SECONDS)
        if len(self.waiting) > MOST_WAITING:
            self._end(next(iter(self.waiting)))
        if connection in self.waiting:
            self._arrives(connection)

    def _wait(self, connection: Connection, seconds: float, event: int = selectors.EVENT_READ) -> None:
        """Puts it into the poller for so long. One that is closed already is forgotten."""
        until = time.monotonic() + seconds
        connection.deadline = until if self._latest is None else min(until, self._latest)
        act = self._arrives if event == selectors.EVENT_READ else self._takes
        self.waiting[connection] = None
        try:
            connection.sock.setblocking(False)
            self.poller.register(connection.sock, event, partial(act, connection))
        except (OSError, ValueError):
            self._end(connection)

    def _unwait(self, connection: Connection) -> None:
        del self.waiting[connection]
        with contextlib.suppress(OSError, KeyError, ValueError):
            self.poller.unregister(connection.sock)

    def _end(self, connection: Connection) -> None:
        self._unwait(connection)
        self.nr_conns -= 1
        connection.close()

    def _arrives(self, connection: Connection, _sock: object = None) -> None:
        """Something can be read: a part of a request, or the end."""
        if connection not in self.waiting:  # ended since the poller saw it
            return
        try:
            data = connection.sock.recv(READ)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end(connection)
        elif not connection.leaves:
            self._read(connection, data)

    def _read(self, connection: Connection, data: bytes) -> None:
        arriving = connection.arriving
        if not arriving.data:
            connection.deadline = time.monotonic() + REQUEST_SECONDS
        try:
            arriving.add(data)
            if arriving.expects_word and not arriving.is_whole:
                arriving.expects_word = False
                connection.sock.sendall(CONTINUE)
            if not arriving.is_whole and len(arriving.data) > READ and self._is_full():
                raise RefusedRequest(503, "Service Unavailable")
        except RefusedRequest as refused:
            self._refuse(connection, refused)
        else:
            if arriving.is_whole:
                self._hand_over(connection)

    def _is_full(self) -> bool:
        return sum(connection.held for connection in self.waiting) > MOST_HELD

    def _refuse(self, connection: Connection, refused: RefusedRequest) -> None:
        self._unwait(connection)
        connection.sock.sendall(REFUSAL.format(status=refused.status, reason=refused.reason).encode())
        self._go_on(connection)

    def _hand_over(self, connection: Connection) -> None:
        """Gives the whole request to a thread."""
        self._unwait(connection)
        connection.data_ready = True
        connection.init()
        connection.parser.unreader.unread(bytes(connection.arriving.data))
        self.enqueue_req(connection)

    def enqueue_req(self, conn: Connection) -> None:
        """Hands the request to a thread, or puts it in its sender's line."""
        if conn.arriving.asks_health:
            self._work(conn, self.health_pool)
            return
        credential = conn.arriving.credential
        conn.sender = _place(conn.client) if credential is None else SENDERS.of(credential)
        if self.turns.begins(conn.sender, conn):
            self._work(conn, self.tpool)

    def _work(self, conn: Connection, pool: ThreadPoolExecutor) -> None:
        try:
            answered: Future[Any] = pool.submit(self.handle, conn)
        except RuntimeError:  # told to quit: no thread begins anything more
            self.nr_conns -= 1
            conn.close()
            return
        answered.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))

    def handle_request(self, req: Any, conn: Connection) -> Any:
        """In a thread. A body that was swallowed can't be read: the connection closes after the refusal."""
        req._expected_100_continue = False  # it was told so
        if conn.arriving.too_long:
            req.force_close()
        return super().handle_request(req, conn)

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        return keepalive and not conn.arriving.too_long and bool(super()._keepalive_after(conn, keepalive))

    def finish_request(self, conn: Connection, fs: Future[Any]) -> None:
        """The thread is free again; what is left to send goes on without it."""
        conn.stays = not fs.cancelled() and fs.exception() is None and bool(fs.result())
        if not conn.arriving.asks_health and (following := self.turns.ends(conn.sender)) is not None:
            self._work(following, self.tpool)
        self._go_on(conn)

    def _go_on(self, connection: Connection) -> None:
        """The next step of a connection without a thread: the rest of the answer, another request, or the end."""
        if connection.sock.retained:
            self._wait(connection, 0 if self._is_full() else SEND_SECONDS, selectors.EVENT_WRITE)
        elif connection.stays:
            self._await_next(connection)
        else:
            self._leave(connection)

    def _await_next(self, connection: Connection) -> None:
        ahead = connection.parser.unreader.take_buffered()
        connection.arriving, connection.stays = Arriving(), False
        self._wait(connection, self.cfg.keepalive)
        if ahead and connection in self.waiting:
            self._read(connection, ahead)

    def _takes(self, connection: Connection, _sock: object = None) -> None:
        """The other side takes more of its answer."""
        if connection not in self.waiting:
            return
        try:
            connection.sock.push()
        except OSError:
            self._end(connection)
            return
        if not connection.sock.retained:
            self._unwait(connection)
            self._go_on(connection)

    def _leave(self, connection: Connection) -> None:
        """Says that nothing more comes, and waits for the other side to close: closing at once could cut the answer off."""
        connection.leaves, connection.arriving = True, Arriving()
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_WR)
        self._wait(connection, LEAVE_SECONDS)

    def murder_keepalived(self, force: bool = False) -> None:
        """Ends what is past its time; gunicorn's main loop asks for it after every event, twice a second is enough."""
        now = time.monotonic()
        if not force and now - self._swept < 0.5:
            return
        self._swept = now
        for connection in [each for each in self.waiting if force or each.deadline <= now]:
            if connection.arriving.data and not force and not connection.sock.retained:
                self._refuse(connection, RefusedRequest(408, "Request Timeout"))
            else:
                self._end(connection)

    def _cap_keepalive(self, deadline: float) -> None:
        """The worker stops: nothing waits past `deadline`, nor what comes to wait from now on."""
        self._latest = deadline
        for connection in self.waiting:
            connection.deadline = min(connection.deadline, deadline)


def _place(client: Any) -> Hashable:
    """Where a connection comes from: the address without its port, which every connection has another of."""
    return client[0] if isinstance(client, tuple) else None
