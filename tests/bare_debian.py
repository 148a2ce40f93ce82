"""Proves the README's two commands on a machine that has only git, make, python3 and python3-venv.

Builds a bare Debian 12 below a directory, clones this repository's HEAD into copies of it and starts Levee there: as an
ordinary user, who is told what to install and succeeds once it is installed, and as root, for whom it is installed.

    python3 tests/bare_debian.py [--only user|root] [--test-fast] [--keep DIRECTORY]

Needs root, debootstrap and a Debian host: packages come from where the host's apt gets bookworm's. 3 GB, some minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
INCLUDED = "ca-certificates,git,make,python3,python3-venv"
FIRST_START_LIMIT = 20 * 60
STOP_LIMIT = 60
# debootstrap leaves this to Debian's installer, which always writes it, as every container runtime does.
HOSTS = "127.0.0.1 localhost\n"
# Like most containers: packages may not start services. Levee needs none of them started.
NO_SERVICES = "#!/bin/sh\nexit 101\n"
HOST_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")
HOST_JAVA_TRUST = Path("/etc/ssl/certs/java/cacerts")


class Failed(Exception):
    """The proof didn't hold; the message says where."""


@dataclass(frozen=True)
class Person:
    name: str
    uid: int

    @property
    def home(self) -> str:
        return "/root" if self.uid == 0 else f"/home/{self.name}"


ROOT, USER = Person("root", 0), Person("levee", 1000)


