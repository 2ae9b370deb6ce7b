"""The network as frozen values: tensors, operators, the graph of both."""

from lowtide.ir.graph import (
    DType,
    Graph,
    Hop,
    Metadata,
    Model,
    Op,
    Option,
    Piece,
    Quant,
    Signature,
    Tensor,
)

__all__ = [
    "DType",
    "Graph",
    "Hop",
    "Metadata",
    "Model",
    "Op",
    "Option",
    "Piece",
    "Quant",
    "Signature",
    "Tensor",
]
