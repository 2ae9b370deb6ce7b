"""What of a board's kernels compared cases execute: instructions, and both outcomes of conditions.

    branches, loops   the emulator's plugin counts how often each instruction ran, and went elsewhere
    IT blocks, CSEL   flags decide what in them is done, which the plugin cannot see. So the cases run
                      once more, an instruction at a time, and the emulator writes the flags there
    predicated tails  the same of the elements that are left at the end of such a loop's round

Why of the program and not of the C: a compiler makes branches that no line of C has, and assembly has
those of its own.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import tempfile
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from lowtide.emit.runtime import kernel_files
from lowtide.machines.board import find_board
from lowtide.machines.disassembly import Instruction, Listing, read_listing
from lowtide.machines.emulate import find_emulator
from lowtide.machines.finding import find_compiler
from lowtide.machines.profiled import PLUGIN_SOURCES, plugin_version

from .boards import Program

_PLUGIN_FLAGS = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-O2", "-fPIC", "-shared")
_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_ENCODED = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
# CSEL and its like, which objdump does not know: 1110 1010 0101 nnnn 10oo dddd cccc mmmm. With SP as m,
# which these have not, it is a shift of 64 bits: LSLL or ASRL.
_SELECT = re.compile(r"<UNDEFINED> instruction: 0xea5[0-9a-f][89ab][0-9a-f]([0-9a-d])[0-9a-cef]$")
_BRANCH = re.compile(rf"^(b({_CONDITIONS})(\.[nw])?|cbn?z|le|letp|wls|wlstp\.\d+)$")
_IT = re.compile(r"^it([te]{0,3})$")
_TAIL = re.compile(r"^[wd]lstp\.(8|16|32)$")
_VECTOR_BITS = 128
_LEAVES = re.compile(r"^(b(\.[nw])?|bx|pop(\.w)?|ldmia\.w|tbb|tbh)$")
_PREDICATES = re.compile(r"^vp(st|t)[te]*")
_COMPARES = re.compile(r"^(cmp|cmn|tst|teq)")
_STATE = re.compile(r"R14=([0-9a-f]{8}) R15=([0-9a-f]{8})\nXPSR=([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class Site:
    """Where a state of the core decides: by the flags, for a condition, or by how many of the `lanes`
    elements of a vector are left."""

    address: int
    condition: str = ""
    lanes: int = 0

    def outcome(self, status: int, left: int) -> bool:
        """Whether the condition is met for that status register; whether all lanes are in use."""
        return left >= self.lanes if self.lanes else met(self.condition, status)


@dataclass(frozen=True, slots=True)
class Code:
    """The kernels' instructions in a board's program: each with the .c file that it is of."""

    program: Program
    listing: Listing
    owners: Mapping[int, str]

    @property
    def counted(self) -> tuple[Instruction, ...]:
        """All of them but for what only fills: what follows it is aligned."""
        return tuple(i for i in self.listing.instructions if not i.mnemonic.startswith("nop"))

    @property
    def branches(self) -> tuple[Instruction, ...]:
        """Conditional branches, those of loops included, but for what stands in IT blocks."""
        every = self.listing.instructions
        return tuple(i for i in every if _BRANCH.match(i.mnemonic) and not i.maybe)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The other places where a state decides."""
        return tuple(sites_of(self.listing.instructions))

    def lines(self, addresses: Sequence[int]) -> dict[int, tuple[str, int]]:
        """The (file, line) of each of them: of what was compiled in, the line of the kernels' C that it
        comes from, not that of a compiler's header."""
        command = ["arm-none-eabi-addr2line", "-a", "-i", "-e", str(self.program.elf)]
        asked = "\n".join(map(hex, addresses))
        said = subprocess.run(command, input=asked, capture_output=True, text=True, check=True)
        found = {}
        for part in re.split(r"^0x", said.stdout, flags=re.MULTILINE)[1:]:
            at, *frames = part.splitlines()
            places = [frame.split(" (")[0].rpartition(":") for frame in frames]
            known = [(Path(file).name, line) for file, _, line in places]
            name, line = next((place for place in known if place[0] in kernel_files()), known[0])
            found[int(at, 16)] = name, int(line) if line.isdigit() else 0
        return found


def met(condition: str, status: int) -> bool:
    """Whether a condition of Arm's is met by the flags of a status register."""
    n, z, c, v = (bool(status >> bit & 1) for bit in (31, 30, 29, 28))
    found = {
        "eq": z,
        "cs": c,
        "hs": c,
        "mi": n,
        "vs": v,
        "hi": c and not z,
        "ge": n == v,
        "gt": n == v and not z,
    }
    others = {"ne": "eq", "cc": "cs", "lo": "hs", "pl": "mi", "vc": "vs", "ls": "hi", "lt": "ge"}
    others["le"] = "gt"
    return found[condition] if condition in found else not found[others[condition]]


