"""Forms of people, grants and tokens."""

from __future__ import annotations

from django import forms

from console.accounts.roles import SCOPE_MEANS, Role


class ConfirmForm(forms.Form):
    """The password of the person who is signed in."""

    password = forms.CharField(
        strip=False,
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


class ChangePasswordForm(forms.Form):
    """The old password and a new one, twice."""

    old_password = forms.CharField(
        strip=False, label="Current password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )
    new_password = forms.CharField(
        strip=False,
        label="New password",
        help_text="At least 12 characters. Not a common password, not digits only, not a few characters repeated.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    new_password_again = forms.CharField(
        strip=False,
        label="Confirm the new password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean_new_password_again(self) -> str:
        again = str(self.cleaned_data["new_password_again"])
        if again != self.cleaned_data.get("new_password"):
            raise forms.ValidationError("The two new passwords differ.")
        return again


class TokenForm(forms.Form):
    """A new token's label and scopes."""

    label = forms.CharField(max_length=100, label="What it is for")
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, f"{scope.value}: {text}") for scope, text in SCOPE_MEANS.items()],
        initial=["read", "request"],
        help_text="With approve it expires after 90 days, otherwise after a year. You need your password again to create one.",
        widget=forms.CheckboxSelectMultiple,
    )


class CodeForm(forms.Form):
    """The code that a program shows."""

    code = forms.CharField(
        max_length=40,
        help_text="Eight letters, such as WDJB-MJHT. It holds for ten minutes. You need your password again to go on.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "spellcheck": "false", "autofocus": True}
        ),
    )


class FirstPasswordForm(forms.Form):
    """The first password of a person who opened their link, twice."""

    link = forms.CharField(max_length=100, widget=forms.HiddenInput)
    new_password = forms.CharField(
        strip=False,
        label="Password",
        help_text="At least 12 characters. Not a common password, not digits only, not a few characters repeated.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "autofocus": True}),
    )
    new_password_again = forms.CharField(
        strip=False, label="Confirm the password", widget=forms.PasswordInput(attrs={"autocomplete": "new-password"})
    )

    def clean_new_password_again(self) -> str:
        again = str(self.cleaned_data["new_password_again"])
        if again != self.cleaned_data.get("new_password"):
            raise forms.ValidationError("The two passwords differ.")
        return again


class NewPersonForm(forms.Form):
    """A new person; Levee makes a link with which they set their password."""

    name = forms.CharField(
        max_length=64,
        help_text="Letters, digits and . _ @ + -",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    role = forms.ChoiceField(
        label="Role on everything",
        choices=[("", "none yet"), *((r.value, r.value) for r in Role)],
        required=False,
    )


class GrantForm(forms.Form):
    """A role and its scope."""

    role = forms.ChoiceField(choices=[(r.value, r.value) for r in Role], initial=Role.VIEWER.value)
    on = forms.CharField(
        label="Where",
        initial="everything",
        max_length=4200,
        help_text="everything, root:NAME or table:PATH",
        widget=forms.TextInput(attrs={"list": "places", "autocomplete": "off"}),
    )
