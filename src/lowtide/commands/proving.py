"""A program held against the graph that it computes: `prove.proof`, told what a text alone cannot
tell."""

from __future__ import annotations

from collections.abc import Mapping

from lowtide.program.assemble import Assembly
from lowtide.program.tables import Entry, KernelEntry
from lowtide.prove.proof import Claims, NodeClaim, Proof, VariableClaim, prove


def proof_of(
    assembly: Assembly, files: Mapping[str, bytes], name: str, keeps_inputs: bool
) -> Proof:
    """The proof of the bundle `files` of `assembly`. Raises ProofError."""
    return prove(assembly.graph, files, name, claims_of(assembly, keeps_inputs))


def claims_of(assembly: Assembly, keeps_inputs: bool) -> Claims:
    """What each node of a program computes, and where its variables lie."""
    return Claims(
        tuple(_claim(assembly, entry) for entry in assembly.nodes),
        tuple(VariableClaim(v.tensor, v.offset, v.size) for v in assembly.variables),
        keeps_inputs,
    )


def _claim(assembly: Assembly, entry: Entry) -> NodeClaim:
    if not isinstance(entry, KernelEntry):
        return NodeClaim()
    node = entry.node
    made = assembly.program_graph.ops[node.op].outputs[:1]
    parts = (assembly.parts[tensor] for tensor in made if tensor in assembly.parts)
    starts = tuple(columns.start for part in parts for columns in part.columns)
    return NodeClaim(assembly.members[node.op], node.scratch, starts)


def told(proof: Proof) -> str:
    """What is proved of a program, as the paragraph of its bundle's README."""
    text = str(proof)
    if not proof.data_flow and not proof.steps:
        return f"{text[0].upper()}{text[1:]}."
    lines = [
        f"{text[0].upper()}{text[1:]}. That is, for all inputs:",
        "each kernel finds in memory exactly the elements that its operator's definition asks for, and",
        "nothing reads or writes outside the arena, the state, inputs and constants. lowtide proved",
        "this for the tables in this folder when it made them.",
    ]
    if proof.data_dependent:
        lines += ["", "Addresses that depend on data, and why they are in bounds:", ""]
        lines += [f"- {each}" for each in proof.data_dependent]
    lines += ["", "Not proved by this:", "", *(f"- {each}" for each in proof.not_proved)]
    return "\n".join(lines)
