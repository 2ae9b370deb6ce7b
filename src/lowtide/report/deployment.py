"""Compiled, verified and measured programs, as text and as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lowtide.commands.compiling import Compiled
from lowtide.commands.sequences import State
from lowtide.ir.macs import graph_macs
from lowtide.oracle.interpreters import Difference, engine_package
from lowtide.prove.proof import Proof
from lowtide.report.complete import incomplete_note
from lowtide.report.fields import fields_of
from lowtide.report.part import network_name, part_fields
from lowtide.report.predicted import predicted_fields, predicted_note
from lowtide.report.profile import profile_fields, profile_text
from lowtide.report.saved import saved_lines, savings_document
from lowtide.report.text import ENGINES, amount, counted, plain, table
from lowtide.target import ANY

if TYPE_CHECKING:  # compiling needs nothing that runs programs
    from lowtide.commands.checking import Ran, Verified

NOT_PROVED = (
    "Not proved: other inputs, and the C as another compiler builds it. `lowtide run` compares outputs "
    "on a board."
)
PORTABLE_RAN = (
    "Kernels: portable. To check a core's own kernels, add --core, such as --core cortex-m4."
)
_SHOWN_TENSORS = 8
_RAM = {
    "arena_bytes": "arena",
    "state_bytes": "state",
    "data_bytes": "data",
    "bss_bytes": "bss",
    "stack_bytes": "stack, high-water mark",
}
_FLASH = {"code_bytes": "code", "constant_bytes": "constants", "weights_bytes": "weights"}
"""What is measured, and what it is called."""
_ROUNDED = "with LiteRT's arithmetic in place of TensorFlow Lite Micro's"


def compiled_text(
    compiled: Compiled, output: str | None = None, removed: Sequence[str] = ()
) -> str:
    """The RAM the program needs, computed, and what was written to `output`, if it was, or removed."""
    graph, least = compiled.graph, compiled.assembly.arena_bound_bytes
    proof = "" if compiled.arena_bytes == least else " (not proved optimal)"
    plan = compiled.assembly.plan
    how = (
        f"allocator {compiled.options.allocator}, order: {compiled.order}"
        if plan is None
        else f"rows scheduled in {counted(len(plan.stages), 'stage')}"
    )
    lines = [
        f"{network_name(compiled.model)}: {counted(len(graph.ops), 'operator')}, "
        f"{graph_macs(graph):,} MACs",
        f"arena {amount(compiled.arena_bytes)}{proof}, {how}",
        *_state(compiled),
        *saved_lines(compiled.savings),
        *_predicted(compiled),
        *incomplete_note(compiled),
    ]
    if output is not None:
        lines.append(
            f"Wrote {counted(len(compiled.files), 'file')} to {plain(output)}; {compiled.name}.h is the "
            "interface, README.md says how to build and call it."
        )
    if removed:
        lines.append(
            f"Removed from an earlier bundle, because nothing uses them now: {', '.join(removed)}."
        )
    lines.append(str(compiled.proof))
    return "\n".join(lines)


def _state(compiled: Compiled) -> list[str]:
    """What is kept from one invocation to the next, if anything is."""
    if not compiled.state_bytes:
        return []
    count, tflm = len(compiled.assembly.variables), compiled.tflm_bytes
    return [
        f"state {amount(compiled.state_bytes)} in {counted(count, 'tensor')}, kept between "
        f"invocations; arena and state {amount(compiled.ram_bytes)}",
        f"TensorFlow Lite Micro, predicted: arena {amount(tflm.arena)} and variables "
        f"{amount(tflm.variables)}, {amount(tflm.ram)}",
    ]


def _predicted(compiled: Compiled) -> list[str]:
    count = compiled.instructions_predicted
    return [f"instructions, predicted: {count:,}, {predicted_note(compiled)}"]


def compiled_document(
    compiled: Compiled, output: str, removed: Sequence[str] = ()
) -> dict[str, Any]:
    """Schema lowtide.compile/1; sizes in bytes."""
    return {
        "schema": "lowtide.compile/1",
        "model": compiled.model.path,
        **part_fields(compiled.model),
        "sha256": compiled.origin.digest,
        "lowtide": compiled.origin.version,
        "command": compiled.origin.command(),
        "output": output,
        "name": compiled.name,
        "files": sorted(compiled.files),
        "removed": list(removed),
        "allocator": compiled.options.allocator,
        "schedule": compiled.options.schedule,
        "core": compiled.options.target.core,
        "input": compiled.options.input_mode,
        "output_mode": compiled.options.output_mode,
        **fields_of(compiled, "arena_bytes", "state_bytes", "ram_bytes"),
        "tflm_greedy_arena_bytes": compiled.tflm_bytes.arena,
        "tflm_variables_bytes": compiled.tflm_bytes.variables,
        "arena_lower_bound_bytes": compiled.assembly.arena_bound_bytes,
        "moved_bytes": compiled.assembly.placement.moved_bytes,
        "order": list(compiled.order.order),
        "macs": graph_macs(compiled.graph),
        "simplified": compiled.options.simplify,
        "saved": savings_document(compiled.savings),
        "complete": compiled.complete,
        "proof": proof_document(compiled.proof),
        **predicted_fields(compiled),
    }


def proof_document(proof: Proof) -> dict[str, Any]:
    """What is proved for all inputs."""
    return {
        "data_flow": proof.data_flow,
        "bounds": proof.bounds,
        "left_out": list(proof.left_out),
        "data_dependent": list(proof.data_dependent),
        "not_proved": list(proof.not_proved),
    }


def verified_text(compiled: Compiled, result: Verified) -> str:
    """One line, or where the first difference is."""
    engine = ENGINES[result.engine]
    inputs = counted(result.samples, "input")
    name = network_name(compiled.model)
    if result.mismatch is None:
        return (
            f"{name}: bit-exact. {_compared(result.tensors)} of {engine} "
            f"({engine_package(result.engine)}), byte for byte, on {inputs}, the C built for this "
            "computer with AddressSanitizer and UndefinedBehaviorSanitizer."
            f"{_left_out(result)}{_carried(result.state)}{_rounded(result)}\n{_kernels(compiled)}\n"
            f"{NOT_PROVED}"
        )
    if result.mismatch.claimed:
        return (
            f"{name}: {engine} contradicts what simplification claims of operator "
            f"{result.mismatch.operator} ({plain(result.mismatch.type)}) of the file: "
            f"{_difference(result.mismatch.difference, result.state)}{_second(result)}"
            f"{_rounded(result)}"
        )
    return (
        f"{name}: differs from {engine}. First at operator {result.mismatch.operator} "
        f"({plain(result.mismatch.type)}): {_difference(result.mismatch.difference, result.state)}"
        f"{_second(result)}{_rounded(result)}"
    )


def _second(result: Verified) -> str:
    """What the other engine has there, in a line of its own; "" if it was not to be asked."""
    second = None if result.mismatch is None else result.mismatch.second
    if second is None:
        return ""
    other = ENGINES[second.engine]
    who = f"{other[0].upper()}{other[1:]}"
    has = "have" if second.engine == "litert" else "has"
    how = f", given the same inputs, {has}" if second.alone else f" {has}"
    whose = {"program": "as the program", "first": "too", "neither": "unlike either of them"}
    return f"\n{who}{how} {second.value} there, {whose[second.sides]}."


def fault_of(result: Verified) -> tuple[str, str]:
    """Cause and remedy for a program that differs from the reference kernels."""
    mismatch = result.mismatch
    second = None if mismatch is None else mismatch.second
    if mismatch is not None and mismatch.known and (second is None or second.sides == "program"):
        return (
            f"the generated C differs from the reference kernels at operator {mismatch.operator} "
            f"({plain(mismatch.type)}), where these are wrong: {mismatch.known}",
            "the C is right there; verify the parts before and after it (--until, --from)",
        )
    if mismatch is None or second is None or second.sides == "first":
        return (
            "the generated C differs from the reference kernels",
            "this is an internal error of lowtide; report it, with the model",
        )
    where = f"at operator {mismatch.operator} ({plain(mismatch.type)})"
    if second.sides == "program" and second.engine == "tflm":
        return (
            f"the two reference engines differ from each other, first {where}; the generated C matches "
            f"{ENGINES['tflm']}, which lowtide follows but which cannot run the whole network",
            "the C is right; verify the parts that both engines run (--from, --until)",
        )
    return (
        f"the generated C differs from the reference kernels {where}, where these also differ from "
        f"each other; lowtide follows {ENGINES['tflm']}",
        "this is an internal error of lowtide; report it, with the model",
    )


def _kernels(compiled: Compiled) -> str:
    """Which kernels ran, in a line: those of a core run only in a program for it."""
    target = compiled.options.target
    if target == ANY:
        return PORTABLE_RAN
    return f"Kernels: those of programs for {target.core}, in plain C."


def _compared(tensors: int) -> str:
    return "The only tensor is that" if tensors == 1 else f"All {tensors} tensors are those"


def _left_out(result: Verified) -> str:
    """What is not computed was compared, too, as a sentence; or ""."""
    if not result.claims:
        return ""
    count = counted(result.claims, "tensor")
    return f" The removed channels of {count} have the values that were proved."


def _rounded(result: Verified | Ran) -> str:
    """What was compared, if that is not the program itself, in a line; else ""."""
    if result.compared.options.rounding == result.compiled.options.rounding:
        return ""
    why = f": {result.passed_over}" if result.passed_over else ""
    return f"\nCompiled for this comparison {_ROUNDED}{why}."


def _carried(state: State | None) -> str:
    """What is kept between invocations and how that was tested, as a line of its own; or ""."""
    if state is None:
        return ""
    shown = [f"{plain(name)} {amount(size)}" for name, size in state.tensors[:_SHOWN_TENSORS]]
    if len(state.tensors) > len(shown):
        shown.append(f"and {len(state.tensors) - len(shown)} more")
    tensors = counted(len(state.tensors), "tensor")
    again = "input" if state.again == 1 else f"{state.again} inputs"
    return (
        f"\nThe network has state, {amount(state.bytes)} in {tensors} ({', '.join(shown)}): carried "
        f"over {counted(state.invocations, 'invocation')}; after a reset, the first {again} gave "
        "the same results again."
    )


def _difference(difference: Difference, state: State | None) -> str:
    where = f"sample {difference.sample}"
    if state is not None and difference.sample >= state.restart:
        where = f"sample {difference.sample - state.restart} again, after a reset"
    return (
        f"tensor {difference.tensor}, element {difference.index}, {where}: "
        f"{difference.left} instead of {difference.right}"
    )


def _state_document(state: State | None) -> dict[str, Any] | None:
    if state is None:
        return None
    return {
        "bytes": state.bytes,
        "tensors": [{"name": name, "bytes": size} for name, size in state.tensors],
        "invocations": state.invocations,
        "invocations_after_reset": state.again,
    }


def verified_document(compiled: Compiled, result: Verified) -> dict[str, Any]:
    """Schema lowtide.verify/1."""
    mismatch = result.mismatch
    return {
        "schema": "lowtide.verify/1",
        "model": compiled.model.path,
        **part_fields(compiled.model),
        **fields_of(result, "bit_exact", "engine"),
        "engine_package": engine_package(result.engine),
        "kernels": compiled.options.target.core,
        "rounding": result.compared.options.rounding,
        **fields_of(result, "samples", "seed", "tensors"),
        "simplified": compiled.options.simplify,
        "tensors_left_out": result.claims,
        "proof": proof_document(compiled.proof),
        "state": _state_document(result.state),
        "mismatch": None
        if mismatch is None
        else {
            **fields_of(mismatch, "operator", "claimed", "type"),
            "sample": mismatch.difference.sample,
            "tensor": mismatch.difference.tensor,
            "element": mismatch.difference.index,
            "got": mismatch.difference.left,
            "expected": mismatch.difference.right,
            "second": None
            if mismatch.second is None
            else {
                "engine": mismatch.second.engine,
                "same_as": mismatch.second.sides,
                "value": mismatch.second.value,
                "operator_alone": mismatch.second.alone,
            },
        },
    }


def ran_text(result: Ran, clock: int | None = None) -> str:
    """What was measured on the board. Instructions are not cycles, and say nothing of time alone.

    With a profile, that follows; `clock` is in Hz.
    """
    ram, flash, board = result.measured.ram, result.measured.flash, result.board
    held = [(title, getattr(ram, name)) for name, title in _RAM.items()]
    flashed = [(title, getattr(flash, name)) for name, title in _FLASH.items()]
    count, first = result.measured.max_instructions, result.measured.first_instructions
    row = result.measured.row_instructions
    once = "hop" if first else "inference"
    rows = [
        *((title, amount(size)) for title, size in held if size or title != "state"),
        ("RAM in all", f"{amount(ram.total_bytes)} of {amount(board.ram_bytes)}"),
        *((title, amount(size)) for title, size in flashed),
        ("flash in all", f"{amount(flash.total_bytes)} of {amount(board.flash_bytes)}"),
        (
            f"instructions of one {once}" + ", at most" * (result.state is not None),
            f"{count:,}",
        ),
        *_also_predicted(result.compiled),
        *(
            [
                ("instructions of the most expensive row", f"{row:,}"),
                ("instructions of the first window", f"{first:,}"),
            ]
            if first
            else []
        ),
        ("MACs", f"{result.macs:,}"),
        ("instructions per MAC", f"{count / result.macs:.2f}" if result.macs else "-"),
    ]
    name = network_name(result.compiled.model)
    exact = f"outputs bit-exact to {ENGINES[result.engine]} on {counted(result.samples, 'input')}"
    exact += _carried(result.state)
    if result.difference is not None:
        differs = _difference(result.difference, result.state)
        exact = f"outputs differ from {ENGINES[result.engine]}: {differs}"
    head = f"{name} on {board.name} ({board.core.name}), emulated; {exact}"
    head += _rounded(result)
    text = head + "\n\n" + table("", ("measured.", "figure"), rows)
    if result.profile is None:
        return text
    return f"{text}\n\n{profile_text(result.profile, clock, once)}"


def _also_predicted(compiled: Compiled) -> list[tuple[str, str]]:
    count = compiled.instructions_predicted
    return [(f"the same, predicted for a {compiled.options.target.priced_as}", f"{count:,}")]


def ran_document(result: Ran, clock: int | None = None) -> dict[str, Any]:
    """Schema lowtide.run/1; sizes in bytes; instructions of the inference that took most; the clock in
    Hz."""
    measured = result.measured
    return {
        "schema": "lowtide.run/1",
        "model": result.compiled.model.path,
        **part_fields(result.compiled.model),
        "board": result.board.name,
        **fields_of(result, "bit_exact", "engine", "samples", "seed"),
        "rounding": result.compared.options.rounding,
        "state": _state_document(result.state),
        "ram": fields_of(measured.ram, *_RAM, "total_bytes"),
        "flash": fields_of(measured.flash, *_FLASH, "total_bytes"),
        "instructions": measured.max_instructions,
        **(
            {
                "row_instructions": measured.row_instructions,
                "first_window_instructions": measured.first_instructions,
            }
            if measured.whole
            else {}
        ),
        **predicted_fields(result.compiled),
        "macs": result.macs,
        **profile_fields(result.profile, clock),
        "simplified": result.compiled.options.simplify,
    }
