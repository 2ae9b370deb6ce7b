"""Bundles without what says where they are from, which names the file and the command."""

from __future__ import annotations

import re
from collections.abc import Mapping


def without_origin(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The files with neither the header's comment nor the README's section."""
    comment, section = rb"/\* Made from .*?\*/\n", rb"## Where it is from\n.*?(?=\n## |\Z)"
    return {
        name: re.sub(comment if name.endswith(".h") else section, b"", content, flags=re.DOTALL)
        if name.endswith(".h") or name == "README.md"
        else content
        for name, content in files.items()
    }