def sites_of(instructions: Sequence[Instruction]) -> Iterator[Site]:
    """Where a state decides, but for branches. Raises ValueError for what nothing here looks at."""
    lanes = 0
    for at, one in enumerate(instructions):
        if _PREDICATES.match(one.mnemonic):
            raise ValueError(f"{one.mnemonic} at {one.address:#x}: its lanes are not looked at")
        if tail := _TAIL.match(one.mnemonic):
            lanes = _VECTOR_BITS // int(tail[1])
        if one.mnemonic == "letp":
            yield Site(one.address, lanes=lanes)
        if select := _SELECT.match(one.operands):
            yield Site(one.address, _ENCODED[int(select[1], 16)])
        if block := _IT.match(one.mnemonic):
            yield Site(one.address, one.operands.strip())
            # The flags in front of the block are those of all of it, but for what follows a comparison.
            for member in instructions[at + 1 : at + 1 + len(block[1])]:
                if _COMPARES.match(member.mnemonic):
                    raise ValueError(f"{member.mnemonic} at {member.address:#x} within its block")


@cache
def code_of(program: Program) -> Code:
    """The kernels in it. Raises ValueError for predication that nothing here looks at."""
    said = subprocess.run(
        ["arm-none-eabi-objdump", "-d", "-w", str(program.elf)],
        capture_output=True,
        text=True,
        check=True,
    )
    known = kernel_files()
    spans = [
        (section.span, f"{Path(section.owner).stem}.c")
        for section in program.sections
        if section.name.startswith(".text") and f"{Path(section.owner).stem}.c" in known
    ]
    owners = {at: name for span, name in spans for at in span}
    own = [i for i in read_listing(said.stdout).instructions if i.address in owners]
    return Code(program, Listing(tuple(own)), owners)


@dataclass(slots=True)
class Counting:
    """Watches runs with the plugin: how often each instruction ran, and did not go on to the next."""

    board: str
    code: Code
    executed: Counter[int] = field(default_factory=Counter)
    left: Counter[int] = field(default_factory=Counter)

    def arguments(self) -> Sequence[str]:
        """What the emulator is started with."""
        return "-plugin", f"{_plugin(self.board)},out=counts.txt,all=1"

    def look(self, folder: Path) -> None:
        """Count what a run has left in its folder."""
        every = self.code.listing.instructions
        for line in (folder / "counts.txt").read_text("ascii").splitlines()[3:]:
            _, first, count, executed, _, left = line.split()
            if int(first, 16) in self.code.owners:
                found = self.code.listing.straight(int(first, 16), int(count))
                for index in found:
                    self.executed[every[index].address] += int(executed)
                self.left[every[found[-1]].address] += int(left)

    def beyond(self, branch: Instruction) -> Iterator[int]:
        """The addresses of what would have run next if a branch had had its other outcome, as far as
        that is a straight line of what never ran."""
        every = self.code.listing.instructions
        at = bisect_left(every, branch.address, key=lambda i: i.address) + 1
        if self.outcomes(branch)[0]:
            target = int(branch.operands.split(",")[-1].strip(), 16)
            at = bisect_left(every, target, key=lambda i: i.address)
        for one in every[at:]:
            if self.executed[one.address]:
                return
            yield one.address
            if _LEAVES.match(one.mnemonic):
                return

    def outcomes(self, branch: Instruction) -> tuple[bool, bool]:
        """Whether it went on to the next instruction, and whether elsewhere."""
        at = branch.address
        return self.executed[at] > self.left[at], self.left[at] > 0


@dataclass(slots=True)
class Deciding:
    """Watches runs one instruction at a time: which outcomes `sites` had; those with both are left out
    of the next runs."""

    sites: Sequence[Site]
    seen: dict[Site, set[bool]] = field(default_factory=dict)

    @property
    def open(self) -> list[Site]:
        """The sites of which an outcome is missing."""
        return [site for site in self.sites if len(self.seen.get(site, ())) < 2]

    def arguments(self) -> Sequence[str]:
        """What the emulator is started with."""
        places = ",".join(f"{site.address:#x}+0x2" for site in self.open)
        if not places:
            return ()
        return "-singlestep", "-d", "exec,cpu,nochain", "-dfilter", places, "-D", "states.txt"

    def look(self, folder: Path) -> None:
        """Note the outcomes of a run that has left its states in its folder."""
        path = folder / "states.txt"
        if not path.exists():
            return
        at = {site.address: site for site in self.sites}
        states = set(_STATE.findall(path.read_text("ascii")))
        for left, pc, status in states:
            site = at.get(int(pc, 16))
            if site is not None:
                outcome = site.outcome(int(status, 16), int(left, 16))
                self.seen.setdefault(site, set()).add(outcome)


@cache
def _plugin(board: str) -> Path:
    """The emulator's plugin, built when it has changed."""
    sources = {file.name: file.read_text("utf-8") for file in PLUGIN_SOURCES.iterdir()}
    version = plugin_version(find_emulator(find_board(board)))
    command = [*find_compiler("host"), *_PLUGIN_FLAGS, f"-DQEMU_PLUGIN_VERSION={version}"]
    text = "\0".join([*command, *(part for item in sorted(sources.items()) for part in item)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / "lowtide-cases" / digest / "qemu_profile.so"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as name:
            made = Path(name)
            for file, source in sources.items():
                (made / file).write_text(source, "utf-8")
            subprocess.run(
                [*command, "qemu_profile.c", "-o", "qemu_profile.so"], cwd=made, check=True
            )
            (made / "qemu_profile.so").replace(path)
    return path
