"""What would fit where a program does not: options to add, or a part with more room.

Estimated where that is near enough, and planned where it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from lowtide.advice.hints import MOST, by_rows, estimated_of
from lowtide.commands.compiling import compile_model
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.errors import LowtideError
from lowtide.ir import Model
from lowtide.ir.macs import graph_macs
from lowtide.machines.mcus import Mcu, load_mcus
from lowtide.modes import InputMode
from lowtide.passes import drop_boundary_quantization

_SURE: Final = 1.05
"""What is estimated fits for sure where there is so many times the room."""


@dataclass(frozen=True, slots=True)
class Way:
    """With `flags` added, arena and state take `ram_bytes`, for `overhead` times the network's MACs."""

    flags: tuple[str, ...]
    ram_bytes: int
    overhead: float = 1.0
    estimated: bool = True


def ways_to_fit(
    model: Model, options: Options, most: int, *, planned: bool = True
) -> tuple[Way, ...]:
    """What brings arena and state to at most `most` bytes, the least change first; none for a part of
    a file, or for a plan that was given.

    Other ways to give the input are estimated. The work that it takes where the input is given as it is,
    or where none of these will do, is planned, unless not `planned`.
    """
    if model.whole is not None or options.stages is not None or most <= 0:
        return ()
    plain = replace(options, schedule="rows", allocator="planned", max_ram=None)
    rows = by_rows(options)
    found = []
    as_is = [((), plain)] if rows and not options.preserve_input else []
    for flags, other in chain(as_is, _other_ends(model, plain)):
        needed = estimated_of(passed(model, other).graph, other).ram(other.input_mode)
        if needed * _SURE <= most:
            found.append(Way((*rows, *flags), needed))
    if not planned:
        return tuple(found[:MOST])
    if options.max_ram is None:
        found += _in_strips(model, plain, rows, most)
    elif not found and plain.hop is not None:
        found += _of_window(model, plain, most)
    elif not found and plain.input_mode == "resident" and not plain.preserve_input:
        found += _with_other_input(model, plain, rows, most)
    return tuple(found[:MOST])


def _with_other_input(
    model: Model, options: Options, rows: tuple[str, ...], most: int
) -> Iterator[Way]:
    """The input streamed, or, if that does not fit, where it stays readable."""
    modes: tuple[InputMode, ...] = ("streamed", "const")
    for mode in modes:
        other = replace(options, input_mode=mode)
        found = tuple(_in_strips(model, other, (*rows, "--input", mode), most))
        yield from found
        if found:
            return


def _of_window(model: Model, options: Options, most: int) -> Iterator[Way]:
    """Of a window that slides: rows of fewer tensors kept, the other input mode, or both."""
    mode: InputMode = "streamed" if options.input_mode == "const" else "const"
    other = replace(options, input_mode=mode)
    tried: list[tuple[tuple[str, ...], Options]] = []
    if options.keep:
        tried.append(((), replace(options, keep=None)))
    tried.append((("--input", mode), other))
    if options.keep:
        tried.append((("--input", mode), replace(other, keep=None)))
    for flags, each in tried:
        try:
            made = compile_model(model, replace(each, max_ram=most))
        except LowtideError:
            continue
        kept = () if each.keep == options.keep else ("--keep", str(made.options.keep))
        yield Way((*flags, *kept), made.ram_bytes, estimated=False)


def _other_ends(model: Model, options: Options) -> Iterator[tuple[tuple[str, ...], Options]]:
    """Other ways to give the input, one flag before two."""
    graph = passed(model, replace(options, simplify=False)).graph
    inner = drop_boundary_quantization(graph)
    integers = not options.quantized_io and inner.inputs != graph.inputs
    movable = options.input_mode == "resident" and not options.preserve_input
    if integers:
        yield ("--quantized-io",), replace(options, quantized_io=True)
    if movable:
        streamed = replace(options, input_mode="streamed")
        yield ("--input", "streamed"), streamed
        if integers:
            both = ("--quantized-io", "--input", "streamed")
            yield both, replace(streamed, quantized_io=True)


def _in_strips(model: Model, options: Options, flags: tuple[str, ...], most: int) -> Iterator[Way]:
    """The plan of least cost that fits, if there is one."""
    try:
        made = compile_model(model, replace(options, max_ram=most))
    except LowtideError:
        return
    plan = made.assembly.plan
    overhead = 1.0 if plan is None else plan.macs / max(1, graph_macs(made.graph))
    yield Way((*flags, "--max-ram", str(most)), made.ram_bytes, overhead, estimated=False)


def roomy_part(core: str, ram_bytes: int, flash_bytes: int) -> Mcu | None:
    """The part of that core with the least RAM that has room for so much, stack and code included."""
    parts = [
        mcu
        for mcu in load_mcus().values()
        if mcu.core == core and mcu.ram_bytes >= ram_bytes and mcu.flash_bytes >= flash_bytes
    ]
    return min(parts, key=lambda mcu: (mcu.ram_bytes, mcu.flash_bytes, mcu.name), default=None)
