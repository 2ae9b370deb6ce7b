"""A bundle holds the kernels that its program needs, with all they include, and no others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from lowtide.emit import bundle as bundling
from lowtide.emit.bundle import bundle
from lowtide.emit.runtime import kernel_files
from lowtide.target import PORTABLE, Target
from networks import compiled

_INCLUDE = re.compile(r'#include "([^"]+)"')
SPDX = "/* SPDX-License-Identifier: Apache-2.0 */\n"
NETWORKS = ["figure1", "ds-cnn-kws", "resnet8", "branchy-cell", "attention-block"]


@cache
def _texts(network: str) -> dict[str, str]:
    files = compiled(network).files
    return {name: content.decode() for name, content in files.items()}


def _includes(texts: Mapping[str, str]) -> set[str]:
    return {name for text in texts.values() for name in _INCLUDE.findall(text)}


@pytest.mark.parametrize("network", NETWORKS)
def test_all_that_is_included_is_there_and_nothing_else(network: str) -> None:
    texts = {name: text for name, text in _texts(network).items() if name.endswith((".c", ".h"))}
    headers = {name for name in texts if name.endswith(".h")}
    assert _includes(texts) == headers
    for name in texts:
        if name.endswith(".c"):  # each source file belongs to a header of the bundle
            stem = name.removesuffix(".c")
            assert any(stem == h[:-2] or stem.startswith(f"{h[:-2]}_") for h in headers), name
    assert {"lowtide.c", "lowtide.h", "README.md"} <= _texts(network).keys()


@pytest.mark.parametrize("network", NETWORKS)
def test_every_kernel_that_a_node_names_is_declared(network: str) -> None:
    assembly = compiled(network).assembly
    for entry in assembly.kernels:
        kernel = re.escape(entry.node.kernel)
        assert re.search(rf"\bvoid {kernel}\(const void \*", _texts(network)[entry.node.header])


def test_variants_come_along_and_longer_names_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """lt_conv_dsp.c is a variant of lt_conv.c; lt_conv_packed.c belongs to another header."""
    assembly = compiled("figure1").assembly
    header = assembly.kernels[0].node.header
    stem = header.removesuffix(".h")
    library = dict.fromkeys({entry.node.header for entry in assembly.kernels}, "")
    library |= {
        "lowtide.h": "",
        "lowtide.c": "",
        "lowtide_other.h": "",
        "lowtide_other.c": "",
        header: '#include "lt_shared.h"\n#include <string.h>\n',
        f"{stem}.c": f'#include "{header}"\n',
        f"{stem}_dsp.c": f'#include "{header}"\n#include "lt_dsp.h"\n',
        f"{stem}_other.c": "",  # a variant of no target
        f"{stem}_zz.h": "",
        f"{stem}_zz.c": "",
        f"{stem}_zz_dsp.c": "",
        "lt_shared.h": "",
        "lt_shared.c": "",
        "lt_dsp.h": "",
        "lt_unused.h": "",
        "lt_unused.c": "",
    }
    monkeypatch.setattr(bundling, "kernel_files", lambda: library)
    found = bundle(assembly, "net").keys()
    unwanted = {"lowtide_other.h", "lowtide_other.c", "lt_unused.h", "lt_unused.c"}
    unwanted |= {f"{stem}_other.c", f"{stem}_zz.h", f"{stem}_zz.c", f"{stem}_zz_dsp.c"}
    assert found == library.keys() - unwanted | {"net.c", "net.h", "LICENSE"}
    plain = replace(assembly, target=Target("some core", (PORTABLE,), "rv32imac"))
    assert bundle(plain, "net").keys() == found - {f"{stem}_dsp.c", "lt_dsp.h"}
    assert b'#error "generated for some core:' in bundle(plain, "net")["net.c"]
    assert b"#error" not in bundle(assembly, "net")["net.c"]


def test_file_names_are_sorted_and_kernels_are_the_packages_own() -> None:
    texts = _texts("figure1")
    sources = [name for name in texts if name not in ("LICENSE", "README.md")]
    assert sources == sorted(sources)
    for name in sources:
        if not name.startswith("figure1."):
            assert texts[name] == kernel_files()[name]


@pytest.mark.parametrize("name", sorted(kernel_files()))
def test_every_kernel_file_is_fit_to_ship(name: str) -> None:
    text = kernel_files()[name]
    assert text.startswith(f"{SPDX}/* {name}: ")
    assert text.isascii()
    assert text.endswith("\n")
    assert not re.search(r"\b(malloc|calloc|realloc|free|alloca|printf|assert)\s*\(", text)
    if name.endswith(".h"):
        guard = name.upper().replace(".", "_")
        assert f"#ifndef {guard}\n#define {guard}\n" in text


@pytest.mark.parametrize("name", sorted(n for n in kernel_files() if n.endswith(".c")))
def test_every_function_of_the_runtime_is_weak(name: str) -> None:
    """So that objects of two bundles link. Not on declarations: a symbol may be missing then."""
    text = kernel_files()[name]
    defined = re.findall(
        r"^ *(.*)\b(?:void|int) \*?lt_[\w#]+\(const |^(.*)\bint lt_\w+\(", text, re.M
    )
    starts = ["".join(start) for start in defined if "static" not in "".join(start)]
    assert starts
    assert all(start.startswith("LT_SHARED ") for start in starts), starts
    assert not any("LT_SHARED void" in text for n, text in kernel_files().items() if n[-1] == "h")


def test_every_file_says_its_licence_and_the_bundle_has_it() -> None:
    files = compiled("figure1").files
    root = Path(__file__).resolve().parents[2]
    assert files["LICENSE"] == (root / "LICENSE").read_bytes()
    for name, content in files.items():
        if name.endswith((".c", ".h")):
            model = " AND LicenseRef-model" if name == "figure1.c" else ""
            first = f"/* SPDX-License-Identifier: Apache-2.0{model} */\n"
            assert content.startswith(first.encode()), name
    assert b"LicenseRef-model" in files["README.md"]
