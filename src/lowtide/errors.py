"""Every error that lowtide shows to a user, with its exit code.

The command line prints ``str(error)`` as one message and leaves with ``error.exit_code``; the API
raises the same classes. A message says what is wrong and, after "remedy:", what to do about it.

Exit codes: 0 fine, 1 does not fit or differs, 2 usage, 3 unusable model, 4 missing tool, 5 a fault of
lowtide's own: one that it finds itself, or (of the command line alone: the API lets the exception
through) one that nobody foresaw.
"""

from __future__ import annotations

from typing import ClassVar


class LowtideError(Exception):
    """Base of all errors meant for the user."""

    exit_code: ClassVar[int] = 1

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}\n  remedy: {remedy}")
        self.cause = cause
        self.remedy = remedy

    def __reduce__(self) -> tuple[object, ...]:
        """From process to process with all that it says, whatever it was made of."""
        return (_again, (type(self), self.args, self.__dict__))


def _again(kind: type[LowtideError], args: tuple[object, ...], state: dict[str, object]) -> object:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def how_to_install(extra: str) -> str:
    """The remedy for packages that the extra has. There is no release, so a checkout has to do."""
    return f'run `pip install ".[{extra}]"` in your checkout of lowtide'


class DiffersError(LowtideError):
    """A result is not bit for bit what the reference kernels give."""

    exit_code = 1


class FaultError(LowtideError):
    """Lowtide itself is at fault: what it built contradicts itself, and no result can be right."""

    exit_code = 5

    def __init__(self, cause: str) -> None:
        super().__init__(cause, "this is an internal error of lowtide; report it, with the model")


class InfeasibleError(LowtideError):
    """No plan meets the limits; the message names the nearest ones."""

    exit_code = 1


class UsageError(LowtideError):
    """An argument is unusable: unknown name, unwritable output, unknown file ending."""

    exit_code = 2


class ModelError(LowtideError):
    """The model is not a usable .tflite file, or uses what lowtide cannot schedule."""

    exit_code = 3


class FloatError(ModelError):
    """An operator computes with floats: the network is to be quantised first."""


class MissingToolError(LowtideError):
    """A program or package that the command needs is not installed."""

    exit_code = 4
