"""Pages of the site that are not in docs/: those beside it, those of examples, and the command line.

Why made here and not copied by hand: README.md is the site's first page and ARCHITECTURE.md one of its
pages, and both must read well where they are. What the program or the package says of itself is asked of
it. Links between them and docs/ are turned as they are read. The page that runs lowtide in the browser
gets lowtide's wheel beside it, and the choices of its form.
"""

from __future__ import annotations

import dataclasses
import html
import inspect
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from lowtide import HOMES, zoo
from lowtide.machines.board import targets

_ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(_ROOT))  # hooks are run by their file, which is in no package

from tools import pyodide  # noqa: E402  # found by the line above
from tools.wheel import wheel  # noqa: E402  # found so too

_BESIDE = {
    "index.md": "README.md",
    **{name: name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")},
}
"""Page of the site -> file of the project."""

_SCHEMAS = sorted((_ROOT / "src" / "lowtide" / "report" / "schemas").glob("*.json"))

_JSON = """\
# JSON documents

This page lists what commands print with `--json`. It is made from the schemas in
`lowtide/report/schemas/`, which are installed with the package (json-schema.org, 2020-12). A new version
of lowtide can add keys to a schema. If a key has to change, the schema gets another number. The tests
validate every document that they print. From Python: `lowtide.report.data.schema_of("lowtide.plan/1")`.

"""

_API = """\
This page is made from the package's signatures and docstrings. Functions that take a model accept a
path, the name of a built-in network as `zoo:NAME`, the bytes of a file, or a `Model`. All errors are
`LowtideError`.
"""

_COMMANDS = """\
# The command line

This page is made from the program. `lowtide --help` and `lowtide COMMAND --help` print the same text.

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
    files.append(File.generated(config, "json.md", content=_documents()))
    for path in _SCHEMAS:
        text = path.read_text("utf-8")
        files.append(File.generated(config, f"schemas/{path.name}", content=text))
    name, content = wheel(_ROOT)
    files.append(File.generated(config, f"browser/{name}", content=content))
    return files


def _documents() -> str:
    """Every JSON document that a command prints: a table of its keys, made from its schema."""
    parts = []
    for path in _SCHEMAS:
        schema = json.loads(path.read_text("utf-8"))
        keys = _keys(schema, schema.get("$defs", {}))
        rows = "\n".join(f"| `{key}` | {kind} | {what} |" for key, kind, what in keys)
        parts.append(
            f"## {schema['title']}\n\n{schema['description']} "
            f"[The schema](schemas/{path.name}).\n\n| key | type | |\n| --- | --- | --- |\n{rows}"
        )
    return _JSON + "\n\n".join(parts) + "\n"


def _keys(
    schema: dict[str, Any], shared: dict[str, Any], before: str = ""
) -> Iterator[tuple[str, str, str]]:
    """(key, type, what it is) of a schema's keys, those inside of others with a path."""
    schema = _meant(schema, shared)
    for key, given in schema.get("properties", {}).items():
        inner = _meant(given, shared)
        kinds = inner.get("type", "string")
        kind = kinds if isinstance(kinds, str) else " or ".join(kinds)
        kind += "" if key in schema["required"] else ", optional"
        yield f"{before}{key}", kind, inner["description"].replace("|", "\\|")
        yield from _keys(inner, shared, f"{before}{key}.")
        yield from _keys(inner.get("items", {}), shared, f"{before}{key}[].")


def _meant(schema: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    """The schema with what it refers to in the `$defs` of its file."""
    name = schema.get("$ref", "").rpartition("/")[2]
    return {**shared[name], **schema} if name else schema


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
    """Everything that `import lowtide` has, with its signature and docstring."""
    shown = "\n\n".join(
        f"## lowtide.{name}\n\n{_signature(name, module, attribute)}::: {module}.{attribute}"
        for name, (module, attribute) in HOMES.items()
    )
    return f"# Python API\n\n{_API}\n{shown}\n"


def _signature(name: str, module: str, attribute: str) -> str:
    """How to call it, as a block of code; "" for what is not made to be called."""
    value = getattr(import_module(module), attribute)
    if not inspect.isfunction(value) and not dataclasses.is_dataclass(value):
        return ""
    signature = inspect.signature(value)
    given = [_parameter(str(parameter)) for parameter in signature.parameters.values()]
    kinds = [p.kind for p in signature.parameters.values()]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        given.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    made = signature.return_annotation if inspect.isfunction(value) else None
    arrow = f" -> {made}" if isinstance(made, str) and made != "None" else ""
    lines = "".join(f"    {parameter},\n" for parameter in given)
    return f"```python\nlowtide.{name}(\n{lines}){arrow}\n```\n\n"


def _of(path: Path) -> str:
    return path.relative_to(_ROOT).as_posix()


def _parameter(text: str) -> str:
    """As a reader gives it: its type without quotes, and what may be given if another is kept."""
    text = re.sub(r": '(.*?)'(?= =|$)", r": \1", text)
    text = re.sub(r"Read\[(.*), [^,]*\]", r"\1", text)
    return re.sub(r"Target\(core=('\w+').*\)", r"\1", text)


def on_page_content(content: str, **_: Any) -> str:
    """Options without a default: mkdocs-click prints the name of click's own mark for them."""
    return content.replace("<code>Sentinel.UNSET</code>", "none")


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
