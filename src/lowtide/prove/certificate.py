"""Certificates: what is proved of a bundle of a model, worked out again from the files by whoever asks.

model's bytes -> read -> passes -> graph --.
                                           +--> data flow (proof.py), products, functions of bytes
bundle's files -> NAME.c and NAME.h read --'

A certificate is a JSON document, schema lowtide.certificate/1. What it says under "said" are hints:
which operators a node computes, how passes chose between graphs all of which are exact. They are trusted
in nothing but the size of scratch memory. To check a certificate (checker.py) is to make it once more,
from these hints and from the files as they are, and to find no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from errno import ENOTDIR
from importlib.metadata import version
from os import strerror
from pathlib import Path
from typing import Any, Final

from lowtide.emit.runtime import kernel_files
from lowtide.errors import LowtideError
from lowtide.ir import Graph, Model, Op
from lowtide.passes.cut import cut
from lowtide.passes.pipeline import Answers, Asked, run
from lowtide.passes.simplify.interval import Interval
from lowtide.passes.simplify.ranges import ranges
from lowtide.passes.simplify.result import Always, Holds, Same, Simplified, Unread
from lowtide.prove.bundle_reader import Bundle, UnreadableError, read
from lowtide.prove.elements import ElementsClaim, elements_claim
from lowtide.prove.memory import NotProvedError
from lowtide.prove.products import Called, Products, ProductsClaim, called, semantic
from lowtide.prove.proof import Claims, ProofError, prove
from lowtide.prove.scaling import UndefinedError
from lowtide.tflite.read import parse

SCHEMA: Final = "lowtide.certificate/1"

NOT_PROVED: Final = (
    "that each kernel computes the sum of products, or the function, that its header says: tested "
    "against the reference kernels, as are the operators that are listed as tested",
    "that the network is rewritten exactly before it is compiled, beyond the channels that intervals "
    "confirm: tested against the reference kernels",
    "that lowtide's definitions of operators are those of the reference kernels: tested against them",
    "the text of NAME.c and NAME.h around the tables: functions are read only where they say "
    "where memory lies; the rest is tested",
    "how much scratch memory each kernel uses, and in which pieces it works: tested with sanitizers",
    "files of the folder whose SHA-256 the certificate does not have",
    "the C compiler, and the core",
)


_CONTRADICTS: Final = "the program's tables contradict the network, or what is said of them"


class RefusedError(LowtideError):
    """A certificate, or a bundle, does not hold."""

    exit_code = 1


@dataclass(frozen=True, slots=True)
class Said:
    """Hints: what the compiler says of a program. `part` are the inputs and outputs of a part of the
    file's network; `prices` and `kernels` what kernels answered to the passes, in the order asked."""

    name: str
    claims: Claims
    asked: Asked
    part: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    prices: tuple[float, ...] | None = None
    kernels: tuple[bool, ...] = ()


def certificate(source: bytes, files: Mapping[str, bytes], said: Said) -> dict[str, Any]:
    """The certificate of the bundle `files` of the model in the file `source`: schema
    lowtide.certificate/1. Raises RefusedError for a bundle of which a claim does not hold."""
    name = said.name
    wanted = f"{name}.c", f"{name}.h"
    try:
        simplified, model = _simplified(source, said)
        graph = simplified.graph
        code, header = (files[file].decode() for file in wanted)
        bundle = read(code, header, name)
        proof = prove(graph, files, name, said.claims)
        products, elements, alone = _arithmetic(graph, bundle, said.claims)
        runtime = _runtime(files, wanted)
    except KeyError as missing:
        raise refused(f"the bundle lacks {missing}") from None
    except (NotProvedError, UnreadableError, UnicodeDecodeError) as failure:
        raise refused(str(failure)) from None
    except ProofError as failure:  # its own cause is an error of Python's
        raise refused(_CONTRADICTS if failure.__cause__ else failure.cause) from failure.__cause__
    except (ArithmeticError, LookupError, ValueError, TypeError) as failure:
        raise refused(_CONTRADICTS) from failure
    listed = sorted(file for file in files if file in wanted or file in runtime)
    return {
        "schema": SCHEMA,
        "lowtide": version("lowtide"),
        "program": name,
        "model": {"sha256": digest_of(source)},
        "files": {file: digest_of(files[file]) for file in listed},
        "proved": {
            "data_flow": proof.data_flow,
            "bounds": proof.bounds,
            "steps": proof.steps,
            "data_dependent": list(proof.data_dependent),
            "left_out": list(proof.left_out),
            "products": [_told(graph, claim) for claim in products],
            "functions": [asdict(claim) for claim in elements],
            "passes": _passes(model.graph, simplified),
            "runtime": len(runtime),
        },
        "tested_alone": [f"{op} {graph.ops[op].label}" for op in sorted(alone)],
        "not_proved": list(NOT_PROVED),
        "said": _said_document(said),
    }


