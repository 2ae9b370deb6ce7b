"""Parts of networks by the names that users give (`--from`, `--until`), and the part to propose.

Model, names of tensors -> their numbers -> passes.cut -> Model whose `whole` is what it is a part of
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Final

from lowtide.arguments import several
from lowtide.errors import DiffersError, LowtideError, MissingToolError, UsageError
from lowtide.ir import Graph, Model, Signature
from lowtide.ir.macs import graph_macs, op_macs
from lowtide.lower import has_kernel
from lowtide.oracle.interpreters import OracleError, Reference, first_difference
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.passes import cut
from lowtide.place.offline_plan import METADATA_NAME
from lowtide.tflite.read import parse
from lowtide.tflite.write import with_graph
from lowtide.zoo.loading import Named, load

BY_POSITION: Final = (METADATA_NAME, "model_control_dependencies")
"""Metadata that names tensors or operators by their position in the file."""

_SAMPLES = 4
_NEAR = 0.5


def part_of(
    model: Named, begin: Iterable[str | int] = (), until: Iterable[str | int] = ()
) -> Model:
    """Cut out the part of `model` from the tensors `begin` to the tensors `until`, by number or
    name.

    Without `begin`, the part has those inputs of `model` that it needs. Without `until`, it has the
    outputs that depend on `begin`. Its inputs and outputs have the given order, and its tensors
    keep their numbers. Programs of a part are compared with the whole network: the part's inputs
    have the values of a whole run. Raises UsageError for an unknown name, or for an impossible cut.
    """
    model = load(model)
    whole = model.file_graph
    starts = [_tensor(whole, text, "--from") for text in several("begin", begin)]
    ends = [_tensor(whole, text, "--until") for text in several("until", until)]
    if not starts and not ends:
        return model
    metadata = tuple(entry for entry in model.metadata if entry.name not in BY_POSITION)
    return replace(model, graph=cut(whole, starts, ends), whole=whole, metadata=metadata)


def ends_of(model: Model) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tensors that a part begins and ends with, where these are not the network's own."""
    if model.whole is None:
        return (), ()
    graph, whole = model.graph, model.whole
    return (
        () if set(graph.inputs) <= set(whole.inputs) else graph.inputs,
        () if graph.outputs == whole.outputs else graph.outputs,
    )


def names_in(text: str, graph: Graph) -> tuple[str, ...]:
    """The tensors that an option's value names, with commas between them, which names may have."""
    if any(tensor.name == text for tensor in graph.tensors):
        return (text,)
    return tuple(name.strip() for name in text.split(","))


def _tensor(graph: Graph, text: object, option: str) -> int:
    if not isinstance(text, str | Integral):
        raise UsageError(
            f"{option} cannot name {text!r}",
            "give a tensor's number or name (`lowtide analyze` lists both)",
        )
    name = str(text)
    count = len(graph.tensors)
    if name.isascii() and name.isdigit():
        if int(name) < count:
            return int(name)
        raise UsageError(
            f"{option} names tensor {name}, but the network has {count} tensors",
            f"give a number below {count}, or a tensor's name (`lowtide analyze` lists both)",
        )
    called = [tensor.id for tensor in graph.tensors if tensor.name == name]
    called = called or [tensor for part, tensor in _parts(graph) if part == name]
    if len(called) == 1:
        return called[0]
    if called:
        raise UsageError(
            f"{option} names {name!r}, but {len(called)} tensors have that name",
            f"give a number: {', '.join(map(str, called))}",
        )
    known = dict(reversed(_parts(graph)))
    near = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    raise UsageError(
        f"{option} names {name!r}, but no tensor of the network has that name",
        f"did you mean {near[0]!r} (tensor {known[near[0]]})?"
        if near
        else "give a tensor's number or name (`lowtide analyze` lists both)",
    )


def _parts(graph: Graph) -> list[tuple[str, int]]:
    """The names that converters join with semicolons, one by one, of what is no constant."""
    return [
        (part, tensor.id)
        for tensor in graph.tensors
        if not tensor.is_constant
        for part in dict.fromkeys(tensor.name.split(";"))
        if part
    ]


def alone(model: Model) -> Model:
    """A part as a network of its own, whose file has the tensors of the whole one, and their numbers."""
    return parse(_file(model, every=True), path=model.path)


def as_file(model: Named, *, check: bool = True) -> Model:
    """A part as a network of its own, whose file holds nothing else; a whole network as it is.

    With `check`, its outputs are compared with those tensors of the whole network, where a reference
    engine runs that. Raises DiffersError if one differs.
    """
    model = load(model)
    if model.whole is None:
        return model
    made = parse(_file(model, every=False), path=model.path)
    if check:
        _check_part(model, made)
    return made


def _file(model: Model, *, every: bool) -> bytes:
    graph = model.graph
    file = replace(model, graph=model.file_graph, whole=None)
    origins = [tensor.id for tensor in graph.tensors]
    return with_graph(
        file, graph, origins, BY_POSITION, signatures=(signature_of(model),), every_tensor=every
    )


