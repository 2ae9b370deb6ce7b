"""Reading board files: TOML in, checked `Board` values out.

Why so strict: a key that is silently ignored, such as `lenght`, would make "fits" a lie. Every error
names the file, the table and the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from lowtide.errors import UsageError
from lowtide.machines.cycles import MANUALS
from lowtide.machines.finding import EMULATORS, TOOLCHAINS
from lowtide.machines.parts import Board, Core, Counter, Machine, Region
from lowtide.sizes import FORMS, bytes_in
from lowtide.target import ANY, VARIANTS, Target, variants_of

_ADDRESSES: Final = 1 << 32
_REMEDY: Final = "see the comments at the top of lowtide/machines/boards/boards.toml for the form"
_Value = TypeVar("_Value", Core, Machine, Board)


@dataclass(frozen=True, slots=True)
class _Table:
    """One [kind.name] table; every key must be read with its type, and none may be left over."""

    file: str
    kind: str
    name: str
    values: Mapping[str, Any]

    def error(self, problem: str) -> UsageError:
        return UsageError(f"{self.file}: [{self.kind}.{self.name}] {problem}", _REMEDY)

    def known(self, *keys: str) -> None:
        for key in self.values:
            if key not in keys:
                raise self.error(f"has the unknown key {key!r}; known: {', '.join(keys)}")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.values.get(key, default)
        if not isinstance(value, str) or not value:
            raise self.error(f"needs {key!r}, a string")
        return value

    def texts(self, key: str, default: list[str] | None = None) -> tuple[str, ...]:
        value = self.values.get(key, default)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.error(f"needs {key!r}, a list of strings")
        return tuple(value)

    def integer(self, key: str, limit: int = _ADDRESSES) -> int:
        value = self.values.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
            raise self.error(f"needs {key!r}, an integer from 0 to {limit - 1:#x}")
        return value

    def region(self, key: str) -> Region:
        value = self.values.get(key)
        if not isinstance(value, dict) or set(value) != {"origin", "length"}:
            raise self.error(f'needs {key!r}, as {{ origin = 0x20000000, length = "16K" }}')
        inner = _Table(self.file, self.kind, f"{self.name}.{key}", value)
        region = Region(inner.integer("origin"), inner.size("length"))
        if region.origin + region.length > _ADDRESSES:
            raise inner.error("ends beyond 4 GiB")
        if region.origin % 16:
            raise inner.error(f"has the origin {region.origin:#x}, which is not a multiple of 16")
        return region

    def size(self, key: str) -> int:
        value = self.values.get(key)
        if isinstance(value, str) and (count := bytes_in(value)) is not None:
            value = count
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < _ADDRESSES:
            raise self.error(f"has the invalid size {key} = {value!r}: use {FORMS}")
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str | None = None) -> str:
        value = self.text(key, default)
        if value not in choices:
            raise self.error(f"has {key} = {value!r}; known: {', '.join(choices)}")
        return value


def read_boards(texts: Mapping[str, str]) -> dict[str, Board]:
    """The boards of all `texts` (file name -> TOML), by name, in order.

    Later files may refer to what earlier ones define, but not define it again. Raises UsageError.
    """
    tables = [table for file, text in texts.items() for table in _tables(file, text)]
    cores = _read(tables, "core", _core)
    machines = _read(tables, "machine", lambda table: _machine(table, cores))
    for table in tables:
        if table.kind == "machine" and "roomy" in table.values:
            table.choice("roomy", tuple(machines))
    return _read(tables, "board", lambda table: _board(table, cores, machines))


def read_cores(texts: Mapping[str, str]) -> dict[str, Core]:
    """The cores of all `texts`, by name; otherwise as `read_boards`."""
    return _read([t for file, text in texts.items() for t in _tables(file, text)], "core", _core)


def _tables(file: str, text: str) -> list[_Table]:
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists
        raise UsageError(f"{file} is not TOML: {error}", _REMEDY) from None
    tables = []
    for kind, named in document.items():
        if kind not in ("core", "machine", "board") or not isinstance(named, dict):
            raise UsageError(
                f"{file}: unknown key {kind!r}; known: [core.NAME], [machine.NAME], [board.NAME]",
                _REMEDY,
            )
        for name, values in named.items():
            if not isinstance(values, dict):
                raise UsageError(f"{file}: {kind}.{name} is not a table", _REMEDY)
            tables.append(_Table(file, kind, name, values))
    return tables


def _read(tables: list[_Table], kind: str, make: Callable[[_Table], _Value]) -> dict[str, _Value]:
    made: dict[str, _Value] = {}
    files: dict[str, str] = {}
    for table in tables:
        if table.kind != kind:
            continue
        if table.name in made:
            raise table.error(f"is already defined in {files[table.name]}: choose another name")
        made[table.name] = make(table)
        files[table.name] = table.file
    return made


def _core(table: _Table) -> Core:
    table.known("toolchain", "flags", "optimise", "kernels", "priced_as", "manual")
    variants: tuple[str, ...] = VARIANTS
    if "kernels" in table.values:
        variants = variants_of(table.choice("kernels", VARIANTS))
    return Core(
        table.name,
        table.choice("toolchain", tuple(TOOLCHAINS)),
        table.texts("flags"),
        table.choice("optimise", ("-O2", "-O3", "-Os")),
        Target(table.name, variants, table.text("priced_as", ANY.priced_as)),
        table.choice("manual", tuple(MANUALS)) if "manual" in table.values else None,
    )


def _machine(table: _Table, cores: Mapping[str, Core]) -> Machine:
    table.known(
        *("emulator", "args", "cores", "vectors", "ram", "flash", "counter", "hz", "roomy"),
    )
    names = table.texts("cores")
    for name in names:
        if name not in cores:
            raise table.error(f"has the unknown core {name!r}; known: {', '.join(cores)}")
    counter = cast(Counter, table.choice("counter", ("systick", "minstret")))
    if counter == "systick" and table.integer("hz") == 0:
        raise table.error("needs 'hz', the clock that SysTick counts")
    return Machine(
        name=table.name,
        emulator=table.choice("emulator", tuple(EMULATORS)),
        args=table.texts("args"),
        cores=names,
        ram=table.region("ram"),
        flash=table.region("flash"),
        counter=counter,
        hz=table.integer("hz") if counter == "systick" else 0,
        vectors=table.integer("vectors") if "vectors" in table.values else None,
        roomy=table.text("roomy") if "roomy" in table.values else None,
    )


def _board(table: _Table, cores: Mapping[str, Core], machines: Mapping[str, Machine]) -> Board:
    table.known(
        *("description", "core", "machine", "ram", "flash", "flags", "optimise", "multiply_cycles")
    )
    core = cores[table.choice("core", tuple(cores))]
    machine = machines[table.choice("machine", tuple(machines))]
    if core.name not in machine.cores:
        raise table.error(
            f"has the core {core.name}, but its machine {machine.name} runs "
            f"{', '.join(machine.cores)}"
        )
    ram, flash = table.region("ram"), table.region("flash")
    for kind, part, emulated in (("ram", ram, machine.ram), ("flash", flash, machine.flash)):
        if part.length > emulated.length:
            raise table.error(
                f"has {part.length:,} bytes of {kind}, but its machine {machine.name} "
                f"has {emulated.length:,}"
            )
    return Board(
        name=table.name,
        description=table.text("description"),
        core=core,
        machine=machine,
        roomy=machines[machine.roomy] if machine.roomy is not None else machine,
        ram=ram,
        flash=flash,
        flags=core.flags + table.texts("flags", []),
        optimise=table.choice("optimise", ("-O2", "-O3", "-Os"), core.optimise),
        multiply_cycles=_multiply_cycles(table),
    )


def _multiply_cycles(table: _Table) -> int | None:
    if "multiply_cycles" not in table.values:
        return None
    cycles = table.integer("multiply_cycles")
    if cycles not in (1, 32):
        raise table.error(f"has multiply_cycles = {cycles}: a Cortex-M0's are 1 or 32")
    return cycles
