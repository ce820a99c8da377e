"""The error that bad input ends in."""

__all__ = ["InputError"]


class InputError(Exception):
    """Bad input from a file or a command line: one line naming source, field and what is allowed.

    Parameters
    ----------
    source : str
        File, option or argument that the input came from.
    field : str
        Field in it, as a dotted path; empty if the whole of it is bad.
    message : str
        What is allowed and what was given, on one line.
    """

    def __init__(self, source: str, field: str, message: str) -> None:
        self.source, self.field, self.message = source, field, " ".join(message.split())
        parts = [part for part in (source, field, self.message) if part]
        super().__init__(": ".join(parts))
