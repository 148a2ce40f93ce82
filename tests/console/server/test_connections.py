"""Connections that do little hold no thread: real sockets before a real gunicorn that has two threads."""

from __future__ import annotations

import contextlib
import http.client
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from console.server.connections import MOST_BODY, MOST_HEAD, MOST_KEPT, Arriving, Outgoing, RefusedRequest
from console.server.turns import MOST_EACH
from console.settings import DATA_UPLOAD_MAX_MEMORY_SIZE
from console.supervisor.tools import PROJECT
from tests.patience import limit

HEAD = b"POST /a HTTP/1.1\r\nHost: here\r\nContent-Length: 10\r\n\r\n"
START_S = 30.0
ANSWER_S = 4.0  # two threads that such a connection held would be gone for longer


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where gunicorn listens, with one process and two threads."""
    with listening(threads=2) as port:
        yield port


@contextlib.contextmanager
def listening(threads: int) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gunicorn", "tests.console.echo_app", "--bind", f"fd://{listener.fileno()}"),
                *("--worker-class", "console.server.worker.PatientWorker", "--threads", str(threads), "--no-sendfile"),
                *("--graceful-timeout", "1", "--no-control-socket"),
            ],
            cwd=PROJECT,
            pass_fds=[listener.fileno()],
            stderr=subprocess.DEVNULL,
        )
        try:
            port = listener.getsockname()[1]
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=limit(START_S))) as first:
                first.request("GET", "/")
                assert first.getresponse().status == 200  # what it takes to start is none of the waits below
            yield port
        finally:
            process.terminate()
            process.wait(limit(15))


@contextlib.contextmanager
def many(port: int, sent: bytes, count: int = 60) -> Iterator[list[socket.socket]]:
    """Connections that send so much and then nothing more, and read nothing."""
    with contextlib.ExitStack() as stack:
        made = [stack.enter_context(socket.create_connection(("127.0.0.1", port), limit(10))) for _ in range(count)]
        for each in made:
            each.sendall(sent)
        yield made


def answer(
    port: int, method: str = "GET", path: str = "/", body: bytes | None = None, **headers: str
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit(ANSWER_S))
    with contextlib.closing(connection):
        connection.request(method, path, body, {"Connection": "close", **headers})
        response = connection.getresponse()
        return response.status, response.read()


@pytest.mark.servers
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="silent"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: he", id="half a head"),
        pytest.param(b"\r\n\r\n\r\n\r\n", id="blank lines"),
        pytest.param(HEAD + b"half", id="half a body"),
        pytest.param(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nha", id="a chunk that doesn't end"),
        pytest.param(HEAD.replace(b"10", b"9999999999"), id="a body without an end"),
        pytest.param(HEAD.replace(b"10", b"+1"), id="a length that is none"),
        pytest.param(HEAD + b"0123456789" + b"GET /next HTTP/1.1\r\nHo", id="half of the next request"),
        pytest.param(b"GET / HTTP/1.0\r\n\r\n", id="answered and not closing"),
        pytest.param(b"GET /?answer=900000 HTTP/1.1\r\nHost: here\r\n\r\n", id="reading nothing"),
    ],
)
def test_sixty_connections_stop_nobody(port, sent):
    with many(port, sent):
        for _ in range(3):
            assert answer(port) == (200, b"0")
        assert answer(port, "POST", "/", b"abc") == (200, b"3")


@pytest.mark.servers
@pytest.mark.parametrize("head", ["Authorization: Bearer a", "Cookie: levee_session_1=a", "X-None: 1"])
def test_whoever_asks_for_too_much_at_once_waits_for_their_own(tmp_path, head):
    go = tmp_path / "go"
    slow = f"GET /?until={go} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n{head}\r\n\r\n".encode()
    with listening(threads=MOST_EACH + 1) as port, many(port, slow, count=3 * MOST_EACH) as senders:
        assert answer(port, Authorization="Bearer b")[0] == 200
        go.touch()
        for sender in senders:
            sender.settimeout(limit(ANSWER_S))
            assert sender.recv(12) == b"HTTP/1.1 200"


@pytest.mark.servers
def test_more_connections_than_are_kept_stop_nobody(port):
    with many(port, b"GET / HT", 600):
        assert answer(port) == (200, b"0")


@pytest.mark.servers
@pytest.mark.parametrize("length", [0, 1, 70_000, MOST_BODY])
def test_a_body_arrives_as_it_was_sent(port, length):
    assert answer(port, "POST", "/", b"x" * length) == (200, str(length).encode())


@pytest.mark.servers
def test_a_body_in_small_pieces_arrives(port):
    with socket.create_connection(("127.0.0.1", port), limit(ANSWER_S)) as connection:
        for byte in HEAD.replace(b"POST", b"\r\nPOST") + b"0123456789":
            connection.sendall(bytes([byte]))
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.servers
def test_a_body_that_is_too_long_is_refused_and_the_refusal_read(port):
    assert answer(port, "POST", "/", b"x" * (MOST_BODY + 1)) == (413, b"too large")
    assert answer(port, "POST", "/", b"x" * (5 * MOST_BODY)) == (413, b"too large")


@pytest.mark.servers
@pytest.mark.parametrize(
    ("length", "word"), [(10, b"HTTP/1.1 100 Continue"), (MOST_BODY + 1, b"HTTP/1.1 413 Content Too Large")]
)
def test_who_asks_before_it_sends_a_body_is_told(port, length, word):
    head = HEAD.replace(b"10", str(length).encode()).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n")
    with socket.create_connection(("127.0.0.1", port), limit(ANSWER_S)) as connection:
        connection.sendall(head)
        assert connection.recv(4096).split(b"\r\n")[0] == word
        if length == 10:
            connection.sendall(b"0123456789")
            assert connection.recv(4096).split(b"\r\n")[0] == b"HTTP/1.1 200 OK"


@pytest.mark.servers
def test_one_connection_serves_many_requests_also_those_sent_ahead(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=limit(ANSWER_S))
    with contextlib.closing(connection):
        for _ in range(5):
            connection.request("POST", "/", b"abc")
            assert connection.getresponse().read() == b"3"
    with socket.create_connection(("127.0.0.1", port), limit(ANSWER_S)) as raw:
        raw.sendall((HEAD + b"0123456789") * 3)
        found = b""
        while found.count(b"200 OK") < 3:
            found += raw.recv(4096)


@pytest.mark.servers
@pytest.mark.parametrize("length", [10, MOST_KEPT - 1, 20 * MOST_KEPT])
def test_an_answer_of_any_length_is_read_whole(port, length):
    assert len(answer(port, path=f"/?answer={length}")[1]) == length


@pytest.mark.servers
def test_what_is_refused_before_it_is_read_says_why(port):
    for sent, status in (
        (b"GET / HTTP/1.1\r\nA: " + b"a" * MOST_HEAD, b"431"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
    ):
        with socket.create_connection(("127.0.0.1", port), limit(ANSWER_S)) as connection:
            connection.sendall(sent)
            assert connection.recv(4096).split()[1] == status


def test_the_longest_body_is_that_of_the_settings():
    assert MOST_BODY == DATA_UPLOAD_MAX_MEMORY_SIZE


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_request_is_whole_with_its_last_byte(step):
    whole, arriving = HEAD + b"0123456789", Arriving()
    for start in range(0, len(whole), step):
        assert not arriving.is_whole
        arriving.add(whole[start : start + step])
    assert arriving.is_whole
    assert bytes(arriving.data) == whole


def test_an_endless_head_is_refused():
    arriving = Arriving()
    arriving.add(b"a" * MOST_HEAD)
    with pytest.raises(RefusedRequest) as refused:
        arriving.add(b"a")
    assert refused.value.status == 431


def test_what_nobody_takes_is_kept_in_order():
    here, there = socket.socketpair()
    with Outgoing(here) as sock, there:
        sock.setblocking(False)
        pieces = [bytes([number % 251]) * 1000 for number in range(800)]
        for piece in pieces:
            sock.sendall(piece)
        assert sock.retained
        found = b""
        while len(found) < 800_000:
            found += there.recv(65536)
            sock.push()
        assert found == b"".join(pieces)
