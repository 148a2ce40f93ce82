from django import forms

from console.templatetags.formatting import fields


def test_a_control_has_the_classes_of_its_kind_and_keeps_its_attributes():
    class Sample(forms.Form):
        name = forms.CharField(widget=forms.TextInput({"autocomplete": "username"}))
        kind = forms.ChoiceField(choices=[("a", "a")])
        sure = forms.BooleanField()

    form = Sample()
    assert 'class="form-control"' in fields.control(form["name"])
    assert 'autocomplete="username"' in fields.control(form["name"])
    assert 'class="form-control lv-select"' in fields.control(form["kind"])
    assert "class=" not in fields.control(form["sure"])
