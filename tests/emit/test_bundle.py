"""A bundle holds the kernels that its program needs, with all they include, and no others."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from lowtide.emit import bundle as bundling
from lowtide.emit.bundle import bundle, listed, superseded
from lowtide.emit.misra import DEVIATIONS
from lowtide.emit.runtime import kernel_files, runtime_symbol
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


def test_no_kernel_sees_the_version() -> None:
    """So that an object that is kept serves all versions in which its sources are the same."""
    files = kernel_files().items()
    assert [name for name, text in files if "lt_version.h" in _INCLUDE.findall(text)] == [
        "lowtide.c"
    ]


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
    assert found == library.keys() - unwanted | {"net.c", "net.h", "LICENSE", DEVIATIONS}
    plain = replace(assembly, target=Target("some core", (PORTABLE,), "rv32imac"))
    assert bundle(plain, "net").keys() == found - {f"{stem}_dsp.c", "lt_dsp.h"}
    assert b'#error "generated for some core:' in bundle(plain, "net")["net.c"]
    assert b"#error" not in bundle(assembly, "net")["net.c"]


def test_file_names_are_sorted_and_kernels_are_the_packages_own() -> None:
    texts = _texts("figure1")
    sources = [name for name in texts if name not in ("LICENSE", "README.md", DEVIATIONS)]
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


def test_every_function_of_the_runtime_is_weak(tmp_path: Path) -> None:
    """So that objects of two bundles link. Not on declarations: a symbol may be missing then."""
    for name, text in kernel_files().items():
        (tmp_path / name).write_text(text)
        if name.endswith(".c"):  # which this computer's compiler does not see
            assert re.search(r"^ *LT_SHARED |^LT_PAIR", text, re.MULTILINE), name
        else:
            assert not re.search(r"^LT_SHARED ", text, re.MULTILINE), name
    sources = sorted(name for name in kernel_files() if name.endswith(".c"))
    subprocess.run(["gcc", "-std=c99", "-c", *sources], cwd=tmp_path, check=True)
    objects = [f"{name.removesuffix('.c')}.o" for name in sources]
    symbols = subprocess.run(
        ["nm", "--defined-only", "-g", *objects],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found = re.findall(r" (\w) (\w+)$", symbols, re.MULTILINE)
    assert {name for kind, name in found if kind not in "VW"} == {runtime_symbol()}


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


def test_kernels_that_a_new_bundle_does_not_need_go() -> None:
    old, new = _texts("resnet8"), _texts("attention-block")
    gone = superseded(old, [*new, "resnet8.c", "resnet8.h"])
    assert set(gone) == old.keys() - new.keys() - {"resnet8.c", "resnet8.h"}
    assert "lt_pool.c" in gone


def test_what_another_file_includes_stays_and_what_that_includes() -> None:
    """Another bundle's kernels, and those that a user's own file calls."""
    old, new = _texts("resnet8"), _texts("attention-block")
    assert superseded(old, new) == ()  # the network of the old name is still there
    gone = set(superseded(old, [*new, "resnet8.c", "resnet8.h"]))
    mine = {"main.cpp": '#include "kernels/lt_pool.h"\n'}
    left = set(superseded({**old, **mine}, [*new, "resnet8.c", "resnet8.h"]))
    assert gone - left == {"lt_pool.c", "lt_pool.h", "lt_pool_helium.c"}


def test_a_users_file_stays() -> None:
    """Whatever its name, unless it is a kernel as it is now, or one that a bundle's README lists."""
    mine = {"lt_pool.c": "int mine;", "lt_mine.c": "int mine;", "lowtide_old.h": "", "main.c": ""}
    assert superseded(mine, []) == ()
    assert superseded({**mine, "README.md": "lt_pool.c, lt_mine.c"}, []) == ()
    readme = listed(["README.md", "lowtide_old.h", "lt_pool.c"])
    assert readme == "Kernels in this folder: lowtide_old.h, lt_pool.c"
    assert superseded({**mine, "README.md": readme}, []) == ("lowtide_old.h", "lt_pool.c")
    assert superseded({"lt_pool.c": kernel_files()["lt_pool.c"]}, []) == ("lt_pool.c",)
    assert superseded({"lt_pool.c": kernel_files()["lt_pool.c"]}, ["lt_pool.c"]) == ()
