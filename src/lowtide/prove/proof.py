"""The proof that a program finds in memory what its operators ask for: for all inputs, and all runs.

What a program does with memory does not depend on its input: which kernel runs when, on which rows, at
which addresses, is a table. So the table is played once, on labels that say of each byte which one of
which tensor it is. Each kernel must find those that its operator's definition asks for, and writes
those it makes. What a network remembers is proved by induction: a run that begins with each variable's
value ends with the value that the next one begins with, and a reset writes the first.

What the proof takes for granted is in `NOT_PROVED`. Beyond the bundle's text it takes hints: which
operators a node computes, without which nothing could be held against a definition, and which columns
of them where all is padding (a wrong hint makes it fail); and how much scratch memory a kernel uses, as
its lowering says (lower/nodes.py): the headers of the kernels say that by formulas of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lowtide.errors import FaultError
from lowtide.ir import DType, Graph, Op, Tensor
from lowtide.ir.state import WRITE_ROWS
from lowtide.prove.bundle_reader import Bundle, Params, UnreadableError, read
from lowtide.prove.contracts import Call, Judged
from lowtide.prove.joined import joined
from lowtide.prove.machine import Contract, Heard, Machine, Step
from lowtide.prove.memory import NotProvedError, Symbols
from lowtide.prove.moved import moves
from lowtide.prove.movers import mover, slide
from lowtide.prove.reads import DATA_DEPENDENT, READS, TABLES
from lowtide.prove.states import STATES
from lowtide.prove.structs import params_of
from lowtide.prove.values import Values, changed_by, values_of
from lowtide.prove.windows import block, images, window

NOT_PROVED = (
    "the arithmetic of each kernel, and what it reads of its own weights and tables: tested against the "
    "reference kernels",
    "how much scratch memory each kernel uses: tested with sanitizers",
    "what simplification removed: bounded by intervals, and tested",
    "the C compiler, and the core",
)
"""What no proof of data flow says."""

_MOST_BYTES = 1 << 24
"""Of memory that is followed byte by byte: larger programs are not proved, and say so."""

_WINDOWS = ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D")
_WINDOW_FIELDS = (
    *("in_w", "in_c", "out_w", "out_c"),
    *("kernel_h", "kernel_w", "stride_w", "dilation_w", "pad_left"),
)


class ProofError(FaultError):
    """The program that was made would not find in memory what its operators ask for."""


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """What is said of a node: the operators of the graph that it computes, in their order (none: it
    moves bytes, or exchanges rows), and bytes of its scratch memory. If it makes some columns of a map
    in a strip, `starts` are the first of them, strip by strip."""

    operators: tuple[int, ...] = ()
    scratch: int = 0
    starts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class VariableClaim:
    """Where `size` bytes of a variable lie in the state."""

    tensor: int
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Claims:
    """What is said of a program beside its text. With `keeps_inputs`, resident inputs stay as they
    are."""

    nodes: Sequence[NodeClaim]
    variables: Sequence[VariableClaim] = ()
    keeps_inputs: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """What is proved of a program, for all inputs and all runs.

    `data_flow`: each step finds what its operator's definition asks for; not of all, if `left_out`
    names operators of which that is not known. `bounds`: nothing is read or written outside of the
    arena, the state, inputs and constants. Programs of more than 16 MiB are not played: neither
    holds, and `left_out` has the reason. `data_dependent` lists operators whose addresses depend on
    data, and why they are in bounds; `not_proved` what is beyond all this. `steps` is how many there
    were.

    """

    data_flow: bool
    bounds: bool
    data_dependent: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    not_proved: tuple[str, ...] = NOT_PROVED
    steps: int = 0

    def __str__(self) -> str:
        if not self.steps and self.left_out:
            return f"not proved: {self.left_out[0]}"
        but = f"; not of {', '.join(self.left_out)}" if self.left_out else ""
        return f"proved for all inputs: data flow, bounds{but}"


def prove(
    graph: Graph, files: Mapping[str, bytes], name: str, claims: Claims, heard: Heard | None = None
) -> Proof:
    """Prove the bundle `files` of the program `name`, which computes `graph`.

    `heard` is told of all that kernels read and make. Raises ProofError.
    """
    try:
        bundle = read(files[f"{name}.c"].decode(), files[f"{name}.h"].decode(), name)
        return _proved(graph, bundle, claims, heard)
    except (NotProvedError, UnreadableError) as failure:
        raise ProofError(f"the generated program is not proved: {failure}") from None
    except (ArithmeticError, LookupError, ValueError, TypeError) as failure:
        told = f"{type(failure).__name__}: {failure}"
        raise ProofError(f"the generated program cannot be proved: {told}") from failure


def _proved(graph: Graph, bundle: Bundle, claims: Claims, heard: Heard | None) -> Proof:
    if len(claims.nodes) != len(bundle.nodes):
        raise NotProvedError(
            f"it has {len(bundle.nodes)} nodes, and should have {len(claims.nodes)}"
        )
    _check_sizes(graph, bundle)
    ends = (end.bytes for end in (*bundle.inputs, *bundle.outputs))
    if bundle.arena + bundle.state + len(bundle.constants) + sum(ends) > _MOST_BYTES:
        too_large = (
            f"it has more than {_MOST_BYTES >> 20} MiB of memory, and a proof takes 8 times as much"
        )
        return Proof(False, False, left_out=(too_large,))
    symbols = Symbols()
    values = values_of(graph, symbols, {op for node in claims.nodes for op in node.operators})
    contracts = _Contracts(graph, bundle, claims, values)
    machine = Machine(
        bundle,
        symbols,
        contracts,
        [values.last_input(t) for t in graph.inputs],
        [values.last[t] for t in graph.outputs],
        heard,
    )
    _begin(graph, bundle, claims, machine, values)
    machine.run()
    resident = bundle.const_base is None and all(end.rows is None for end in bundle.inputs)
    kept = dict(enumerate(machine.inputs)) if claims.keeps_inputs and resident else {}
    machine.check_ends(kept)
    for variable in claims.variables:
        memory, at = machine.bases[bundle.state_base or 0]
        what = f"variable {variable.tensor} after a run"
        held = values.last[variable.tensor]
        machine.check_held(what, memory, at + variable.offset, variable.size, held)
    used = {op for node in claims.nodes for op in node.operators}
    dependent = (
        f"{op} {graph.ops[op].label}: {DATA_DEPENDENT[graph.ops[op].label]}"
        for op in sorted(used)
        if graph.ops[op].label in DATA_DEPENDENT and not moves(graph, graph.ops[op])
    )
    tables = tuple(f"{what}: {why}" for what, why in contracts.tables.items())
    left_out = tuple(f"{op} {graph.ops[op].label}" for op in sorted(contracts.left_out))
    return Proof(not left_out, not left_out, (*dependent, *tables), left_out, steps=machine.steps)


def _check_sizes(graph: Graph, bundle: Bundle) -> None:
    for what, ends, tensors in (
        ("input", bundle.inputs, graph.inputs),
        ("output", bundle.outputs, graph.outputs),
    ):
        sizes = [graph.tensors[t].bytes for t in tensors]
        if [end.bytes for end in ends] != sizes:
            raise NotProvedError(
                f"its {what}s have {[end.bytes for end in ends]} bytes, not {sizes}"
            )


def _begin(graph: Graph, bundle: Bundle, claims: Claims, machine: Machine, values: Values) -> None:
    """Memory as it is before a run: inputs, and what variables hold."""
    if bundle.given:
        machine.give(dict(enumerate(machine.inputs)))
    elif bundle.const_base is None and any(end.rows is None for end in bundle.inputs):
        raise NotProvedError("nothing says where its inputs are")
    if not claims.variables:
        return
    if bundle.state_base is None:
        raise NotProvedError("it has variables, and no state")
    number, _ = machine.bases[bundle.state_base]
    state = bytearray(bundle.state)
    known = bytearray(bundle.state)
    for offset, size, data in bundle.resets:
        if offset + size > bundle.state:
            raise NotProvedError("a reset writes beyond the state")
        state[offset : offset + size] = data
        known[offset : offset + size] = b"\1" * size
    for variable in claims.variables:
        tensor, end = graph.tensors[variable.tensor], variable.offset + variable.size
        if end > bundle.state:
            raise NotProvedError(f"variable {tensor.id} is not within the state")
        first = _initial(tensor)[: variable.size]
        if state[variable.offset : end] != first or not all(known[variable.offset : end]):
            raise NotProvedError(f"a reset does not write what variable {tensor.id} starts with")
        memory = machine.memories[number]
        memory.write(variable.offset, variable.size, values.first[tensor.id])


def _initial(tensor: Tensor) -> bytes:
    """What a variable starts with: as MicroInterpreter's ResetVariableTensors has it."""
    if tensor.initial is not None:
        return tensor.initial
    zero = tensor.quant.zero_point[0] if tensor.quant and tensor.dtype is DType.INT8 else 0
    return bytes([zero & 0xFF]) * tensor.bytes


