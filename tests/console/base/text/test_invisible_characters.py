"""What can't be seen is spelled out among a page's words, kept in what a form sends, and then marked beside its field."""

import pytest

from console.base.text.invisible_characters import in_page

MARK = '<small class="form-hint">This field holds characters that can’t be seen: {}.</small>'


def page(html):
    return in_page(html.encode()).decode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("\u2066a\u2069", "⟨U+2066⟩a⟨U+2069⟩"),
        ("\u200ea\u200f\u061c", "⟨U+200E⟩a⟨U+200F⟩⟨U+061C⟩"),
        ("\x1b[2J\x07\x9b\x7f", "⟨U+001B⟩[2J⟨U+0007⟩⟨U+009B⟩⟨U+007F⟩"),
        ("F\u200bR\u2060\ufeff\xad\U000e0041", "F⟨U+200B⟩R⟨U+2060⟩⟨U+FEFF⟩⟨U+00AD⟩⟨U+E0041⟩"),
        ("a\u2028b\rc", "a⟨U+2028⟩b⟨U+000D⟩c"),
        ("a\tb\r\nc\n", "a\tb\nc\n"),
        ("Anna\u200d", "Anna⟨U+200D⟩"),
        ("\u0645\u06cc\u200c\u062e 👩\u200d💻", "\u0645\u06cc\u200c\u062e 👩\u200d💻"),
        ("größe – 表 ⟨x⟩", "größe – 表 ⟨x⟩"),
        (
            "a\u034fb\u115f\u1160\u17b4\u2800\u3164\uffa0",
            "".join(("a⟨U+034F⟩b", *(f"⟨U+{code}⟩" for code in ("115F", "1160", "17B4", "2800", "3164", "FFA0")))),
        ),
        ("Anna\xa0Smith\u2003x\u202fy", "Anna⟨U+00A0⟩Smith⟨U+2003⟩x⟨U+202F⟩y"),
        ("5\xa0000\u202f€ : « oui\xa0» non\u202f!", "5\xa0000\u202f€ : « oui\xa0» non\u202f!"),
        ("a\u3000b 東\u3000京", "a⟨U+3000⟩b 東\u3000京"),
        ("a\u3000\u3000b\u3000\ufe0f", "a⟨U+3000⟩⟨U+3000⟩b⟨U+3000⟩⟨U+FE0F⟩"),
        ("‼\ufe0f ⁉\ufe0f ❤\ufe0f\u200d🔥", "‼\ufe0f ⁉\ufe0f ❤\ufe0f\u200d🔥"),
        (
            "F\ufe0fR\U000e0100 ❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100",
            "F⟨U+FE0F⟩R⟨U+E0100⟩ ❤\ufe0f 1\ufe0f\u20e3 葛\U000e0100",
        ),
        ("a\u180bb \u1820\u180b", "a⟨U+180B⟩b \u1820\u180b"),
    ],
)
def test_a_text_shows_what_is_in_it(text, shown):
    assert page(f'<p title="{text}">{text}</p>') == f'<p title="{shown}">{shown}</p>'


@pytest.mark.parametrize(
    ("field", "shown"),
    [
        ('<input name="q" value="a\u202e">', '<input name="q" value="a\u202e">' + MARK.format("⟨U+202E⟩")),
        ('<input value="\x07" title="\x07">', '<input value="\x07" title="⟨U+0007⟩">' + MARK.format("⟨U+0007⟩")),
        ('<input type="hidden" name="q" value="a\u202e">', '<input type="hidden" name="q" value="a\u202e">'),
        ('<button name="q" value="\u200b">\u200b</button>', '<button name="q" value="\u200b">⟨U+200B⟩</button>'),
        (
            '<textarea title="\x1b>">\u2066x\u2066\r\n\u200f</textarea>',
            '<textarea title="⟨U+001B⟩>">\u2066x\u2066\r\n\u200f</textarea>' + MARK.format("⟨U+2066⟩, ⟨U+200F⟩"),
        ),
        ('<option value="\u202e">\u202e</option>', '<option value="\u202e">⟨U+202E⟩</option>'),
        ('<option selected>a&quot;"\u202e</option>', '<option selected value="a&quot;&quot;\u202e">a&quot;"⟨U+202E⟩</option>'),
        ("<textarea>x</textarea><input value='y'>\u202e", "<textarea>x</textarea><input value='y'>⟨U+202E⟩"),
    ],
)  # fmt: skip
def test_a_form_sends_back_what_it_was_given(field, shown):
    assert page(field) == shown
