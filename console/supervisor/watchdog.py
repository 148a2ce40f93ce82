"""`python -m console.supervisor.watchdog PART PID`: ends a part that runs and no longer works, for whoever starts it again.

`serve` starts it before it becomes the part: containers and units restart what ends, and don't notice what hangs. It is a process of its
own, since what hangs can't watch itself, nobody's child, and ends with the part. It needs neither Django nor Spark.
"""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
from collections.abc import Sequence

import psycopg

from console.base.env import Env
from console.base.timeouts import timing
from console.supervisor.alive import PARTS, silence
from console.supervisor.journal import say
from console.supervisor.signs import Ear, Sign

LOOKS = 10  # at the part, in the time that it may be silent
LOST_TIME_S = 5.0  # later than this at its own look, this process was stopped itself, and with it perhaps the machine


def watch(pid: int, sign: Sign, limit: float) -> float | None:
    """Follows a process to its end, which it makes once the process has been silent for longer than `limit` seconds.

    Silence counts from the first sign on: what hasn't begun to work is waiting for something. Returns the seconds of silence, or None if
    the process ended by itself.
    """
    try:
        process = os.pidfd_open(pid)  # it stays this very process, whoever gets its number later
    except ProcessLookupError:
        return None
    ear, looked = None, time.monotonic()
    while not select.select([process], [], [], limit / LOOKS)[0]:
        lost_time, looked = time.monotonic() - looked > limit / LOOKS + LOST_TIME_S, time.monotonic()
        if ear is None:
            ear = Ear(pid, sign, limit / LOOKS) if sign(pid) else None
        elif lost_time:
            ear.forgive()
        elif (silent := ear.silence()) > limit:
            signal.pidfd_send_signal(process, signal.SIGKILL)
            return silent
    return None


def main(argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m console.supervisor.watchdog")
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("pid", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("--name")
    given = parser.parse_args(argv)
    if os.fork():
        return
    os.setsid()
    env = Env.read()

    def sign(_pid: int) -> bool | None:
        try:
            return silence(given.part, env, given.port, given.name) is None
        except psycopg.Error:
            return None  # no database, no heartbeat: it says nothing of the part

    silent = watch(given.pid, sign, timing().hung)
    if silent is not None:
        say(f"{given.part}: no sign of life for {silent:.0f} s, so it was ended", sys.stderr)


if __name__ == "__main__":
    main()
