"""Arrays of the file's tensors as a program has them whose rows are the file's columns, and back."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from lowtide.ir import Graph

Array = NDArray[Any]


def turned(graph: Graph, tensor: int, of_file: Array) -> Array:
    """The file's `tensor` as `graph` has it: [1, columns, rows, channels] if it is turned, or itself."""
    if tensor not in graph.turned:
        return of_file
    one, columns, rows, channels = graph.tensors[tensor].shape
    return of_file.reshape(one, rows, columns, channels).swapaxes(1, 2)


def turned_back(graph: Graph, tensor: int, own: Array) -> Array:
    """The other way round."""
    if tensor not in graph.turned:
        return own
    return own.reshape(graph.tensors[tensor].shape).swapaxes(1, 2)


def index_in_file(graph: Graph, tensor: int, index: int) -> int:
    """Which element of the file's tensor element `index` of `graph`'s is; -1 stays."""
    if tensor not in graph.turned or index < 0:
        return index
    _, columns, rows, channels = graph.tensors[tensor].shape
    column, inside = divmod(index, rows * channels)
    row, channel = divmod(inside, channels)
    return (row * columns + column) * channels + channel
