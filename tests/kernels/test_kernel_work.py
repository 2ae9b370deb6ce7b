"""What kernels are said to do, which the search for plans prices: as a golden file.

Why: a count that is a little off makes no program wrong, only plans a little worse, so nothing else
would fail. The file has some lines of each kernel to read, and a digest of all lines.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from golden_files import assert_golden
from lowtide.commands.options import Options
from lowtide.commands.passing import passed
from lowtide.lower.nodes import Node
from lowtide.machines.board import find_target
from lowtide.plans.cost import features
from lowtide.rows.prepare import prepare
from lowtide.tflite.read import parse
from networks import contents

CORES = ("cortex-m0", "cortex-m4", "cortex-m55")
NETWORKS = ("ds-cnn-kws", "resnet8", "mobilenet-v2-0.35-144", "attention-block", "audio-front-end")


def lines_of(network: str, core: str) -> Iterator[str]:
    """A line for each form of each operator and block: all of its columns, three, and one of padding."""
    graph = passed(parse(contents(network)), Options()).graph
    ready = prepare(graph, range(len(graph.ops)), target=find_target(core))
    for of in (*ready.lowered.values(), *ready.within.values()):
        for node in of.nodes:
            if isinstance(node, Node):
                for form in (node, *node.forms):
                    yield _line(form)


def _line(node: Node) -> str:
    counts = [features(node), features(node, 3, 0), features(node, 1, 1)]
    told = "; ".join(" ".join(f"{k}={v:g}" for k, v in sorted(of.items()) if v) for of in counts)
    return f"{node.kernel} {node.scratch} B {node.narrow_scratch[:3]}: {told}"


@pytest.mark.parametrize("core", CORES)
def test_what_kernels_are_said_to_do(core: str, pytestconfig: pytest.Config) -> None:
    lines = list(dict.fromkeys(line for name in NETWORKS for line in lines_of(name, core)))
    shown: dict[str, list[str]] = {}
    for line in lines:
        shown.setdefault(line.partition(" ")[0], []).append(line)
    told = [line for kernel in sorted(shown) for line in shown[kernel][:2]]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    told.append(f"all {len(lines)} lines: {digest}")
    assert_golden(f"work-{core}.txt", "\n".join(told), pytestconfig)