@dataclass(frozen=True)
class Machine:
    """One copy of the bare system, with the commands' output in `logs`."""

    root: Path
    logs: Path
    port: int

    def start(self, person: Person, command: str, label: str) -> subprocess.Popen[bytes]:
        """Start a shell command there, in a session of its own and with a bare environment."""
        words = ["chroot", f"--userspec={person.uid}:{person.uid}", "--groups=", str(self.root)]
        with self.log(label).open("wb") as out:
            return subprocess.Popen(
                [*words, "sh", "-c", f"cd {person.home} && {command}"],
                env=self._environment(person),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def run(self, person: Person, command: str, label: str, succeeds: bool = True) -> str:
        """Run to the end; its output. Raises Failed when it ends otherwise than it should."""
        code = self.start(person, command, label).wait()
        text = self.log(label).read_text(errors="replace")
        if (code == 0) != succeeds:
            raise Failed(f"{label}: `{command}` as {person.name} ended with {code}\n{text[-4000:]}")
        return text

    def log(self, label: str) -> Path:
        return self.logs / f"{self.root.name}-{label}.log"

    def processes(self) -> list[int]:
        """Everything that still runs in there, whoever started it."""
        pids = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in pids if _root_of(pid) == str(self.root)]

    def _environment(self, person: Person) -> dict[str, str]:
        """A network that signs TLS itself is the host's affair; the bare system only trusts whom the host trusts."""
        trust = "/etc/ssl/outer-ca.crt"
        trusting = dict.fromkeys(["SSL_CERT_FILE", "PIP_CERT", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO"], trust)
        java = {"JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/etc/ssl/outer-cacerts"}
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        own = {"HOME": person.home, "LANG": "C.UTF-8", "PATH": path, "LEVEE_PORT": str(self.port)}
        return own | trusting | (java if HOST_JAVA_TRUST.is_file() else {})


def _root_of(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/root").readlink())
    except OSError:
        return None


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return f"{pid}, gone by now"
    return f"{pid} " + " ".join(word for word in words if ".jar" not in word)


def say(sentence: str) -> None:
    print(f"{time.strftime('%T')} bare Debian: {sentence}", flush=True)


def make_base(directory: Path) -> Path:
    """The bare system, made once per directory."""
    base, done = directory / "base", directory / "base.done"
    if done.exists():
        return base
    begin = time.monotonic()
    uri, suite = _debian()
    with (directory / "debootstrap.log").open("wb") as log:
        command = ["debootstrap", "--variant=minbase", f"--include={INCLUDED}", suite, str(base), uri]
        subprocess.run(command, stdout=log, stderr=log, check=True)
    policy = base / "usr" / "sbin" / "policy-rc.d"
    policy.write_text(NO_SERVICES)
    policy.chmod(0o755)
    (base / "etc" / "hosts").write_text(HOSTS)
    shutil.copy(HOST_TRUST, base / "etc" / "ssl" / "outer-ca.crt")
    if HOST_JAVA_TRUST.is_file():
        shutil.copy(HOST_JAVA_TRUST, base / "etc" / "ssl" / "outer-cacerts")
    done.touch()
    say(f"made in {time.monotonic() - begin:.0f} s")
    return base


def _debian() -> tuple[str, str]:
    """Where the host's apt gets bookworm's main part, and the suite's name there."""
    fields = "$(CREATED_BY) $(COMPONENT) $(CODENAME) $(RELEASE) $(REPO_URI)"
    listing = subprocess.run(
        ["apt-get", "indextargets", "--format", fields], check=True, capture_output=True, text=True
    )
    for line in listing.stdout.splitlines():
        created, component, codename, release, uri = line.split(maxsplit=4)
        if (created, component, codename, release) == ("Packages", "main", "bookworm", "bookworm"):
            return uri, release
    raise Failed("the host's apt has no bookworm")


@contextmanager
def machine(directory: Path, name: str) -> Iterator[Machine]:
    """A fresh copy of the base with HEAD's bundle in it; afterwards nothing of it runs or is mounted."""
    root = directory / name
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(make_base(directory)), str(root)], check=True)
    subprocess.run(["mount", "-t", "proc", "proc", str(root / "proc")], check=True)
    there = Machine(root, directory, _free_port())
    try:
        there.run(ROOT, f"useradd --create-home --uid {USER.uid} {USER.name}", "useradd")
        bundle = root / "srv" / "levee.bundle"
        subprocess.run(["git", "-C", str(REPOSITORY), "bundle", "create", "-q", str(bundle), "HEAD"], check=True)
        yield there
    finally:
        for pid in there.processes():
            os.kill(pid, signal.SIGKILL)
        subprocess.run(["umount", str(root / "proc")], check=False)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def runs(there: Machine, person: Person, label: str) -> None:
    """`make run` until a page answers, then Ctrl-C: it must end by itself and leave nothing running."""
    begin = time.monotonic()
    process = there.start(person, "cd levee && exec make run", label)
    _await_ready(there, process, label, begin)
    text = _page(there.port)
    if "Levee" not in text:
        raise Failed(f"{label}: that is not Levee's page:\n{text[:2000]}")
    say(f"{label}: a page after {time.monotonic() - begin:.0f} s")
    _interrupt(there, process, label)


def _await_ready(there: Machine, process: subprocess.Popen[bytes], label: str, begin: float) -> None:
    while "ready on" not in there.log(label).read_text(errors="replace").lower():
        if process.poll() is not None:
            raise Failed(f"{label}: `make run` ended by itself\n{there.log(label).read_text(errors='replace')[-4000:]}")
        if time.monotonic() - begin > FIRST_START_LIMIT:
            raise Failed(f"{label}: no page after {FIRST_START_LIMIT} s")
        time.sleep(0.1)


def _page(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        return str(answer.read().decode())


def _interrupt(there: Machine, process: subprocess.Popen[bytes], label: str) -> None:
    """Ctrl-C reaches the whole foreground group of a terminal, as this does."""
    begin = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    process.wait(STOP_LIMIT)
    if left := there.processes():
        raise Failed(f"{label}: still running after Ctrl-C: {[_command(pid) for pid in left]}")
    say(f"{label}: stopped whole in {time.monotonic() - begin:.1f} s")


def prove_for_user(directory: Path) -> None:
    """An ordinary user is told what to install, in one line each; once root has done that, `make run` works."""
    with machine(directory, "user") as there:
        there.run(USER, "git clone -q /srv/levee.bundle levee", "clone")
        text = there.run(USER, "cd levee && make run", "refused", succeeds=False)
        wanted = re.findall(r"As root run: (apt-get install .*)", text)
        say(f"an ordinary user is told: {wanted}")
        if not wanted:
            raise Failed(f"the user was not told what to install:\n{text}")
        for command in wanted:
            there.run(ROOT, f"apt-get update && {command} -y --no-install-recommends", "apt")
        runs(there, USER, "user-first")
        runs(there, USER, "user-second")


def prove_for_root(directory: Path, test_fast: bool) -> None:
    """Root needs nothing but the two commands."""
    with machine(directory, "root") as there:
        there.run(ROOT, "git clone -q /srv/levee.bundle levee", "clone")
        runs(there, ROOT, "root-first")
        runs(there, ROOT, "root-second")
        if test_fast:
            begin = time.monotonic()
            text = there.run(ROOT, "cd levee && make test-fast", "test-fast")
            say(f"make test-fast: {time.monotonic() - begin:.0f} s, {text.strip().splitlines()[-1]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["user", "root"], help="one of the two proofs")
    parser.add_argument("--test-fast", action="store_true", help="run `make test-fast` there as well, as root")
    parser.add_argument("--keep", type=Path, metavar="DIRECTORY", help="work there and leave it behind")
    options = parser.parse_args()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("bare Debian: needs root and debootstrap (apt-get install debootstrap)", file=sys.stderr)
        return 2
    directory = options.keep or Path(tempfile.mkdtemp(prefix="levee-bare-", dir="/var/tmp"))
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    try:
        if options.only != "root":
            prove_for_user(directory)
        if options.only != "user":
            prove_for_root(directory, options.test_fast)
    except Failed as failure:
        say(f"FAILED: {failure}")
        return 1
    finally:
        if not options.keep:
            shutil.rmtree(directory, ignore_errors=True)
    say("both commands hold")
    return 0


if __name__ == "__main__":
    sys.exit(main())
