"""GCC's static analyser and clang-tidy find nothing in bundles, and find what is planted."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.misra.analysers import analysed, tidied
from bench.misra.bundles import CORES, NETWORKS, options_of
from networks import compiled

_PLANTED = """\
#include <stdint.h>
#include <string.h>
int32_t planted(const int32_t *at, int32_t n);
int32_t planted(const int32_t *at, int32_t n)
{
    const int32_t *last = 0;
    for (int32_t i = 0; i < n; i++) {
        last = at + i;
    }
    return *last + memcmp(at, at + 1, 4) == 1;
}
"""


@pytest.mark.parametrize("network", NETWORKS)
def test_nothing_is_found(network: str, tmp_path: Path) -> None:
    for core, look in ((CORES[0], tidied), (CORES[-1], analysed)):
        folder = tmp_path / core
        folder.mkdir()
        for file, content in compiled(network, options_of(network, core)).files.items():
            (folder / file).write_bytes(content)
        assert look(folder) == ()


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    (tmp_path / "planted.c").write_text(_PLANTED, "utf-8")
    assert [told.split(": ")[0] for told in analysed(tmp_path)] == ["planted.c:10"]
    assert any("bugprone-" in told for told in tidied(tmp_path))