def files_below(folder: Path) -> dict[str, bytes]:
    """The C files in a folder and below it, by their names. Raises OSError, and RefusedError for two
    of one name that differ."""
    if not folder.is_dir():
        raise NotADirectoryError(ENOTDIR, strerror(ENOTDIR))
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*.[ch]")):
        content = path.read_bytes()
        if found.setdefault(path.name, content) != content:
            raise refused(f"two different files have the name {path.name}")
    return found


def refused(why: str) -> RefusedError:
    """What to raise if a bundle does not hold."""
    return RefusedError(
        f"not proved: {why}",
        "compile the model again and prove the new bundle; if that fails too, report it, with the model",
    )


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _runtime(files: Mapping[str, bytes], wanted: Sequence[str]) -> frozenset[str]:
    """The files of the runtime in a bundle, each of which must be as this lowtide has it."""
    library, found = kernel_files(), set()
    for name, content in files.items():
        if name.endswith((".c", ".h")) and name not in wanted and name in library:
            if content.decode("utf-8", "replace").replace("\r\n", "\n") != library[name]:
                raise NotProvedError(f"{name} differs from the tested runtime's")
            found.add(name)
    return frozenset(found)


def _simplified(source: bytes, said: Said) -> tuple[Simplified, Model]:
    model = parse(source)
    if said.part is not None:
        begin, until = said.part
        model = replace(model, graph=cut(model.graph, begin, until))
    prices, kernels = _Replay(said.prices or ()), _Replay(said.kernels)
    answers = Answers(None if said.prices is None else prices, kernels)
    found = run(model.graph, said.asked, answers)
    if prices.left or kernels.left:
        raise NotProvedError("simplification asks less about kernels than is answered")
    return found, model


class _Replay:
    """Answers that were given before, one after the other, whatever is asked."""

    def __init__(self, answers: Sequence[Any]) -> None:
        self._answers: Iterator[Any] = iter(answers)
        self.left = len(answers)

    def __call__(self, *_: object) -> Any:
        if not self.left:
            raise NotProvedError("simplification asks more about kernels than is answered")
        self.left -= 1
        return next(self._answers)


