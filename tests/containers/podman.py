"""Podman with storage, networks and settings of its own below one directory, and stand-ins of the base images.

The stand-ins are made of Debian's packages, with the entry point, user, port and environment that docker-compose.yml relies
on: a machine that reaches no registry of images can build and run everything all the same. The object store isn't one of those
packages: it is the program itself, built by Go from its own module.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STANDINS = Path(__file__).with_name("standins")
BASES = {"python": "python:3.11-slim-bookworm", "postgres": "postgres:15", "redis": "redis:7"}
STORE = "versitygw"  # of the image and of its program
STORE_MODULE = "github.com/versity/versitygw/cmd/versitygw"
# The host's trust, where its network signs TLS itself: for the build alone, and taken out of what is built.
TRUST = {
    Path("/etc/ssl/certs/ca-certificates.crt"): "/etc/ssl/outer-ca.crt",
    Path("/etc/ssl/certs/java/cacerts"): "/etc/ssl/outer-cacerts",
}
TRUSTING = {
    "SSL_CERT_FILE": "/etc/ssl/outer-ca.crt",
    "PIP_CERT": "/etc/ssl/outer-ca.crt",
    "NODE_EXTRA_CA_CERTS": "/etc/ssl/outer-ca.crt",
    "JAVA_TOOL_OPTIONS": "-Djavax.net.ssl.trustStore=/etc/ssl/outer-cacerts",
}
CONTAINERS = """
[containers]
default_ulimits = ["nofile=4096:8192", "nproc=8192:8192"]
[network]
network_backend = "netavark"
network_config_dir = "{directory}/networks"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
STORAGE = """
[storage]
driver = "overlay"
graphroot = "{directory}/storage"
runroot = "{directory}/run"
"""


class Failed(Exception):
    """It didn't hold; the message says where."""


def say(sentence: str) -> None:
    print(f"{time.strftime('%T')} containers: {sentence}", flush=True)


@dataclass(frozen=True)
class Podman:
    """Podman as it is set up below `directory`."""

    directory: Path

    def prepare(self) -> None:
        for name, text in (("containers.conf", CONTAINERS), ("storage.conf", STORAGE)):
            (self.directory / name).write_text(text.format(directory=self.directory))

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "CONTAINERS_CONF": str(self.directory / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self.directory / "storage.conf"),
        }
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LEVEE_")}
        return {**kept, **own, "PATH": f"{self.directory / 'compose' / 'bin'}:{os.environ['PATH']}"}

    def run(self, *words: str, given: str | None = None, check: bool = True) -> str:
        """The output of a podman command. Raises Failed with what it said: `audit verify` names what differs on its standard output."""
        done = subprocess.run(
            ["podman", *words], env=self.environment, input=given, capture_output=True, text=True, errors="replace"
        )
        if check and done.returncode:
            raise Failed(f"podman {' '.join(words)}: {done.stdout.strip()[-3000:]}\n{done.stderr.strip()[-3000:]}")
        return done.stdout

    def logged(self, label: str, *words: str, cwd: Path | None = None) -> None:
        """A long command, with its output in a file."""
        log = self.directory / f"{label}.log"
        begin = time.monotonic()
        with log.open("wb") as out:
            code = subprocess.run(words, env=self.environment, cwd=cwd, stdout=out, stderr=out).returncode
        if code:
            raise Failed(f"{label} ended with {code}: {log.read_text(errors='replace')[-3000:]}")
        say(f"{label}: {time.monotonic() - begin:.0f} s")

    def has(self, image: str) -> bool:
        code = subprocess.run(["podman", "image", "exists", image], env=self.environment).returncode
        return code == 0

    def make_bases(self) -> None:
        """The stand-ins, each once per directory."""
        if not self.has("localhost/standin-debian"):
            base = self._debian()
            archive = self.directory / "base.tar"
            self.logged("archive", "tar", "-C", str(base), "--one-file-system", "-cf", str(archive), ".")
            self.logged("import", "podman", "import", str(archive), "localhost/standin-debian")
            archive.unlink()
        for name, image in BASES.items():
            if not self.has(f"localhost/{image}"):
                self.logged(name, *_BUILD, "-t", f"localhost/{image}", str(STANDINS / name))
        self._make_store()

    def _make_store(self) -> None:
        """The object store of the version that the Dockerfile names."""
        found = re.search(r"^FROM (versity/versitygw:(v\S+)) AS store$", (REPOSITORY / "Dockerfile").read_text(), re.M)
        if found is None:
            raise Failed("the Dockerfile has no stage `store`")
        if self.has(f"localhost/{found[1]}"):
            return
        place = self.directory / STORE / found[2]
        if not (place / STORE).is_file():
            wanted = f"{STORE_MODULE}@{found[2]}"
            settings = (f"GOBIN={place}", "CGO_ENABLED=0", f"GOMODCACHE={self.directory / 'go'}")
            self.logged(
                f"go-{STORE}", "env", *settings, "go", "install", "-modcacherw", "-trimpath", "-ldflags=-s -w", wanted
            )
        shutil.copy(STANDINS / STORE / "Dockerfile", place)
        self.logged(STORE, *_BUILD, "-t", f"localhost/{found[1]}", str(place))

    def _debian(self) -> Path:
        base = self.directory / "base"
        if not (base / "etc" / "debian_version").is_file():
            fields = "$(CREATED_BY) $(COMPONENT) $(CODENAME) $(RELEASE) $(REPO_URI)"
            lines = subprocess.run(["apt-get", "indextargets", "--format", fields], capture_output=True, text=True)
            uris = [line.split(maxsplit=4)[4] for line in lines.stdout.splitlines() if line.split()[:4] == _BOOKWORM]
            if not uris:
                raise Failed("the host's apt has no bookworm")
            wanted = "--include=ca-certificates"
            self.logged("debootstrap", "debootstrap", "--variant=minbase", wanted, "bookworm", str(base), uris[0])
        return base

    def build(self, target: str, context: Path) -> None:
        """One of the project's images, from its Dockerfile as it is."""
        volumes = [f"--volume={host}:{there}:ro" for host, there in TRUST.items() if host.is_file()]
        environment = [f"--env={name}={value}" for name, value in TRUSTING.items()]
        built = f"localhost/levee-{target}-built"
        self.logged(f"build-{target}", *_BUILD, *volumes, *environment, "--target", target, "-t", built, str(context))
        forgotten = [f"--unsetenv={name}" for name in TRUSTING]
        again = (
            f"FROM {built}\nENV LEVEE_HOME=/var/lib/levee\n"  # without an instruction, nothing is built and all stays
        )
        self.run("build", "-q", *forgotten, "-t", f"localhost/levee-{target}", "-", given=again)

    def install_compose(self) -> None:
        """podman-compose, in an environment of its own."""
        if shutil.which("podman-compose", path=self.environment["PATH"]) is None:
            place = self.directory / "compose"
            self.logged("compose-venv", sys.executable, "-m", "venv", str(place))
            self.logged("compose-install", str(place / "bin" / "pip"), "install", "podman-compose")


_BOOKWORM = ["Packages", "main", "bookworm", "bookworm"]
_BUILD = ("podman", "build", "--network=host")
