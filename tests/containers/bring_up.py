"""Proves docker-compose.yml: builds both images, brings everything up, works with it over HTTP, restarts it, takes it down.

    python3 tests/containers/bring_up.py [--keep DIRECTORY] [--leave-running] [--source DIRECTORY]

Needs root, podman, runc, netavark, aardvark-dns, catatonit, debootstrap and Go 1.25, and a network for packages; 8 GB and, on two
cores, about half an hour the first time. By hand only: pytest collects nothing here. tests/containers/podman.py says what stands in
for the base images.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from console.setup.compose_secrets import NAMES
from tests.containers.backups import back_up, restore
from tests.containers.hold import PARTS, PROJECT, SERVERS, SERVICES, clustered, safe, web_is_lean
from tests.containers.journeys import (
    Console,
    Lake,
    delete_by_two,
    first_sign_in,
    people,
    still_there,
    stream_of_rows,
    taken_over,
)
from tests.containers.podman import REPOSITORY, Failed, Podman, say

HEALTHY_LIMIT_S = 900.0
WAITING_S = 20.0  # in which a part that didn't wait would have ended
PORT = 18000


@dataclass(frozen=True)
class Composition:
    """The composition of `source`, under podman-compose."""

    podman: Podman
    source: Path

    def compose(self, label: str, *words: str) -> None:
        self.podman.logged(label, "podman-compose", "-p", PROJECT, *words, cwd=self.source)

    def run(self, service: str, *words: str, given: str | None = None) -> str:
        """A command in a service's container."""
        return self.podman.run("exec", "-i", f"{PROJECT}_{service}_1", *words, given=given)

    def manage(self, *words: str, given: str | None = None) -> str:
        return self.run("web", "python", "manage.py", *words, given=given)

    def secrets(self) -> dict[str, str]:
        """What `.env` says."""
        lines = (self.source / ".env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def logs(self, service: str) -> str:
        done = subprocess.run(
            ["podman", "logs", f"{PROJECT}_{service}_1"], env=self.podman.environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr

    def await_postgres(self) -> None:
        """PostgreSQL's health check holds."""
        until = time.monotonic() + HEALTHY_LIMIT_S
        while not self._is_healthy("postgres"):
            if time.monotonic() > until:
                raise Failed(f"PostgreSQL isn't healthy: {self.logs('postgres')[-1500:]}")
            time.sleep(2)

    def await_healthy(self) -> None:
        """Every health check of the file holds. Without systemd nothing runs them by itself, so this does."""
        begin, missing = time.monotonic(), set(SERVICES)
        while missing:
            if time.monotonic() - begin > HEALTHY_LIMIT_S:
                raise Failed(f"not healthy: {sorted(missing)}\n" + "\n".join(self.logs(s)[-1500:] for s in missing))
            missing = {service for service in missing if not self._is_healthy(service)}
            time.sleep(2)
        say(f"every health check holds after {time.monotonic() - begin:.0f} s")

    def _is_healthy(self, service: str) -> bool:
        words = ["podman", "healthcheck", "run", f"{PROJECT}_{service}_1"]
        return subprocess.run(words, env=self.podman.environment, capture_output=True).returncode == 0


def prove(there: Composition) -> None:
    """The journeys, a restart of every service, and what must still be there."""
    needs_each_secret(there)
    begin = time.monotonic()
    there.compose("up", "up", "-d", "--no-build")
    console = Console(f"http://127.0.0.1:{PORT}", there.manage, there.run)
    console.await_ready(PARTS)
    say(f"every part is ready {time.monotonic() - begin:.0f} s after `up`")
    there.await_healthy()
    safe(there.podman, there.run)
    web_is_lean(there.podman)
    first_sign_in(console, there.logs("prepare"))
    people(console)
    known = taken_over(console, Lake(there.secrets()["LEVEE_STORE_SECRET"]))
    delete_by_two(console, known, "FR")
    clustered(there.run)
    stream_of_rows(console, known)
    restart_out_of_order(there, console)
    still_there(console, known, "DE")
    there.await_healthy()
    back_up(there.podman, there.compose, there.podman.directory)
    restore(there.podman, there.compose, there.podman.directory, there.await_postgres)
    console.await_ready(PARTS)
    still_there(console, known, "IT")


def needs_each_secret(there: Composition) -> None:
    """Without one of its secrets, the composition says which and starts nothing."""
    file = there.source / ".env"
    whole = file.read_text()
    try:
        for name in NAMES:
            file.write_text("".join(line for line in whole.splitlines(True) if not line.startswith(f"{name}=")))
            done = subprocess.run(
                ["podman-compose", "-p", PROJECT, "config"],
                env=there.podman.environment, cwd=there.source, capture_output=True, text=True,
            )  # fmt: skip
            last = (done.stderr.strip().splitlines() or [""])[-1]
            if done.returncode == 0 or name not in last or "make compose-secrets" not in last:
                raise Failed(f"without {name}: {done.returncode}, {last}")
    finally:
        file.write_text(whole)
    say(f"without any one of its {len(NAMES)} secrets it starts nothing, and says which")


def restart_out_of_order(there: Composition, console: Console) -> None:
    """Every service is stopped; the parts are started first, find nothing that they need, and wait for it."""
    begin = time.monotonic()
    first = (*SERVERS, "spark-master")
    there.compose("stop", "stop", *SERVICES)
    parts = [service for service in SERVICES if service not in first]
    there.compose("start-parts", "start", *parts)
    time.sleep(WAITING_S)
    waiting = there.podman.run("ps", "--format", "{{.Names}}").split()
    if ended := [part for part in parts if f"{PROJECT}_{part}_1" not in waiting]:
        raise Failed(
            f"without PostgreSQL and Redis these don't wait: {ended}\n" + "\n".join(map(there.logs, ended))[-3000:]
        )
    there.compose("start-servers", "start", *first)
    console.await_ready(PARTS)
    say(
        f"every part is ready {time.monotonic() - begin:.0f} s after a stop of every service, {len(parts)} started before their servers"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="work there, and leave images and packages behind"
    )
    parser.add_argument("--source", type=Path, default=REPOSITORY, help="the clone to build (this one unless told)")
    parser.add_argument("--built", action="store_true", help="take the images that an earlier run has left in --keep")
    parser.add_argument("--leave-running", action="store_true", help="don't take it down at the end; needs --keep")
    options = parser.parse_args()
    lacking = [program for program in ("podman", "runc", "debootstrap", "go") if not shutil.which(program)]
    if os.geteuid() != 0 or lacking:
        print(f"containers: needs root{' and ' + ', '.join(lacking) if lacking else ''}", file=sys.stderr)
        return 2
    directory = (options.keep or Path(tempfile.mkdtemp(prefix="levee-containers-", dir="/var/tmp"))).absolute()
    directory.mkdir(parents=True, exist_ok=True)
    podman = Podman(directory)
    there = Composition(podman, _copy(options.source.absolute(), directory / "source"))
    try:
        podman.prepare()
        podman.make_bases()
        podman.install_compose()
        for target in ("web", "spark", "store"):
            if not (options.built and podman.has(f"localhost/levee-{target}")):
                podman.build(target, there.source)
        prove(there)
        say("all of it holds")
    except (Failed, AssertionError) as failure:
        say(f"FAILED: {failure}")
        return 1
    finally:
        if not (options.leave_running and options.keep):
            _take_down(there)
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)
    return 0


def _copy(source: Path, copy: Path) -> Path:
    """What git tracks or could track, with secrets of its own: yours stay out of it."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    listed = subprocess.run(
        ["git", "-C", str(source), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (source / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, copy / name)
    subprocess.run(
        [sys.executable, "-m", "console.setup.compose_secrets"], cwd=copy, check=True, stdout=subprocess.DEVNULL
    )
    with (copy / ".env").open("a") as more:
        more.write(f"LEVEE_PORT={PORT}\n")
    return copy


def _take_down(there: Composition) -> None:
    begin = time.monotonic()
    there.compose("down", "down", "-v")
    # Those of the restored backup lack the label by which `down` knows its volumes; a next run would meet heads of another audit.
    there.podman.run("volume", "prune", "-f")
    if left := [*there.podman.run("ps", "-aq").split(), *there.podman.run("volume", "ls", "-q").split()]:
        raise Failed(f"{len(left)} containers and volumes are left")
    say(f"taken down in {time.monotonic() - begin:.0f} s, nothing is left")


if __name__ == "__main__":
    sys.exit(main())
