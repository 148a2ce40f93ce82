"""Which texts without a digit Spark casts to a number: the witness for what a condition refuses at once."""

import pytest

from jobs.domain.predicates.casting import _NO_DIGITS

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("engine")]
READ = [*sorted(_NO_DIGITS), "Infinity", "-INF", " inf ", "NaN"]
REFUSED = ["abc", "", "-", "é", "1_0", "infi", "+-inf", "\u0661", "e"]


@pytest.mark.parametrize("kind", ["double", "float"])
def test_spark_reads_these_words_and_no_others(runtime, kind):
    frame = runtime.new_session().createDataFrame([(text,) for text in READ + REFUSED], "text string")
    read = {row.text for row in frame.where(f"try_cast(text as {kind}) is not null").collect()}
    assert read == set(READ) - {"+nan", "-nan"} | (read & {"+nan", "-nan"})
    assert not read & set(REFUSED)
