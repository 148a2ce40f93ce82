"""What docs/cli.md says is what the program does."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from console.cli.exits import MEANING, Exit
from tests.console.cli.conftest import run
from tests.console.cli.reference import PAGE, commands, written

COMMANDS = [pytest.param(command, id=name) for name, command in commands() if not isinstance(command, click.Group)]


def test_the_page_has_the_help_of_every_command_and_every_exit_code():
    assert written(PAGE.read_text()) == PAGE.read_text(), (
        "python -m tests.console.cli.reference, and look at the difference"
    )
    assert set(MEANING) == set(Exit)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_an_example_explained_options_and_json(command):
    assert command.help
    assert "Example" in command.help
    options = [one for one in command.params if isinstance(one, click.Option)]
    assert command.name == "completion" or "--json" in [name for one in options for name in one.opts]


@pytest.mark.parametrize(
    ("shell", "word", "answer"),
    [("bash", "1", "plain,jobs"), ("zsh", "1", "jobs"), ("fish", "jo", "plain,jobs")],  # fish gives the word itself
)
def test_the_script_of_completion_is_one_for_that_shell(shell, word, answer):
    done = run("completion", shell)
    assert "_LEVEE_COMPLETE" in done.stdout
    completed = run(environment={"_LEVEE_COMPLETE": f"{shell}_complete", "COMP_WORDS": "levee jo", "COMP_CWORD": word})
    assert any(line.startswith(answer) for line in completed.stdout.splitlines()), completed.stdout


@pytest.mark.parametrize(
    ("line", "answers"),
    [
        ("levee jobs ", {"cancel", "list", "show", "watch"}),
        ("levee streams r", {"run-once"}),
        ("levee jobs --st", {"--state"}),
    ],
)
def test_a_group_that_is_a_list_completes_its_commands_and_the_options_of_the_list(line, answers):
    asked = {"_LEVEE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": "2"}
    assert {answer.removeprefix("plain,") for answer in run(environment=asked).stdout.split()} == answers


def test_each_spelling_of_help_is_the_groups_own():
    assert run("jobs", "-h").stdout == run("jobs", "--help").stdout


def test_it_starts_without_django_or_spark():
    program = (
        "import console.cli.program, sys; print(*{'django', 'celery', 'pyspark', 'rest_framework'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=Path(PAGE).parents[1], capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")