def _arithmetic(
    graph: Graph, bundle: Bundle, claims: Claims
) -> tuple[list[ProductsClaim], list[ElementsClaim], set[int]]:
    """What is proved of the operators of products, and of functions of bytes; and the operators that
    some node computes by a kernel of which nothing is, or whose reference overflows."""
    own = semantic(graph)
    of = Products(graph, own, ranges(own), bundle)
    products: dict[tuple[int, str], ProductsClaim] = {}
    elements: dict[tuple[int, str], ElementsClaim] = {}
    alone: set[int] = set()
    seen = set()
    for claim, node in zip(claims.nodes, bundle.nodes, strict=True):
        if not claim.operators:  # it moves bytes, or exchanges rows: all of that is data flow
            continue
        kernel = bundle.kinds[node.kind].kernel
        if (kernel, node.params, claim.operators) in seen:
            continue
        seen.add((kernel, node.params, claim.operators))
        left = set(claim.operators)
        for call in called(bundle, kernel, bundle.params(node.params), claim.operators):
            try:
                made, other = of.claim(call), elements_claim(graph, bundle, call)
            except UndefinedError:
                continue  # then it is only tested
            except NotProvedError as failure:
                raise NotProvedError(f"{_named(graph, call)}: {failure}") from None
            if made is not None:
                _keep(products, (made.operator, made.kernel), made)
            if other is not None:
                elements.setdefault((other.operator, other.kernel), other)
            if made is not None or other is not None:
                left.discard(call.operator)
        alone |= left
    return (
        [products[key] for key in sorted(products)],
        [elements[key] for key in sorted(elements)],
        alone,
    )


def _keep(
    found: dict[tuple[int, str], ProductsClaim], key: tuple[int, str], claim: ProductsClaim
) -> None:
    """Of several nodes that one kernel computes an operator by, the claim with the least head-room."""
    other = found.get(key)
    found[key] = claim if other is None or claim.largest > other.largest else other


def _named(graph: Graph, call: Called) -> str:
    op: Op = graph.ops[call.operator]
    return f"operator {op.id} {op.label} by {call.kernel}"


def _told(graph: Graph, claim: ProductsClaim) -> dict[str, Any]:
    out = graph.tensors[graph.ops[claim.operator].outputs[0]]
    limit = 1 << claim.bits - 1
    head_room = (limit // max(1, claim.largest)).bit_length() - 1
    return {**asdict(claim), "makes": out.name, "head_room_bits": head_room, "wraps": claim.wraps}


def _passes(graph: Graph, simplified: Simplified) -> dict[str, Any]:
    """What simplification left out; of channels that are the same for all inputs, how many the intervals
    of the file's own graph confirm."""
    known = ranges(graph)
    removed, constant, confirmed = [], 0, 0
    for entry in simplified.dropped:
        channels = None if entry.channels is None else [int(each) for each in entry.channels]
        sure = 0
        if isinstance(entry.claim, Always) and channels is not None:
            constant += len(channels)
            sure = _confirmed(known.get(entry.tensor), entry.tensor, channels, entry.claim)
        confirmed += sure
        removed.append(
            {
                "tensor": entry.tensor,
                "name": graph.tensors[entry.tensor].name,
                "channels": channels,
                "why": _WHY[type(entry.claim)],
                "confirmed": sure,
            }
        )
    return {
        "left_out": dict(simplified.saved),
        "constant_channels": constant,
        "confirmed_by_intervals": confirmed,
        "removed": removed,
    }


_WHY: Final = {Always: "constant", Holds: "constant", Same: "copy", Unread: "unread"}


def _confirmed(
    interval: Interval | None, tensor: int, channels: Sequence[int], claim: Always
) -> int:
    """How many of these channels have the one value that is claimed of them, by intervals."""
    if interval is None:
        return 0
    found = 0
    for channel, value in zip(channels, claim.values, strict=True):
        low, high = int(interval.low[channel]), int(interval.high[channel])
        if not low <= value <= high:
            raise NotProvedError(f"channel {channel} of tensor {tensor} is never {value}")
        found += low == high
    return found


def _said_document(said: Said) -> dict[str, Any]:
    return {
        "nodes": [[list(n.operators), n.scratch, list(n.starts)] for n in said.claims.nodes],
        "variables": [[v.tensor, v.offset, v.size] for v in said.claims.variables],
        "keeps_inputs": said.claims.keeps_inputs,
        "asked": asdict(said.asked),
        "part": None if said.part is None else [list(ends) for ends in said.part],
        "prices": None if said.prices is None else list(said.prices),
        "kernels": list(said.kernels),
    }
