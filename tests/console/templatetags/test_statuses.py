from tests.console.templatetags.rendering import shown


def test_a_status_is_icon_and_word():
    status = shown("{% status state %}", state="failed")
    assert "lv-is-bad" in status
    assert "icons.svg#circle-x" in status
    assert status.endswith(">Failed</span>".removeprefix(">"))
    assert "lv-pill" not in status
    assert "lv-pill" in shown("{% status 'failed' pill=True %}")
