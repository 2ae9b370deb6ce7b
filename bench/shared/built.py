"""Bundles compiled and not run: what a compiler says of them, and what kernels count as they run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lowtide.commands.compiling import Compiled
from lowtide.machines.finding import find_compiler
from lowtide.machines.host import host_build, host_macs
from lowtide.machines.toolchain import compile_sources
from lowtide.oracle.samples import reference, sample_inputs
from lowtide.temporary import temporary_folder


def compile_only(bundle: Mapping[str, bytes], toolchain: str, folder: Path, *flags: str) -> str:
    """Compile `bundle` in `folder`, which must exist, without linking; return the warnings.

    `toolchain` is a board's, "host" or "xtensa-lx106-elf". Raises MissingToolError and BuildError.
    """
    return compile_sources(find_compiler(toolchain), flags or ("-O2",), bundle, folder, True)[1]


def count_macs(compiled: Compiled, *, seed: int = 1) -> int:
    """The MACs that one inference does, counted by the kernels themselves in a build for the host.

    Kernels count what a layer is defined to multiply, padding included, column by column as they
    run. Raises as `verify`.
    """
    inputs = sample_inputs(compiled.model, 1, seed)
    wanted = reference(compiled.model, inputs, list(compiled.graph.inputs))
    with temporary_folder() as folder:
        program = host_build(compiled.files, compiled.name, folder, count=True)
        samples = [
            [sample[t].tobytes() for t in compiled.graph.inputs] for sample in wanted.samples
        ]
        return host_macs(program, samples)
