"""Programs proved as `compile` proves them, for tests that assemble by themselves."""

from __future__ import annotations

from collections.abc import Mapping

from lowtide.commands.compiling import Compiled
from lowtide.commands.proving import claims_of
from lowtide.emit.c_writer import write
from lowtide.ir import Graph
from lowtide.program.assemble import Assembly
from lowtide.prove.proof import Claims, Proof, prove

Touched = tuple[int, str, str, int]
"""(node, "reads" or "makes", first label, bytes) of a row that a kernel touched. Not which step of the node it
was: where that matters to a kernel, its contract asks for it."""


def texts_of(assembly: Assembly, name: str = "net") -> dict[str, bytes]:
    """The two generated files of a program."""
    source = write(assembly, name)
    return {f"{name}.c": source.code.encode(), f"{name}.h": source.header.encode()}


def proved(assembly: Assembly, *, keeps_inputs: bool = False) -> Proof:
    """The proof of a program, all of whose operators must be in it. Raises ProofError."""
    claims = claims_of(assembly, keeps_inputs)
    proof = prove(assembly.graph, texts_of(assembly), "net", claims)
    assert not proof.left_out
    return proof


def touched(
    graph: Graph, files: Mapping[str, bytes], name: str, claims: Claims
) -> tuple[Touched, ...]:
    """What the kernels of a program touch, in an order that does not depend on that of nodes."""
    found: list[Touched] = []
    prove(graph, files, name, claims, lambda node, _, *rest: found.append((node, *rest)))
    return tuple(sorted(found))


def claims(compiled: Compiled) -> Claims:
    """What is claimed of a compiled program."""
    return claims_of(compiled.assembly, compiled.options.preserve_input)
