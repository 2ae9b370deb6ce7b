"""Several networks in one bundle, which take turns in one arena: `lowtide compile --shared-arena`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lowtide.commands.bundles import SHARED
from lowtide.commands.compiling import Compiled, write_bundle
from lowtide.commands.options import Options, flags_of
from lowtide.emit.together import Member, arena_bytes, together
from lowtide.files import Replacing


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Programs that share one arena: `files` is the whole bundle, whose header is called `name`;
    `command` makes it again."""

    name: str
    programs: tuple[Compiled, ...]
    files: Mapping[str, bytes]
    command: str

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arena, which all of them share."""
        return arena_bytes([program.assembly for program in self.programs])

    @property
    def state_bytes(self) -> int:
        """Bytes that all of them keep, each apart."""
        return sum(program.state_bytes for program in self.programs)

    @property
    def ram_bytes(self) -> int:
        """Bytes of arena and states."""
        return self.arena_bytes + self.state_bytes

    def write_as(self, folder: Path, replacing: Replacing) -> tuple[str, ...]:
        """Write the bundle into `folder`, as `Compiled.write_as`; what was removed."""
        return write_bundle(folder, self.files, replacing)


def shared(name: str, programs: Sequence[Compiled], options: Options) -> Together:
    """The programs, each compiled with `options`, in one bundle that is called `name`.

    Their names are told apart already (`check_names` of emit/together.py).
    """
    words = [program.origin.file for program in programs]
    flags = flags_of(replace(options, name=name))
    command = shlex.join(["lowtide", "compile", *words, SHARED, *flags, "-o", name])
    members = [Member(p.name, p.assembly, p.files) for p in programs]
    return Together(name, tuple(programs), together(name, members, command), command)