def signature_of(model: Model) -> Signature:
    """An entry point with the inputs and outputs of the graph, named as the file names them."""
    old = next((entry for entry in model.signatures if entry.subgraph == 0), None)
    given = {} if old is None else {tensor: name for name, tensor in old.inputs}
    taken = {} if old is None else {tensor: name for name, tensor in old.outputs}
    graph = model.graph

    def named(
        known: Mapping[int, str], tensors: Sequence[int], kind: str
    ) -> tuple[tuple[str, int], ...]:
        names = [
            known.get(t) or graph.tensors[t].name or f"{kind}_{i}" for i, t in enumerate(tensors)
        ]
        return tuple(
            (name if names.count(name) == 1 else f"{name}_{i}", t)
            for i, (name, t) in enumerate(zip(names, tensors, strict=True))
        )

    key = "serving_default" if old is None else old.key
    return Signature(
        key, 0, named(given, graph.inputs, "input"), named(taken, graph.outputs, "output")
    )


def _check_part(model: Model, made: Model) -> None:
    """Compare the outputs of a file with the tensors of the whole network that they are."""
    asked = [*model.graph.inputs, *model.graph.outputs]
    try:
        whole = reference(model, sample_inputs(model, _SAMPLES), asked)
    except (OracleError, MissingToolError):
        return  # a whole network that nobody runs is why parts are cut
    pairs = list(zip(made.graph.inputs, model.graph.inputs, strict=True))
    given = [{new: sample[old] for new, old in pairs} for sample in whole.samples]
    found = reference(made, given, made.graph.outputs, rounding=whole.engine)
    outputs = list(zip(made.graph.outputs, model.graph.outputs, strict=True))
    left = tuple({new: sample[old] for new, old in outputs} for sample in whole.samples)
    differs = first_difference(Reference(whole.engine, left), found)
    if differs is not None:
        raise DiffersError(
            f"the part's results differ from the whole network's: sample {differs.sample}, output "
            f"tensor {dict(outputs)[differs.tensor]}, element {differs.index}: {differs.left} became "
            f"{differs.right}",
            "this is an internal error of lowtide, and it wrote no file; report it, with the model",
        )


def proposed(model: Model, passed: Callable[[Model], Graph], *, most: bool = False) -> str | None:
    """What of `model` is supported, and how to cut it out, as a sentence; None if no part is, or, if it
    must be `most` of the network, none with more than half of all MACs.

    `passed` gives the graph of a model after the passes that come before lowering. Of the parts between
    unsupported operators it is the one with the most MACs, and it is tried.
    """
    if model.whole is not None:
        return None  # it is a cut already
    try:
        graph = passed(model)
        found = _largest(graph, {op.id for op in graph.ops if not has_kernel(graph, op)}, most)
        if found is None:
            return None
        begin, until = found
        if any(t >= len(model.graph.tensors) for t in (*begin, *until)):
            return None  # a tensor that a pass made
        graph = passed(part_of(model, begin, until))
    except LowtideError:
        return None
    if not all(has_kernel(graph, op) for op in graph.ops):
        return None
    return _sentence(begin, until, "is supported")


def part_sentence(graph: Graph, refused: Collection[int], what: str) -> str | None:
    """The same for a graph of which the operators `refused` cannot be what all others can: of most of
    it."""
    found = _largest(graph, refused, most=True)
    return None if found is None else _sentence(*found, what)


def _sentence(begin: Sequence[int], until: Sequence[int], what: str) -> str:
    words, options = [], []
    for ids, word, option in ((begin, "from", "--from"), (until, "up to", "--until")):
        if ids:
            words.append(f"{word} {_listed(ids)}")
            options.append(f"{option} {','.join(map(str, ids))}")
    return f"everything {' '.join(words)} {what}: `{' '.join(options)}`"


def _listed(ids: Sequence[int]) -> str:
    if len(ids) == 1:
        return f"tensor {ids[0]}"
    return f"tensors {', '.join(map(str, ids[:-1]))} and {ids[-1]}"


def _largest(
    graph: Graph, refused: Collection[int], most: bool
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The inputs and outputs of the part to keep, that of most MACs, then of most operators, then the
    first one; () stands for the network's own. None if it must be `most` of the network, and is not.

    An operator's level is the greatest number of refused ones on a way to it, itself included. What is
    not refused on one level is a part that no way leaves and enters again.
    """
    if not refused:
        return None
    levels: dict[int, int] = {}  # of tensors
    parts: dict[int, list[int]] = {}
    for op in graph.ops:
        level = max((levels.get(t, 0) for t in op.inputs), default=0) + (op.id in refused)
        levels |= dict.fromkeys(op.outputs, level)
        if op.id not in refused:
            parts.setdefault(level, []).append(op.id)
    macs = {level: sum(op_macs(graph, graph.ops[i]) for i in ops) for level, ops in parts.items()}
    level = max(macs, key=lambda n: (macs[n], len(parts[n]), -n), default=-1)
    if level < 0 or (most and 2 * macs[level] <= graph_macs(graph)):
        return None
    ops = [graph.ops[i] for i in parts[level]]
    made = {t for op in ops for t in op.outputs}
    others = [op for op in graph.ops if op.id not in set(parts[level])]
    read = {t for op in others for t in op.inputs} | set(graph.outputs)
    tensors = graph.tensors
    begin = {
        t
        for op in ops
        for t in op.inputs
        if t >= 0 and t not in made and not tensors[t].is_constant and not tensors[t].is_variable
    }
    until = {t for t in made & read if tensors[t].bytes}
    return (
        () if begin <= set(graph.inputs) else tuple(sorted(begin)),
        () if until == set(graph.outputs) else tuple(sorted(until)),
    )
