"""The networks that tests run over: the zoo's, and the real models where a checkout has them.

Why one list: a test over all networks must have cases also where the folder of real models is
missing, so both kinds go by name and the zoo is always among them. Random networks go by number.

Why programs, too: many tests look at the same one, and planning it takes longer than looking. What is
kept here is frozen; a test that replaces parts of lowtide must compile by itself, and so must one that
asks how small a program is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from assembled import assemble_rows, smallest_choices
from lowtide import zoo
from lowtide.commands.compiling import Compiled, compile_model, compiled_of
from lowtide.commands.options import Options
from lowtide.emit.names import check_name
from lowtide.ir import Graph, Model
from lowtide.lower import has_kernel
from lowtide.modes import InputMode, OutputMode
from lowtide.order import OrderResult, best_order
from lowtide.passes import (
    drop_boundary_quantization,
    fold_pads,
    resolve_variables,
    show_signal_state,
)
from lowtide.passes.flipping import flip_bytes
from lowtide.place.rows import QUICK
from lowtide.program.assemble import Assembly
from lowtide.rows.prepare import prepare
from lowtide.tflite.read import parse
from random_nets import random_network

_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "models"


def shared_models() -> list[Path]:
    """The real models' files; none where the folder is missing."""
    return sorted(_FOLDER.glob("*.tflite"))


NETWORKS = (*zoo.names(), *(path.stem for path in shared_models()))
"""Names of all networks: the zoo's, then the real models' file names without the ending."""


@cache
def contents(name: str) -> bytes:
    """The file of the network `name`."""
    return zoo.build(name) if name in zoo.names() else (_FOLDER / f"{name}.tflite").read_bytes()


@cache
def loaded(name: str) -> Model:
    """The network `name`, parsed."""
    return parse(contents(name), path=name)


@cache
def model_of(network: str | int) -> Model:
    """A network by its name, or the random one of that number."""
    if isinstance(network, str):
        return loaded(network)
    return parse(random_network(network), path=f"random-{network}")


EFFORT = 0.1
"""Of the usual effort, that with which programs are planned that are only looked at."""


def compiled(network: str | int, options: Options | None = None) -> Compiled:
    """The network as C; planned once, whatever its name, with `EFFORT`."""
    chosen = options or Options()
    return _compiled(network, replace(chosen, effort=EFFORT * chosen.effort))


@cache
def _compiled(network: str | int, options: Options) -> Compiled:
    if options.name is None:
        return compile_model(model_of(network), options)
    plan, name = _compiled(network, replace(options, name=None)), check_name(options.name)
    return compiled_of(
        *(plan.model, options, name, plan.order, plan.assembly, plan.simplified),
        complete=plan.complete,
    )


@cache
def graph_of(network: str | int) -> Graph:
    """The network after all passes, without QUANTIZE and DEQUANTIZE at its boundary."""
    graph = show_signal_state(resolve_variables(model_of(network).graph))
    return flip_bytes(drop_boundary_quantization(fold_pads(graph)), has_kernel).graph


@cache
def order_of(network: str | int) -> OrderResult:
    """The best order of `graph_of`."""
    return best_order(graph_of(network))


@cache
def row_program(
    network: str | int,
    given: InputMode = "resident",
    left: OutputMode = "resident",
    preserve: bool = False,
) -> Assembly:
    """The program of `graph_of`, operators in their best order, rows interleaved as `assemble` does.

    Its placement is repaired with a tenth of the effort: what looks at it looks at all networks.
    """
    ready = prepare(
        graph_of(network),
        order_of(network).order,
        input_mode=given,
        output_mode=left,
        preserve_input=preserve,
    )
    return assemble_rows(ready, smallest_choices(ready), effort=QUICK)


def present(*names: str) -> list[str]:
    """Those of `names` that this checkout has."""
    return [name for name in names if name in NETWORKS]


def float_network() -> bytes:
    """A model that is not quantised: one addition of floats, the file made with the schema's own API."""
    import ai_edge_litert.schema_py_generated as schema
    import flatbuffers

    tensors = [schema.TensorT(shape=[1, 4], type=schema.TensorType.FLOAT32) for _ in range(2)]
    add = schema.OperatorT(inputs=[0, 0], outputs=[1])
    graph = schema.SubGraphT(tensors=tensors, operators=[add], inputs=[0], outputs=[1], name="main")
    built = schema.ModelT(
        version=3,
        operatorCodes=[schema.OperatorCodeT(version=1)],  # ADD is number 0
        subgraphs=[graph],
        buffers=[schema.BufferT()],
    )
    builder = flatbuffers.Builder(1024)
    builder.Finish(built.Pack(builder), b"TFL3")
    return bytes(builder.Output())
