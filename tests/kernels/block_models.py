"""Networks of chains of blocks, compiled with every block as told, and run with each row on its own.

Why chains: a build with sanitizers takes seconds, a block next to nothing. A network holds dozens of
chains, each from an input to an output, each a stage that runs as its own case says; and every call of a
block's kernel goes through guarded_block.c, which sees to it that it keeps to its rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from conv_models import NONE, SAME, VALID, Layer, Models
from numpy.typing import NDArray

from assembled import assemble_rows, smallest_forms
from lowtide.emit.bundle import bundle
from lowtide.ir import Graph, Model
from lowtide.lower.nodes import Array as Constant
from lowtide.lower.nodes import Kernel, Node, Params
from lowtide.machines.board import find_board
from lowtide.machines.host import host_build, host_macs, host_run
from lowtide.machines.qemu import run_on_board
from lowtide.modes import InputMode, OutputMode
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.passes import fold_pads
from lowtide.program.assemble import Assembly
from lowtide.rows.prepare import Prepared, prepare
from lowtide.rows.stages import Choice, Fused, Limit
from lowtide.target import ANY, Target
from lowtide.tflite.read import parse
from lowtide.zoo.spec import OpSpec

Array = NDArray[Any]
Sides = tuple[int, int, int, int]
"""Padding (top, bottom, left, right)."""

_HERE = Path(__file__).parent
_KERNELS = {"lt_block_s8_row": "guarded_block", "lt_separable_s8_row": "guarded_separable"}
_QUICK = ("4x2", "vector")
"""Kinds of blocks' kernels that not all cores have."""


