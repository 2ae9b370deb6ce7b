"""What can go wrong between a bundle of C and its results, as errors meant for the user.

Apart from `lowtide.errors` because only programs that are built and run can fail in these ways.
"""

from __future__ import annotations

from typing import Literal

from lowtide.errors import LowtideError

Memory = Literal["RAM", "flash"]


class DoesNotFitError(LowtideError):
    """The program needs more memory than the board has.

    `missing_bytes` is by how much, `needed_bytes` what the program needs in all, as far as known.
    """

    exit_code = 1

    def __init__(
        self, cause: str, remedy: str, *, memory: Memory, missing_bytes: int, needed_bytes: int
    ) -> None:
        super().__init__(cause, remedy)
        self.memory = memory
        self.missing_bytes = missing_bytes
        self.needed_bytes = needed_bytes


class BuildError(LowtideError):
    """The generated C does not compile or link: a fault of lowtide, not of the user."""

    exit_code = 1


class ProgramError(LowtideError):
    """The program crashed, hung, tripped a sanitizer, or returned a status other than 0."""

    exit_code = 1
