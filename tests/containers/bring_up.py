"""Proves docker-compose.yml: builds both images, brings everything up, works with it over HTTP, restarts it, takes it down.

    python3 tests/containers/bring_up.py [--keep DIRECTORY] [--leave-running] [--source DIRECTORY]

Needs root, podman, runc, netavark, aardvark-dns and debootstrap, and a network for packages; 6 GB and, on two cores, about half
an hour the first time. By hand only: pytest collects nothing here. tests/containers/podman.py says what stands in for the base images.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.containers.journeys import Console, delete_by_two, first_sign_in, still_there, stream_of_rows, taken_over
from tests.containers.podman import REPOSITORY, Failed, Podman, say

PROJECT = "levee"
PARTS = ("web", "light", "dispatcher", "interactive", "spark", "streams")
OF_SPARK = ("spark-2", "spark-master", "spark-worker-1", "spark-worker-2")  # /health/ready knows kinds, and no daemons
SERVICES = ("postgres", "redis", *PARTS, *OF_SPARK)
HEALTHY_LIMIT_S = 900.0
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

    def logs(self, service: str) -> str:
        done = subprocess.run(
            ["podman", "logs", f"{PROJECT}_{service}_1"], env=self.podman.environment, capture_output=True, text=True
        )
        return done.stdout + done.stderr

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
    begin = time.monotonic()
    there.compose("up", "up", "-d", "--no-build")
    console = Console(f"http://127.0.0.1:{PORT}", there.manage, there.run)
    console.await_ready(PARTS)
    say(f"every part is ready {time.monotonic() - begin:.0f} s after `up`")
    there.await_healthy()
    _hold_safe(there)
    first_sign_in(console, there.logs("prepare"))
    known = taken_over(console)
    known = delete_by_two(console, known)
    stream_of_rows(console, known)
    begin = time.monotonic()
    there.compose("restart", "restart", *SERVICES)
    console.await_ready(PARTS)
    say(f"every part is ready {time.monotonic() - begin:.0f} s after a restart of every service")
    still_there(console, known)
    there.await_healthy()


def _hold_safe(there: Composition) -> None:
    """What the file promises of each container, asked of the containers themselves."""
    for service in SERVICES:
        described = json.loads(there.podman.run("inspect", f"{PROJECT}_{service}_1"))[0]
        if there.run(service, "id", "-u").strip() == "0":
            raise Failed(f"{service} runs as root")
        status = there.run(service, "cat", "/proc/1/status")
        rights = [
            line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))
        ]
        if [int(text, 16) for text in rights] != [0, 0, 1]:
            raise Failed(f"{service} has rights: {rights}")
        if not described["HostConfig"]["ReadonlyRootfs"]:
            raise Failed(f"{service} may write to its own image")
    for secret in ("LEVEE_DATABASE_ADMIN_URL", "LEVEE_DB_MIGRATE_PASSWORD"):
        if secret in "".join(there.run(part, "env") for part in (*PARTS, *OF_SPARK)):
            raise Failed(f"a part other than prepare knows {secret}")
    if "java" in there.podman.run(
        "run", "--rm", "--entrypoint", "sh", "localhost/levee-web", "-c", "ls /usr/lib/jvm || true"
    ):
        raise Failed("the web image has a Java")
    say("no service is root, has a capability, may gain one, or writes to its image; only prepare may migrate")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="work there, and leave images and packages behind"
    )
    parser.add_argument("--source", type=Path, default=REPOSITORY, help="the clone to build (this one unless told)")
    parser.add_argument("--leave-running", action="store_true", help="don't take it down at the end; needs --keep")
    options = parser.parse_args()
    lacking = [program for program in ("podman", "runc", "debootstrap") if not shutil.which(program)]
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
        for target in ("web", "spark"):
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
    if left := there.podman.run("ps", "-aq").split():
        raise Failed(f"{len(left)} containers are left")
    say(f"taken down in {time.monotonic() - begin:.0f} s, nothing is left")


if __name__ == "__main__":
    sys.exit(main())