@dataclass(frozen=True)
class Unit:
    """A block: a depthwise convolution, its pointwise ones of `expand` and `project` channels (0: there
    is none), and whether it keeps rows. Activations and zero points are those of all three. With
    `joins`, what it reads is put together of its input and of others, of so many channels, and there may
    be no depthwise convolution as its `core`."""

    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: int | Sides = SAME
    expand: int = 6
    project: int = 3
    keeps: bool = True
    activations: tuple[int, int, int] = (NONE, NONE, NONE)
    zeros: tuple[int, int, int] = (-7, 4, 1)
    spread: float | None = None
    joins: tuple[int, ...] = ()
    core: bool = True

    @property
    def kept(self) -> int:
        """How many rows it keeps."""
        return self.kernel[0] - self.stride[0] if self.keeps and self.expand else 0

    def reads_all(self, height: int) -> bool:
        """Whether there is no row below its last window."""
        sides = self.padding if isinstance(self.padding, tuple) else (0, 0, 0, 0)
        last = (self.made(height, 99)[0] - 1) * self.stride[0] + self.kernel[0]
        return self.padding == SAME or last >= sides[0] + height

    def made(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of what it makes of a map."""
        sides = self.padding if isinstance(self.padding, tuple) else (0, 0, 0, 0)
        sizes = (height + sides[0] + sides[1], width + sides[2] + sides[3])
        return tuple(  # type: ignore[return-value]  # two of them
            -(-size // stride) if self.padding == SAME else (size - kernel) // stride + 1
            for size, kernel, stride in zip(sizes, self.kernel, self.stride, strict=True)
        )


@dataclass(frozen=True)
class Chain:
    """A stage of `units`, from an input of `shape` to an output: in strips of `strip` columns if that is
    not 0, lean or not; if `framed`, between two convolutions that are in no block. Its blocks
    take at most `limit` bytes of scratch memory."""

    units: tuple[Unit, ...]
    shape: tuple[int, int, int] = (7, 9, 4)
    strip: int = 0
    lean: bool = False
    framed: bool = False
    zero: int = 3
    limit: int | None = None


LIMITS = (0, 60, 150, 250, 400, 700, 10_000)
"""Of scratch memory: in all forms."""


def limited(units: Sequence[Unit], strip: int = 0) -> list[Chain]:
    """Every unit within every limit of scratch memory, of maps of several widths."""
    found = []
    for number, unit in enumerate(units):
        for at, limit in enumerate(LIMITS):
            width = (8, 9, 12, 7)[(number + at) % 4]
            height = next(height for height in count(8) if unit.reads_all(height))
            channels = 8 if number % 3 else 4
            found.append(Chain((unit,), (height, width, channels), limit=limit, strip=strip))
    return found


@dataclass
class Network:
    """A network of chains; `members` are, chain by chain and unit by unit, what the operators make."""

    models: Models
    members: list[list[list[int]]] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    given: dict[object, int] = field(default_factory=dict)

    def add(self, chain: Chain) -> None:
        """One more chain. Chains may read the same input."""
        net, key = self.models, (chain.shape, chain.zero)
        if key not in self.given:
            self.given[key] = net.input(1, *chain.shape, zero=chain.zero)
        x = self.given[key]
        if chain.framed:
            x = net.conv(x, chain.shape[2], (2, 3), Layer(zero=chain.zero))
        units = []
        for unit in chain.units:
            made = self._unit(x, unit)
            units.append(made)
            x = made[-1]
        if chain.framed:
            x = net.conv(x, 2, (3, 3), Layer())
        self.members.append(units)
        self.outputs.append(x)

    def _unit(self, x: int, unit: Unit) -> list[int]:
        net, made = self.models, []
        layers = [
            Layer(activation=activation, zero=zero, spread=unit.spread)
            for activation, zero in zip(unit.activations, unit.zeros, strict=True)
        ]
        if unit.joins:
            x = self._joined(x, unit.joins)
            made.append(x)
        if unit.expand:
            x = net.conv(x, unit.expand, (1, 1), layers[0])
            made.append(x)
        padding = unit.padding
        if isinstance(padding, tuple):
            x, padding = self._padded(x, padding), VALID
        if unit.core:
            layer = replace(layers[1], stride=unit.stride, padding=padding)
            x = net.depthwise(x, 1, unit.kernel, layer)
            made.append(x)
        if unit.project:
            x = net.conv(x, unit.project, (1, 1), layers[2])
            made.append(x)
        return made

    def _joined(self, x: int, channels: tuple[int, ...]) -> int:
        """Of the input and others, one of which is there twice, along their channels."""
        net, source = self.models, self.models.tensors[x]
        zero = int(source.zero_point)
        maps = [x]
        for many in channels:
            key = ((*source.shape[1:3], many), zero)
            if key not in self.given:
                self.given[key] = net.input(1, *key[0], zero=zero)
            maps.append(self.given[key])
        maps.append(maps[1])
        shape = (*source.shape[:3], sum(net.tensors[t].shape[3] for t in maps))
        out = net.tensor(shape, "INT8", scales=source.scales, zero_point=zero)
        options = {"axis": 3, "fused_activation_function": 0}
        net.ops.append(
            OpSpec("CONCATENATION", 1, tuple(maps), (out,), "ConcatenationOptions", options)
        )
        return out

    def _padded(self, x: int, sides: Sides) -> int:
        """A PAD, which becomes the padding of the convolution after it."""
        net, source = self.models, self.models.tensors[x]
        pairs = np.array([(0, 0), sides[:2], sides[2:], (0, 0)], np.int32)
        paddings = net.tensor((4, 2), "INT32", data=pairs)
        sizes = [size + sum(pair) for size, pair in zip(source.shape, pairs.tolist(), strict=True)]
        out = net.tensor(tuple(sizes), "INT8", scales=source.scales, zero_point=source.zero_point)
        net.ops.append(OpSpec("PAD", 1, (x, paddings), (out,), "PadOptions"))
        return out


def model_of(net: Models, *outputs: int) -> Model:
    """The file with these outputs, read."""
    return parse(net.file("blocks", outputs), path="blocks")


def prepared(
    graph: Graph,
    input_mode: InputMode = "const",
    output_mode: OutputMode = "resident",
    target: Target = ANY,
) -> Prepared:
    """The graph with its blocks, operators in the order of the file."""
    return prepare(
        graph,
        range(len(graph.ops)),
        input_mode=input_mode,
        output_mode=output_mode,
        align=4,
        target=target,
    )


def assembled(ready: Prepared, net: Network, chains: Sequence[Chain]) -> Assembly:
    """Each chain as a stage of its own, in blocks, strips and form as it says."""
    graph = ready.graph
    makers = {op.outputs[0]: op.id for op in graph.ops}
    ends = [makers[tensor] + 1 for tensor in net.outputs]
    choices = [
        Choice(
            tuple(range(first, last)),
            chain.strip or None,
            tuple(
                Fused(tuple(makers[tensor] for tensor in made), unit.kept)
                for unit, made in zip(chain.units, units, strict=True)
            ),
            _limits(chain, [makers[made[0]] for made in units], range(first, last)),
        )
        for chain, units, first, last in zip(chains, net.members, [0, *ends], ends, strict=False)
    ]
    return assemble_rows(ready, choices)


def _limits(chain: Chain, blocks: Sequence[int], operators: range) -> tuple[Limit, ...]:
    """Those of scratch memory; of a block by the first of its operators."""
    limits = {of.operator: of for of in smallest_forms(operators)} if chain.lean else {}
    if chain.limit is not None:
        limits |= {block: Limit(block, chain.limit) for block in blocks}
    return tuple(limits[operator] for operator in sorted(limits))


def differences(
    chains: Sequence[Chain],
    *,
    seed: int = 1,
    samples: int = 2,
    board: str = "",
    input_mode: InputMode = "const",
    output_mode: OutputMode = "resident",
    target: Target = ANY,
) -> list[str]:
    """The chains whose output is not the oracle's, as one line each, and one if MACs are not the plan's.

    On the host, with sanitizers; or on `board`. Compiled for `target`; blocks are guarded only
    if it is any core.
    """
    net = Network(Models(seed))
    for chain in chains:
        net.add(chain)
    model = model_of(net.models, *net.outputs)
    graph = fold_pads(model.graph)
    program = assembled(prepared(graph, input_mode, output_mode, target), net, chains)
    assert program.plan is not None
    lines = _too_small(program) if target == ANY else []
    inputs = sample_inputs(model, samples, seed)
    given = [[np.ascontiguousarray(sample[t]).tobytes() for t in graph.inputs] for sample in inputs]
    files = bundle(program, "net")
    if board:
        got = _on_board(board, files, given, program.plan.macs)
    else:
        got, macs = _on_host(files, given)
        if macs != samples * program.plan.macs:
            lines.append(f"{macs} MACs instead of {samples} times {program.plan.macs}")
    wanted = reference(model, inputs, graph.outputs).samples
    for number, chain in enumerate(chains):
        tensor = graph.outputs[number]
        for sample, outputs in enumerate(got):
            if outputs[number] != (want := wanted[sample][tensor]).tobytes():
                values = np.frombuffer(outputs[number], np.int8).reshape(want.shape)
                at = np.argwhere(values != want)
                lines.append(
                    f"chain {number}, sample {sample}: {len(at)} of {want.size} elements, "
                    f"first {at[0].tolist()}: {chain}"
                )
    return lines


def _on_host(
    files: dict[str, bytes], given: Sequence[Sequence[bytes]]
) -> tuple[Sequence[Sequence[bytes]], int]:
    """The outputs of each sample, and the MACs of all."""
    with tempfile.TemporaryDirectory() as folder:
        program = host_build(_guarded(files), "net", Path(folder), count=True)
        assert program.warnings == ""
        return host_run(program, given), host_macs(program, given)


def _on_board(
    board: str, files: dict[str, bytes], given: Sequence[Sequence[bytes]], macs: int
) -> Sequence[Sequence[bytes]]:
    """The outputs of each sample; the program fails if one takes other than `macs` MACs."""
    counted = b"""
uint64_t lt_macs;

int net_invoke(net_t *m)
{
    lt_macs = 0;
    int status = uncounted_invoke(m);
    return status != LT_OK ? status : lt_macs == %dU ? LT_OK : 88;
}
"""
    files = _guarded(files)
    code = files["net.c"]
    assert code.count(b"\nint net_invoke(net_t *m)") == 1
    files["net.c"] = code.replace(
        b"\nint net_invoke(net_t *m)", b"\nstatic int uncounted_invoke(net_t *m)"
    ) + (counted % macs)
    target = find_board(board)
    target = replace(target, flags=(*target.flags, "-DLT_COUNT"))
    run = run_on_board(target, files, "net", given)
    assert run.warnings == ""
    return run.outputs


def _guarded(files: dict[str, bytes]) -> dict[str, bytes]:
    """The bundle with each block's kernel in its guard."""
    code = files["net.c"].decode()
    kernels, guards = _KERNELS, "guarded_block.c"
    sources = {guards: (_HERE / guards).read_bytes()}
    for kind in (kind for kind in _QUICK if f"lt_block_{kind}.h" in files):
        quick = {
            f"lt_{does}_{kind}_s8_row": f"guarded_{does}_quick" for does in ("block", "separable")
        }
        kernels, guards = {**_KERNELS, **quick}, "guarded_quick.c"
        whole = (_HERE / guards).read_text(encoding="utf-8")
        block = sources.pop("guarded_block.c").decode()
        whole = whole.replace('#include "guarded_block.c"\n', block)
        sources[guards] = f"#define QUICK_{kind}\n{whole}".encode()
    declared = '#include "lowtide.h"\n'
    for kernel, guard in kernels.items():
        code = code.replace(kernel, guard)
        declared += f"void {guard}(const void *params, const lt_step *step);\n"
    return {**files, "net.c": (declared + code).encode(), **sources}


def _too_small(program: Assembly) -> list[str]:
    """Blocks that get less scratch memory than lt_block.h says they need."""
    nodes = [entry.node for entry in program.kernels if entry.node.kernel in _KERNELS]
    assert nodes or any(entry.node.kernel.startswith("lt_joined") for entry in program.kernels)
    return [
        f"operator {node.op}: {node.scratch} bytes of scratch instead of {_scratch(node)}"
        for node in nodes
        if node.scratch < _scratch(node)
    ]


def _scratch(node: Node) -> int:
    """As guarded_block.c has it."""
    fields, core = dict(node.params.fields), _part(node.params, "depthwise")
    expand, project = _part(node.params, "expand"), _part(node.params, "project")
    pixels, columns, needs = core["out_w"], 0, 0
    if expand:
        columns = (pixels - 1) * core["stride_w"] + core["kernel_w"]
        columns = min(columns, _number(fields["in_w"]))
        fresh = core["kernel_h"] - _number(fields["kept"])
        needs += -(-fresh * columns * core["channels"] // 4) * 4
    if project:
        needs += -(-pixels * core["channels"] // 4) * 4
    called = fields.get("core")
    plain = called.name.endswith("_plain") if isinstance(called, Kernel) else fields["lean"]
    kernels = [0 if plain else 8 * core["kernel_h"] * core["kernel_w"]]
    for part, many in ((expand, columns), (project, pixels)):
        if part and not part["lean"] and many > 1:
            kernels.append(16 * part["quads"])
    return needs + max(kernels)


def _part(params: Params, name: str) -> dict[str, int]:
    """The numbers in the params of a block's part; none if there is no such part."""
    part = dict(params.fields).get(name)
    if not isinstance(part, Params):
        return {}
    return {key: _number(value) for key, value in part.fields if not isinstance(value, Constant)}


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