class _Contracts:
    """The contract of each node, and how much scratch memory it has."""

    def __init__(self, graph: Graph, bundle: Bundle, claims: Claims, values: Values) -> None:
        self.graph = graph
        self.bundle = bundle
        self.claims = claims
        self.values = values
        self.left_out: set[int] = set()
        self.tables: dict[str, str] = {}

    def __call__(self, number: int) -> tuple[Contract, int]:
        claim, node = self.claims.nodes[number], self.bundle.nodes[number]
        params = self.bundle.params(node.params)
        kind = self.bundle.kinds[node.kind]
        ports = self.bundle.ports[node.ports : node.ports + kind.inputs + kind.outputs]
        self._check_type(kind.kernel, params)
        if params.ctype == "lt_slide":
            return slide(params), claim.scratch
        if not claim.operators:
            raise NotProvedError(f"it computes no operator, and runs {kind.kernel}")
        ops = tuple(self.graph.ops[op] for op in claim.operators)
        of_batch = params if params.ctype == "lt_images" else None
        if of_batch is not None:
            params = self.bundle.params(params.fields["params"])
        self._check_tables(params, ops[-1].label)
        targets = ports[kind.inputs :]
        call = Call(
            self.graph,
            self.bundle,
            self.values,
            ops,
            params,
            tuple(port.count for port in ports[: kind.inputs]),
            tuple(port.count for port in targets),
            tuple(self.bundle.traced[port.rows] for port in targets),
            claim.scratch,
            claim.starts,
        )
        made = self._made(call)
        if of_batch is not None:
            made = images(call.with_params(of_batch), made)
        return made, claim.scratch

    def _check_type(self, kernel: str, params: Params) -> None:
        """The kernel is one of such params, and so are those that it calls."""
        if params_of(kernel) != params.ctype:
            raise NotProvedError(f"it runs {kernel}, whose params are not {params.ctype}")
        run = params.fields.get("run")
        for name in ("params", "last"):
            if isinstance(run, str) and isinstance(inner := params.fields.get(name), str):
                self._check_type(run, self.bundle.params(inner))

    def _made(self, call: Call) -> Judged:
        op = call.op
        if call.params.ctype == "lt_joined":
            return joined(call)
        if len(call.ops) > 1:
            return block(call)
        if op.type in _WINDOWS:
            return window(_judged(call))
        if moves(self.graph, op) or op.type == WRITE_ROWS:
            made = mover(call)
            return made if made is not None else self._unknown(call)
        maker = READS.get(op.type) or STATES.get(op.custom or op.type)
        maker = maker or READS.get(op.custom or "")
        return self._unknown(call) if maker is None else maker(call)

    def _unknown(self, call: Call) -> Judged:
        """An operator that is in no table: what it reads is not judged, and the proof says so."""
        op = call.op
        self.left_out.add(op.id)
        values = {t: call.values.outputs[op.id][i] for i, t in enumerate(op.outputs)}
        values |= {t: call.values.states[op.id][t] for t in changed_by(self.graph, op)}

        def judge(step: Step) -> None:
            for port, (tensor, value) in enumerate(values.items()):
                for slot in step.outputs[port] if port < len(step.outputs) else ():
                    if slot is not None:
                        size = self.graph.tensors[tensor].bytes // slot.rows
                        step.makes(slot, value, slot.row * size, size)

        return Judged(judge, "after")

    def _check_tables(self, params: Params, label: str) -> None:
        """Tables whose index depends on data have an entry for each that there can be."""
        for name, least in TABLES.get(label, {}).items():
            found = params.fields.get(name)
            if isinstance(found, str) and self.bundle.length(found) < least:
                length = self.bundle.length(found)
                raise NotProvedError(f"its {name} has {length} entries, and should have {least}")
        for name in ("exps", "scaled", "table") if "reach" in params.fields else ():
            found = params.fields.get(name)
            if isinstance(found, str) and self.bundle.length(found) != params.fields["reach"]:
                raise NotProvedError("its tables do not reach as far as it says")
        for name in ("table", "tables"):
            found = params.fields.get(name)
            if params.ctype.startswith(("lt_lut", "lt_concat_u8")) and isinstance(found, str):
                length = self.bundle.length(found)
                if name == "tables" or params.ctype == "lt_lut":
                    if length == 0 or length % 256:
                        raise NotProvedError(f"a table that bytes index has {length} entries")
                    self.tables["tables of functions"] = "256 entries, and the index is a byte"


def _judged(call: Call) -> Call:
    """A kernel that calls others for the same row: all have the same window, which it has, too, or else
    that of the first one, which what it has of its own must be."""
    nested = list(_nested(call.bundle, call.params))
    if call.params.ctype == "lt_depthwise_each_s8" and nested:
        nested.append(call.params)
        call = call.with_params(nested[0])
    for params in nested:
        for name in (*_WINDOW_FIELDS, "channels"):
            found, own = params.fields.get(name), call.fields.get(name)
            if found is not None and isinstance(own, int):
                call.expect(name, found if isinstance(found, int) else -1, own)
    return call


def _nested(bundle: Bundle, params: Params) -> Iterator[Params]:
    """The params of kernels that a kernel of `params` calls; those that call others come after these."""
    for name in ("params", "next"):
        inner = params.fields.get(name)
        if isinstance(inner, str):
            found = bundle.params(inner)
            yield from _nested(bundle, found)
            yield found


__all__ = ["Claims", "NodeClaim", "Op", "Proof", "ProofError", "VariableClaim", "prove"]
