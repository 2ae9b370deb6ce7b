"""What to try next: the options that would make a program smaller or quicker, and by how much.

Why computed and not told: an option that saves a megabyte of one network saves nothing of another. Each
advice is a program that was planned with the option, set against the one there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, Literal

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.known import Known
from lowtide.commands.options import Options
from lowtide.emit.footprint import flash_bytes
from lowtide.errors import LowtideError
from lowtide.machines.board import find_target
from lowtide.passes import drop_boundary_quantization, resolve_variables

_LEAST: Final = 0.01
"""A saving of less than this part is not worth a line."""

_LEAST_FOR_WORK: Final = 0.05
"""And one that costs work, of less than this."""

MORE_WORK: Final = 1.25
"""How many times the network's MACs an advised plan may take."""

CORES: Final = ("cortex-m0", "cortex-m4")
"""Those of which a program for any core is told what it would save, where its core is not known."""

Kind = Literal[
    "quantized-io", "streamed", "strips", "core", "rows", "simplify", "compile", "reorder"
]


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """With `flags` added to the command, the program is `compiled`.

    What it saves, in bytes of arena and state, in bytes of flash as assumed and in instructions as
    predicted for the core that it is for; below 0: what it takes more; None where nobody can say.
    """

    kind: Kind
    flags: tuple[str, ...]
    ram_saved: int
    flash_saved: int
    instructions_saved: int | None
    instructions: int | None
    compiled: Compiled = field(repr=False)


def advice(
    compiled: Compiled,
    made: Mapping[Options, Compiled] = MappingProxyType({}),
    known: Known | None = None,
    cores: Sequence[str] = CORES,
) -> tuple[Advice, ...]:
    """What would make `compiled` smaller or quicker, the largest saving of RAM first.

    `made` are programs of the same model that there are, `known` what they were made with; `cores` may
    be advised to a program for any. Nothing for
    a program whose plan was given, or that is a part of its file; and none of an option that its model
    does not allow.
    """
    options = compiled.options
    if options.stages is not None or options.schedule != "rows" or compiled.model.whole is not None:
        return ()
    known = known or Known(compiled.model)
    found = []
    for kind, flags, other in _ways(compiled, cores):
        try:
            program = made.get(other) or compile_model(compiled.model, other, known=known)
        except LowtideError:
            continue
        entry = _compared(kind, flags, compiled, program)
        if entry is not None:
            found.append(entry)
    return tuple(sorted(found, key=lambda entry: (-entry.ram_saved, entry.kind)))


def _ways(
    compiled: Compiled, cores: Sequence[str]
) -> Iterator[tuple[Kind, tuple[str, ...], Options]]:
    """Options that may save something, each alone."""
    options = compiled.options
    if not options.quantized_io:
        graph = resolve_variables(compiled.model.graph)
        inner = drop_boundary_quantization(graph)
        if (inner.inputs, inner.outputs) != (graph.inputs, graph.outputs):
            yield "quantized-io", ("--quantized-io",), replace(options, quantized_io=True)
    if options.input_mode == "resident" and not options.preserve_input:
        yield "streamed", ("--input", "streamed"), replace(options, input_mode="streamed")
    if options.max_overhead is None and options.max_ram is None:
        other = replace(options, max_overhead=MORE_WORK)
        yield "strips", ("--max-overhead", str(MORE_WORK)), other
    if options.target.core == "any":
        for core in cores:
            yield "core", ("--core", core), replace(options, target=find_target(core))


def _compared(
    kind: Kind, flags: tuple[str, ...], compiled: Compiled, made: Compiled
) -> Advice | None:
    before, after = compiled.instructions_predicted, made.instructions_predicted
    quicker: int | None = before - after
    if made.options.target.priced_as != compiled.options.target.priced_as:
        quicker = None  # another core's instructions are no saving
    ram = compiled.ram_bytes - made.ram_bytes
    least = _LEAST_FOR_WORK if kind == "strips" else _LEAST
    worth = ram > least * compiled.ram_bytes
    if kind == "core" and quicker is not None and before:
        worth = worth or quicker > _LEAST * before
    if not worth:
        return None
    flash = [flash_bytes(c.assembly, c.files) for c in (compiled, made)]
    return Advice(kind, flags, ram, flash[0] - flash[1], quicker, after, made)
