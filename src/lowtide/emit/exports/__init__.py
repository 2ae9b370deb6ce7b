"""Bundles as packages: the folder that users of a build system expect, with an example that runs.

The bundle is in `src/` as `lowtide compile` writes it without --export; its README tells only of cores
that the build system builds for. All else says to one build
system what is there. A network's package has a version of its own, 1.0.0, for its users to raise; that
of the runtime is in its symbol (emit/runtime.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lowtide.emit.bundle import README
from lowtide.emit.exports import components, libraries
from lowtide.emit.exports.package import Package
from lowtide.emit.exports.tflm import tflm
from lowtide.emit.one_core import only_cores
from lowtide.emit.origin import Origin
from lowtide.emit.runtime import LICENSE
from lowtide.program.assemble import Assembly

_LAYOUTS: Final[Mapping[str, Callable[[Package], dict[str, str]]]] = {
    "arduino": libraries.arduino,
    "zephyr": components.zephyr,
    "esp-idf": components.esp_idf,
    "platformio": libraries.platformio,
    "cmake": components.cmake,
    "cmsis-pack": libraries.cmsis_pack,
    "tflm": tflm,
}
KINDS: Final = tuple(_LAYOUTS)
"""The build systems that there are packages for."""


_CORES: Final[Mapping[str, Callable[[str], bool]]] = {
    "esp-idf": lambda core: not core.startswith("cortex"),
    "cmsis-pack": lambda core: core.startswith("cortex"),
}
"""Which cores a build system builds for, where not for all."""


def export(
    kind: str,
    assembly: Assembly,
    name: str,
    files: Mapping[str, bytes],
    origin: Origin,
    preserve_input: bool,
) -> dict[str, bytes]:
    """{path: contents} of a package of `kind` with the bundle `files` of the program `name`, which
    changes its inputs or not. Raises UsageError for a program that the package cannot have."""
    sources = tuple(sorted(f for f in files if f.endswith(".c")))
    package = Package(name, assembly, sources, origin.section("--export", kind), preserve_input)
    texts = _LAYOUTS[kind](package)
    made = {path: text.encode() for path, text in texts.items()}
    bundle = {f"src/{file}": content for file, content in files.items()}
    if kind in _CORES:
        text = files[README].decode()
        bundle[f"src/{README}"] = only_cores(text, _CORES[kind]).encode()
    return dict(sorted({**made, **bundle, LICENSE: files[LICENSE]}.items()))
