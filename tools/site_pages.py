"""Pages of the site that are not in docs/: those beside it, those of examples, and the command line.

Why made here and not copied by hand: README.md is the site's first page and ARCHITECTURE.md one of its
pages, and both must read well where they are. What the program or the package says of itself is asked of
it. Links between them and docs/ are turned as they are read. The page that runs lowtide in the browser
gets lowtide's wheel beside it, and the choices of its form.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lowtide import HOMES, zoo
from lowtide.machines.board import targets

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))  # hooks are run by their file, which is in no package

from tools import pyodide  # noqa: E402  # found by the line above
from tools.wheel import wheel  # noqa: E402

_BESIDE = {
    "index.md": "README.md",
    **{name: name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")},
}
"""Page of the site -> file of the project."""

_COMMANDS = """\
# The command line

Made from the program itself, as `lowtide --help` and `lowtide COMMAND --help` print it.

::: mkdocs-click
    :module: lowtide.cli
    :command: app
    :prog_name: lowtide
    :depth: 1
    :style: table
    :list_subcommands: True
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that docs/ does not have."""
    sources = {**_BESIDE, **{_of(p): _of(p) for p in sorted(_ROOT.glob("examples/*/README.md"))}}
    for page, source in sources.items():
        files.append(File.generated(config, page, content=(_ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "command-line.md", content=_COMMANDS))
    files.append(File.generated(config, "python-reference.md", content=_names()))
    name, content = wheel(_ROOT)
    files.append(File.generated(config, f"browser/{name}", content=content))
    return files


def _browser(markdown: str, config: MkDocsConfig) -> str:
    """The page that runs lowtide, with where Python is loaded from and what its form offers."""
    place = config.extra["pyodide"]
    parts = {
        "pyodide": html.escape(place),
        "wheel": wheel(_ROOT)[0],
        "version": pyodide.VERSION,
        "origin": urlsplit(place).hostname or "this site",
        "networks": _options({f"zoo:{name}": f"zoo:{name}" for name in zoo.names()}),
        "cores": _options({core: "any core" if core == "any" else core for core in targets()}),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], markdown)


def _options(choices: dict[str, str]) -> str:
    return "".join(f'<option value="{value}">{text}</option>' for value, text in choices.items())


def _names() -> str:
    """Everything that `import lowtide` has, with what its docstring says."""
    shown = "\n\n".join(
        f"## lowtide.{name}\n\n::: {module}.{attribute}"
        for name, (module, attribute) in HOMES.items()
    )
    return f"# Names of the Python package\n\nMade from their docstrings.\n\n{shown}\n"


def _of(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Have links lead to the site's pages, and to the project's files where they are none."""
    if page.file.src_uri == "browser.md":
        markdown = _browser(markdown, config)

    def turned(match: re.Match[str]) -> str:
        target = match[1]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, _, anchor = target.partition("#")
        return f"]({_link(page.file.src_uri, path, files)}{'#' if anchor else ''}{anchor})"

    return re.sub(r"\]\(([^)\s]+)\)", turned, markdown)


def _link(page: str, path: str, files: Files) -> str:
    """What leads from `page` of the site to the file that `path` names there in the project."""
    inside = page in {*_BESIDE} or page.startswith("examples/")
    home = _ROOT / Path(_BESIDE.get(page, page)).parent if inside else _ROOT / "docs"
    target = (home / path).resolve()
    if not target.is_relative_to(_ROOT):
        return path
    name = target.relative_to(_ROOT).as_posix()
    wanted = name.removeprefix("docs/") if name.startswith("docs/") else name
    wanted = "index.md" if wanted == "README.md" else wanted
    if files.get_file_from_path(wanted) is None:
        return path
    up = "../" * page.count("/")
    return f"{up}{wanted}"
