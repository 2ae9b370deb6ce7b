"""The networks that tests run over: the zoo's, and the real models where a checkout has them.

Why one list: a test over all networks must have cases also where the folder of real models is
missing, so both kinds go by name and the zoo is always among them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from lowtide import zoo
from lowtide.ir import Model
from lowtide.tflite.read import parse

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
