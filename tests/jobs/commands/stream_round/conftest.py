"""A stream of a test, and its rounds."""

import pytest

from jobs.commands.stream_round.rules import StreamRound
from jobs.domain.engine import UNCHECKED
from tests.jobs.commands.stream_round.landing import Stream


@pytest.fixture
def stream(tmp_path):
    return Stream(tmp_path)


@pytest.fixture
def run(engine, marks, report):
    """Runs a round of a definition; answers the result."""

    def do(definition, marks=marks, **given):
        command = StreamRound("s", "orders", definition.as_json(), **given)
        return engine.run(command, {}, UNCHECKED, marks, report)

    return do
