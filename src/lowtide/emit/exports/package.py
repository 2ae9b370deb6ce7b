"""What every layout of a package is made from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from lowtide.program.assemble import Assembly

VERSION: Final = "1.0.0"
SPDX_C: Final = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SPDX: Final = "# SPDX-License-Identifier: Apache-2.0\n"


@dataclass(frozen=True, slots=True)
class Package:
    """A program `name` as a package; `sources` are the names of its .c files, in src/."""

    name: str
    assembly: Assembly = field(repr=False)
    sources: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """What it is, in a line."""
        return f"The neural network {self.name} as C99 that runs in little RAM, made by lowtide"


def readme(package: Package, build_system: str, how: str) -> str:
    """The README of a package: how its build system uses it."""
    return f"""# {package.name}, for {build_system}

{package.sentence}.

{how.strip()}

`src/README.md` describes the C interface and the memory that the network needs. Several networks may be
in one program if all of them were made by the same version of lowtide. Name, version, author and address
of the package are there to be changed.
"""
