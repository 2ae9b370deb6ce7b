"""Batches: the images of a batch are rows, one after the other, and windows stay inside of one.

Why a kernel between: the interpreter knows of padding above and below a tensor's rows only. Where a
window reaches beyond its image into the next, a kernel takes those rows away before it calls the
operator's own, which so never learns that there are other images (kernels/include/lt_images.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lowtide.ir import Tensor
from lowtide.ir.window import Axis
from lowtide.lower.common import image_rows
from lowtide.lower.nodes import Array, Images, Kernel, Node, Params, Port


def windows(source: Tensor, rows: Axis, made: int) -> Port:
    """What the windows `rows` of `made` output rows per image see of the feature map `source`."""
    count, row_bytes = image_rows(source)
    if source.shape[0] == 1:
        return Port(
            source.id, count, row_bytes, -rows.before, rows.stride, rows.kernel, rows.dilation
        )
    first = [y * rows.stride - rows.before for y in range(made)]
    port = windows_from(source, first, rows.kernel, rows.dilation)
    touched = rows.touched(range(made))
    beyond = touched.start < 0 or touched.stop > source.shape[1]
    port = port if beyond else replace(port, images=None)
    if made * rows.stride == source.shape[1]:  # an arithmetic sequence needs no table
        port = replace(port, first=-rows.before, stride=rows.stride, table=None)
    return port


def windows_from(source: Tensor, first: Sequence[int], count: int, dilation: int = 1) -> Port:
    """The same of `count` rows each; `first` are the first ones of an image's windows."""
    batch, height, *_ = source.shape
    rows, row_bytes = image_rows(source)
    return Port(
        source.id,
        rows,
        row_bytes,
        count=count,
        dilation=dilation,
        table=tuple(image * height + row for image in range(batch) for row in first),
        images=None if batch == 1 else Images(height, len(first)),
    )


def one_by_one(node: Node) -> Node:
    """`node`, whose kernel knows of one image, for a batch: itself if no port has `images`."""
    port = next((port for port in node.inputs if port.images is not None), None)
    if port is None or port.images is None:
        return node
    lean = None if node.lean_scratch is None else _params(node.leaner, port, port.images)
    return replace(
        node,
        kernel="lt_images_row",
        header="lt_images.h",
        params=_params(node, port, port.images),
        lean_kernel=None,
        lean_params=lean,
    )


def _params(node: Node, port: Port, images: Images) -> Params:
    first = np.array([port.window(step).start for step in range(images.steps)])
    return Params(
        "lt_images",
        (
            ("run", Kernel(node.kernel, node.header)),
            ("params", node.params),
            ("first", Array("int16_t", first)),
            ("rows", images.rows),
            ("steps", images.steps),
            ("count", port.count),
            ("dilation", port.dilation),
        ),
    )
