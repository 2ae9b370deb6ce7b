"""Where figures stand in the documents: between two comments that name a block.

<!-- figures: beside-tflm begin -->
...
<!-- figures: beside-tflm end -->
"""

from __future__ import annotations

import re
from pathlib import Path

from bench.figures.blocks import BLOCKS
from bench.shared.outside import ROOT

_BLOCK = re.compile(
    r"(?P<begin><!-- figures: (?P<name>\S+) begin -->\n)(?P<text>.*?)"
    r"(?P<end><!-- figures: (?P=name) end -->)",
    re.DOTALL,
)
_MARKER = re.compile(r"<!-- figures: ")


def documents() -> list[Path]:
    """The README and the pages of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_in(text: str) -> list[str]:
    """The names of the blocks in a document. Raises ValueError for a marker without its other one."""
    names = [found["name"] for found in _BLOCK.finditer(text)]
    if len(_MARKER.findall(text)) != 2 * len(names):
        raise ValueError(f"a marker has no other end; whole blocks: {', '.join(names) or 'none'}")
    return names


def rendered(text: str) -> str:
    """The document with every block as the stored figures are. Raises ValueError for unknown names."""
    unknown = [name for name in blocks_in(text) if name not in BLOCKS]
    if unknown:
        raise ValueError(f"there are no blocks {', '.join(unknown)}")

    def block(found: re.Match[str]) -> str:
        return f"{found['begin']}{BLOCKS[found['name']]()}\n{found['end']}"

    return _BLOCK.sub(block, text)
