"""The one kind of error that stops a start."""


class StartRefused(Exception):
    """The instance can't start. The message is one line for a person, naming the setting at fault."""
