"""The seam between a generated bundle and the programs that run it.

A bundle's identifiers carry the model's name; the harness in C is fixed. `model_header` reads how
many inputs and outputs the bundle's header declares, and writes the one header that maps the fixed
names to the model's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lowtide.machines.failures import BuildError

HEADER: Final = "harness_model.h"
_INPUT_ALIGN: Final = 16


@dataclass(frozen=True, slots=True)
class Interface:
    """Sizes, in bytes, that the header NAME.h of a bundle declares.

    With `sets_inputs` the model does not own its inputs: NAME_set_input is told where they are. With
    `pulls` it asks for their rows, with `pushes` it takes them from NAME_push_rows as well; with `takes`
    it hands over the rows of its outputs; with `slices` it has NAME_invoke_some. `state_bytes` is 0 if
    it keeps nothing between invocations, `hop_rows` if its window does not slide, and `ring_rows`
    if that does not stay in a ring of the caller's.
    """

    name: str
    arena_bytes: int
    state_bytes: int
    input_bytes: tuple[int, ...]
    output_bytes: tuple[int, ...]
    sets_inputs: bool = False
    pulls: bool = False
    pushes: bool = False
    takes: bool = False
    slices: bool = False
    hop_rows: int = 0
    ring_rows: int = 0


def read_interface(bundle: Mapping[str, bytes], name: str) -> Interface:
    """What NAME.h declares. Raises BuildError if it lacks one of the sizes."""
    header = bundle.get(f"{name}.h", b"").decode()
    pattern = r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\)?"
    found = {key: int(value, 0) for key, value in re.findall(pattern, header, re.MULTILINE)}
    prefix = name.upper()

    def size(key: str) -> int:
        if f"{prefix}_{key}" not in found:
            raise BuildError(
                f"the generated header {name}.h does not define {prefix}_{key} as a number",
                "this is an internal error of lowtide; report it, with the model",
            )
        return found[f"{prefix}_{key}"]

    def has(function: str) -> bool:
        return re.search(rf"\b{name}_{function}\s*\(", header) is not None

    return Interface(
        name,
        size("ARENA_SIZE"),
        found.get(f"{prefix}_STATE_SIZE", 0),
        tuple(size(f"INPUT_{i}_BYTES") for i in range(size("INPUTS"))),
        tuple(size(f"OUTPUT_{i}_BYTES") for i in range(size("OUTPUTS"))),
        sets_inputs=has("set_input"),
        pulls=has("set_pull"),
        pushes=has("push_rows"),
        takes=has("set_take"),
        slices=has("invoke_some"),
        hop_rows=found.get(f"{prefix}_HOP_ROWS", 0),
        ring_rows=found.get(f"{prefix}_RING_ROWS", 0),
    )


def model_header(interface: Interface) -> str:
    """The C header that gives the harness its names for this model."""
    name, prefix = interface.name, interface.name.upper()

    def sizes(bytes_each: Sequence[int]) -> str:
        return "{" + ", ".join(f"{size}u" for size in bytes_each or (0,)) + "}"

    # Inputs that the model does not own lie in one array of the harness, each well aligned.
    offsets = [0]
    for input_size in interface.input_bytes:
        offsets.append(-(-(offsets[-1] + input_size) // _INPUT_ALIGN) * _INPUT_ALIGN)
    inputs = [f"#define HARNESS_INPUT {name}_input"]
    if interface.sets_inputs or interface.pulls:
        inputs = [
            f"#define HARNESS_INPUT_OFFSETS {sizes(offsets)}",
            f"#define HARNESS_INPUT_SPACE {max(1, offsets[-1])}u",
        ]
    if interface.sets_inputs:
        inputs.append(f"#define HARNESS_SET_INPUT {name}_set_input")
    if interface.pulls:
        rows = ", ".join(f"{prefix}_INPUT_{i}_ROW_BYTES" for i in range(len(interface.input_bytes)))
        inputs += [
            f"#define HARNESS_SET_PULL {name}_set_pull",
            f"#define HARNESS_INPUT_ROW_BYTES {{{rows}}}",
        ]
    if interface.pushes:
        inputs += [
            f"#define HARNESS_PUSH {name}_push_rows",
            f"#define HARNESS_BEGIN {name}_begin",
            f"#define HARNESS_WANTED {name}_rows_wanted",
            f"#define HARNESS_INPUT_ROWS {prefix}_INPUT_0_ROWS",
        ]
    if interface.hop_rows:
        inputs += [
            f"#define HARNESS_HOP_ROWS {interface.hop_rows}",
            f"#define HARNESS_RESET {name}_reset",
        ]
    if interface.ring_rows:
        inputs += [
            f"#define HARNESS_RING_ROWS {interface.ring_rows}",
            f"#define HARNESS_SET_RING {name}_set_ring",
        ]
    outputs = [f"#define HARNESS_OUTPUT {name}_output"]
    if interface.takes:
        rows = ", ".join(
            f"{prefix}_OUTPUT_{i}_ROW_BYTES" for i in range(len(interface.output_bytes))
        )
        outputs = [
            f"#define HARNESS_SET_TAKE {name}_set_take",
            f"#define HARNESS_OUTPUT_ROW_BYTES {{{rows}}}",
        ]
    exchange = "\n".join([*inputs, *outputs])
    some = f"\n#define HARNESS_INVOKE_SOME {name}_invoke_some" if interface.slices else ""
    state = ""
    if interface.state_bytes:
        state = f"""
