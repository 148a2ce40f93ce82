"""The pictures of docs/ show the pages as they are. No test of the gate: taking them starts a whole product with Spark."""

from tests.pictures import staleness


def test_no_picture_is_out_of_date():
    assert staleness.warning() == ""
