"""Programs proved as `compile` proves them, for tests that assemble by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lowtide.commands.compiling import Compiled, compile_model
from lowtide.commands.options import Options
from lowtide.commands.proving import claims_of
from lowtide.emit.c_writer import write
from lowtide.ir import Graph
from lowtide.program.assemble import Assembly
from lowtide.prove.proof import Claims, Proof, prove
from lowtide.rows.stages import Choice, Fused
from lowtide.tflite.read import parse
from random_nets import RELU6, Maker, random_network

Touched = tuple[int, str, str, int]
"""(node, "reads" or "makes", first label, bytes) of a row that a kernel touched. Not which step of the
node it was: where that matters to a kernel, its contract asks for it."""


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


def kept_in_strips(options: Options | None = None, width: int | None = 4) -> Compiled:
    """A small network whose first operators are a block that keeps rows, in strips of that width."""
    net = Maker("kept")
    wide = net.conv(net.input((1, 8, 10, 4)), "expand", 8, 1, 1, RELU6)
    core = net.depthwise(wide, "depthwise", 3, 1, RELU6)
    last = net.conv(net.conv(core, "project", 4, 1, 1, RELU6), "last", 4, 3, 1, RELU6)
    stage = Choice((0, 1, 2, 3), width, (Fused((0, 1, 2), 2),))
    model = parse(net.finish(last), path="kept")
    return compile_model(model, replace(options or Options(), stages=(stage,)))


def in_batches(seed: int = 1, options: Options | None = None) -> Compiled:
    """A random network of two images."""
    return compile_model(parse(random_network(seed, 2), path="batch"), options)
