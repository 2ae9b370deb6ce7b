"""lowtide as a wheel, for the page that runs it in a browser.

Why not built by setuptools: the site needs the same bytes each time, and nothing but the package's files
and its version.
"""

from __future__ import annotations

import io
import tomllib
import zipfile
from pathlib import Path

_WHEN = (1980, 1, 1, 0, 0, 0)  # the first that a zip file can hold


def wheel(root: Path) -> tuple[str, bytes]:
    """The name and the bytes of the wheel of the project at `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    about = f"{name}-{version}.dist-info"
    files = {
        path.relative_to(root / "src").as_posix(): path.read_bytes()
        for path in sorted((root / "src" / name).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    files[f"{about}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
    )
    files[f"{about}/WHEEL"] = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{about}/LICENSE"] = (root / "LICENSE").read_bytes()
    files[f"{about}/RECORD"] = "".join(
        f"{file},,\n" for file in [*files, f"{about}/RECORD"]
    ).encode()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(zipfile.ZipInfo(file, _WHEN), data, zipfile.ZIP_DEFLATED)
    return f"{name}-{version}-py3-none-any.whl", made.getvalue()
