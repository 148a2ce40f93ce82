"""What storage says when it fails is known by its own words, whatever they are wrapped in."""

import pytest

from jobs.domain.storage_causes import CAUSES, NO_SPACE, cause_led_by, cause_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("java.io.IOException: No space left on device", "No space"),
        ("java.io.IOException: Disk quota exceeded", "No space"),
        ("java.nio.file.AccessDeniedException: /lake/t", "Levee's user may not"),
        ("org.apache.hadoop.security.AccessControlException: Permission denied: user=levee", "Levee's user may not"),
        ("java.io.FileNotFoundException: /lake/t/part-0.parquet (Permission denied)", "Levee's user may not"),
        ("java.io.FileNotFoundException: /lake/t/x (Read-only file system)", "The disk is mounted read-only"),
        ("java.net.SocketTimeoutException: Read timed out", "The storage didn't answer"),
        ("java.io.IOException: Input/output error", "The storage didn't answer"),
        ("java.io.FileNotFoundException: /x (Too many open files)", "The system lets Levee open no more files"),
    ],
)
def test_each_has_words_and_says_what_to_do(text, words):
    cause = cause_of([text])
    assert cause is not None
    assert cause.words.startswith(words)
    assert cause.remedy.endswith("then request it again.")


def test_what_is_no_storage_has_none():
    assert cause_of(["java.lang.ArithmeticException: Division by zero", ""]) is None


def test_it_is_found_again_in_front_of_what_it_leads():
    assert cause_led_by(f"{NO_SPACE.words}. Spark says: Job aborted.") is NO_SPACE
    assert cause_led_by("Job aborted.") is None
    assert len({cause.words for cause in CAUSES}) == len(CAUSES)
