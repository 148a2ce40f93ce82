from tests.console.templatetags.rendering import shown


def test_an_icon_is_silent_without_a_label_and_speaks_with_one():
    assert 'aria-hidden="true"' in shown('{% icon "clock" %}')
    labelled = shown('{% icon "clock" label=label %}', label='a "late" one')
    assert 'role="img" aria-label="a &quot;late&quot; one"' in labelled
    assert "lv-turn" in shown('{% icon "loader-2" %}')