#define HARNESS_STATE_SIZE {interface.state_bytes}u
#define HARNESS_STATE_ALIGN {prefix}_STATE_ALIGN"""
        if not interface.hop_rows:
            state += f"\n#define HARNESS_RESET {name}_reset"
    return f"""#include "{name}.h"
#define HARNESS_MODEL_TYPE {name}_t
#define HARNESS_INIT {name}_init
#define HARNESS_INVOKE {name}_invoke{some}
{exchange}
#define HARNESS_ARENA_SIZE {interface.arena_bytes}u
#define HARNESS_ARENA_ALIGN {prefix}_ARENA_ALIGN{state}
#define HARNESS_INPUTS {len(interface.input_bytes)}
#define HARNESS_OUTPUTS {len(interface.output_bytes)}
#define HARNESS_INPUT_BYTES {sizes(interface.input_bytes)}
#define HARNESS_OUTPUT_BYTES {sizes(interface.output_bytes)}
"""


def join_samples(
    interface: Interface, samples: Sequence[Sequence[bytes]], order: str, restart: int = 0
) -> bytes:
    """The harness's input file: in byte `order` the number of samples, and that of the sample before
    which the model is reset (0 if before none); then all inputs.

    Raises ValueError if a sample does not have the inputs that the interface declares, or if there is
    no state to reset.
    """
    check_samples(interface, samples, restart)
    little = order == "little"
    head = b"".join(n.to_bytes(4, "little" if little else "big") for n in (len(samples), restart))
    return head + b"".join(part for sample in samples for part in sample)


def check_samples(
    interface: Interface, samples: Sequence[Sequence[bytes]], restart: int = 0
) -> None:
    """Raise ValueError if a sample does not have the inputs that the interface declares, or if there is
    no state to reset before sample `restart`."""
    if restart and not (interface.state_bytes or interface.hop_rows):
        raise ValueError(f"{interface.name} has no state")
    for number, sample in enumerate(samples):
        if tuple(map(len, sample)) != interface.input_bytes:
            raise ValueError(
                f"sample {number} has inputs of {[len(i) for i in sample]} bytes; "
                f"{interface.name} takes {list(interface.input_bytes)}"
            )


def split_outputs(interface: Interface, data: bytes, samples: int) -> tuple[tuple[bytes, ...], ...]:
    """The outputs of each sample, from the harness's output file.

    Raises ValueError if the file has another length than `samples` samples have.
    """
    expected = samples * sum(interface.output_bytes)
    if len(data) != expected:
        raise ValueError(f"{len(data)} bytes of outputs instead of {expected}")
    outputs = []
    at = 0
    for _ in range(samples):
        sample = []
        for size in interface.output_bytes:
            sample.append(data[at : at + size])
            at += size
        outputs.append(tuple(sample))
    return tuple(outputs)
