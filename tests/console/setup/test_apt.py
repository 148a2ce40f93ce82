"""Who may install gets it installed; who may not is told what to type."""

import os
import shutil

import pytest

from console.setup import apt
from console.setup.places import Places
from console.setup.troubles import CannotInstall, CommandFailed

CHOICES = ["openjdk-17-jre-headless", "openjdk-21-jre-headless"]


@pytest.fixture
def system(monkeypatch, tmp_path):
    """A Debian whose commands are only written down; `known` are the packages it has."""

    class System:
        known = set(CHOICES)
        sudo = False
        fails_with: list[str] = []
        commands: list[list[str]] = []
        places = Places(tmp_path)

        def answer(self, command: list[str]) -> str | None:
            if command[0] == "sudo":
                return "" if self.sudo else None
            return "Package: …" if command[-1] in self.known else None

        def run(self, command: list[str], log) -> None:
            self.commands.append(command)
            if "install" in command and self.fails_with:
                raise CommandFailed(command, 100, log, self.fails_with.pop())

    system = System()
    system.commands, system.fails_with = [], []
    monkeypatch.setattr(apt, "answer", system.answer)
    monkeypatch.setattr(apt, "run", system.run)
    monkeypatch.setattr(apt, "_updated", set())
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return system


def installed(system) -> list[str]:
    return [command[-1] for command in system.commands if "install" in command]


def test_root_gets_the_first_package_that_exists(system, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    system.known = {CHOICES[1]}
    apt.install(system.places, "Java", CHOICES)
    assert installed(system) == [CHOICES[1]]
    assert not any("sudo" in command for command in system.commands)


def test_lists_are_fetched_once_for_several_packages(system, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    apt.install(system.places, "Java", CHOICES)
    apt.install(system.places, "Java", CHOICES)
    assert sum("update" in command for command in system.commands) == 1


def test_a_sudo_without_password_is_used(system):
    system.sudo = True
    apt.install(system.places, "Java", CHOICES)
    assert all(command[:2] == ["sudo", "-n"] for command in system.commands)


def test_an_ordinary_user_is_told_the_command(system):
    with pytest.raises(CannotInstall, match=r"^Java: .* As root run: apt-get install openjdk-17-jre-headless$"):
        apt.install(system.places, "Java", CHOICES)
    assert system.commands == []


def test_a_system_without_apt_is_told_so(system, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CannotInstall, match="no apt-get"):
        apt.install(system.places, "Java", CHOICES)


def test_an_unknown_package_is_named(system):
    system.sudo, system.known = True, set()
    with pytest.raises(CannotInstall, match="knows none of openjdk-17-jre-headless, openjdk-21-jre-headless"):
        apt.install(system.places, "Java", CHOICES)


def test_an_installation_that_was_killed_is_finished_first(system):
    system.sudo = True
    system.fails_with = ["E: dpkg was interrupted, you must manually run 'dpkg --configure -a'"]
    apt.install(system.places, "Java", CHOICES)
    assert ["dpkg", "--configure", "-a"] in [command[-3:] for command in system.commands]
    assert installed(system) == [CHOICES[0], CHOICES[0]]


def test_any_other_failure_is_passed_on(system):
    system.sudo = True
    system.fails_with = ["E: Unable to fetch some archives"]
    with pytest.raises(CommandFailed, match="Unable to fetch"):
        apt.install(system.places, "Java", CHOICES)
