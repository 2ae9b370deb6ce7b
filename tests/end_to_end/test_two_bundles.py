"""Several bundles in one program: linked as objects and libraries, right, and with one runtime."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import c_arena, c_samples

from lowtide.commands.options import Options
from lowtide.emit.runtime import runtime_symbol
from networks import compiled

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
NAMES = {"figure1": "fig", "ds-cnn-kws": "kws"}
_COLLECTED = "-Wl,--gc-sections"
_OTHER = "lt_runtime_of_all_must_be_9_9_9_00000000"
WAYS = {
    "objects": ["fig/*.o", "kws/*.o"],
    "libraries": ["fig/lib.a", "kws/lib.a"],
    "whole": ["-Wl,--whole-archive", "fig/lib.a", "kws/lib.a", "-Wl,--no-whole-archive"],
}


def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _build(folder: Path, compiler: str, *flags: str, other: str = "") -> None:
    """Both bundles as objects and libraries, in folders of their own, and a main; the runtime of the
    bundle `other` says that it is of another version."""
    for network, name in NAMES.items():
        (folder / name).mkdir()
        for file, content in compiled(network, Options(name=name)).files.items():
            if name == other:
                content = content.replace(runtime_symbol().encode(), _OTHER.encode())
            (folder / name / file).write_bytes(content)
        sources = sorted(path.name for path in (folder / name).glob("*.c"))
        sections = ["-ffunction-sections", "-fdata-sections"]
        done = _run([compiler, "-std=c99", "-O1", *sections, *flags, "-c", *sources], folder / name)
        assert done.returncode == 0, done.stderr
        objects = sorted(path.name for path in (folder / name).glob("*.o"))
        assert _run(["ar", "rc", "lib.a", *objects], folder / name).returncode == 0
    steps = "".join(
        f"""    {name}_t {name};
    CHECK({name}_init(&{name}, {name}_arena, sizeof {name}_arena) == LT_OK);
    for (int i = 0; i < 3; i++) {{
        memcpy({name}_input(&{name}, 0), {name}_data_in[i], {name.upper()}_INPUT_0_BYTES);
        CHECK({name}_invoke(&{name}) == LT_OK);
        CHECK(memcmp({name}_output(&{name}, 0), {name}_data_out[i], {name.upper()}_OUTPUT_0_BYTES) == 0);
    }}
"""
        for name in NAMES.values()
    )
    data = "".join(
        c_arena(f"{name}_arena", name) + c_samples(f"{name}_data", network)
        for network, name in NAMES.items()
    )
    (folder / "main.c").write_text(
        f"""#include <stdio.h>
#include <string.h>
#include "fig/fig.h"
#include "kws/kws.h"
#define CHECK(x) do {{ if (!(x)) {{ printf("line %d: %s\\n", __LINE__, #x); return 1; }} }} while (0)
{data}
int main(void)
{{
{steps}    return 0;
}}
"""
    )


def _link(folder: Path, compiler: str, way: str, *flags: str) -> subprocess.CompletedProcess[str]:
    given = [
        file
        for name in WAYS[way]
        for file in (sorted(map(str, folder.glob(name))) if "*" in name else [name])
    ]
    return _run([compiler, *flags, "main.c", *given, _COLLECTED, "-o", "program"], folder)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_two_bundles_link_in_every_way_and_share_one_runtime(compiler: str, tmp_path: Path) -> None:
    _build(tmp_path, compiler)
    sizes = set()
    for way in WAYS:
        done = _link(tmp_path, compiler, way)
        assert done.returncode == 0, f"{way}: {done.stderr[:2000]}"
        assert _run(["./program"], tmp_path).stdout == "", way
        symbols = _run(["nm", "program"], tmp_path).stdout
        for name in ("lt_run", "lt_conv_packed_s8_row", runtime_symbol()):
            assert len(re.findall(rf" {name}$", symbols, re.MULTILINE)) == 1
        sizes.add(_run(["size", "-A", "program"], tmp_path).stdout)
    text = {re.search(r"^\.text +(\d+)", size, re.MULTILINE) for size in sizes}
    assert len({found[1] for found in text if found}) == 1  # whichever way, the code is there once


def test_two_bundles_link_with_optimisation_at_link_time(tmp_path: Path) -> None:
    _build(tmp_path, "gcc", "-flto")
    done = _link(tmp_path, "gcc", "objects", "-flto", "-O1")
    assert done.returncode == 0, done.stderr[:2000]
    assert _run(["./program"], tmp_path).stdout == ""


def test_two_versions_do_not_link_with_optimisation_at_link_time(tmp_path: Path) -> None:
    _build(tmp_path, "gcc", "-flto", other="kws")
    done = _link(tmp_path, "gcc", "objects", "-flto", "-O1")
    assert done.returncode != 0
    assert _OTHER in done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("way", WAYS)
def test_two_versions_of_the_runtime_do_not_link(compiler: str, way: str, tmp_path: Path) -> None:
    _build(tmp_path, compiler, other="kws")
    done = _link(tmp_path, compiler, way)
    assert done.returncode != 0
    assert _OTHER in done.stderr


def test_a_program_does_not_compile_with_the_runtime_of_another_version(tmp_path: Path) -> None:
    for file, content in compiled("figure1", Options(name="fig")).files.items():
        changed = content.replace(runtime_symbol().encode(), _OTHER.encode())
        (tmp_path / file).write_bytes(changed if file == "lt_version.h" else content)
    done = _run(["gcc", "-c", "fig.c"], tmp_path)
    assert done.returncode != 0
    assert runtime_symbol() in done.stderr
