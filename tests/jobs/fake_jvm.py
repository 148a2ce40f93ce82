"""Plays the JVM: a process of its own, in a group of its own, that writes data files and commits by itself.

It is told what to do by lines of JSON on its standard input and answers on its standard output. Like the real one it goes on with
what it is doing when the worker dies, and ends at the end of its input. Run as a script; standard library only.
"""

import json
import os
import select
import time

import fake_table  # type: ignore[import-not-found]  # beside this script


class Orders:
    """Lines of standard input, with a look ahead for a cancel."""

    def __init__(self):
        self.rest = b""

    def next(self, seconds=None):
        """The next order; None at the end of the input, or after so many seconds ({} then)."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([0], [], [], seconds)
            if not ready:
                return {}
            data = os.read(0, 65536)
            if not data:
                return None
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)


def main():
    orders = Orders()
    while (order := orders.next()) is not None:
        if order.get("op") == "cancel":
            continue  # not sticky: nothing runs, nothing is cancelled
        answer(ACTS[order["op"]](order, orders))


def answer(value):
    try:
        os.write(1, json.dumps(value).encode() + b"\n")
    except BrokenPipeError:
        raise SystemExit(0) from None


def work(order, orders):
    """A long Spark job: it can be cancelled, and ends sooner once there is a file `gate`."""
    until = time.monotonic() + order["seconds"]
    while (left := until - time.monotonic()) > 0 and not os.path.exists(order["gate"]):  # noqa: PTH110 (starts without pathlib)
        heard = orders.next(min(left, 0.2))
        if heard is None:
            raise SystemExit(0)
        if heard.get("op") == "cancel":
            return {"cancelled": True}
    return {}


def write(order, orders):
    return {"file": fake_table.write_data(order["path"], order["rows"])}


def commit(order, orders):
    """The commit itself can't be cancelled; `delay` is how long it takes."""
    time.sleep(order.get("delay", 0))
    return {"version": fake_table.commit(order["path"], order["operation"], order["mark"], order["files"])}


ACTS = {"work": work, "write": write, "commit": commit}

if __name__ == "__main__":
    main()
