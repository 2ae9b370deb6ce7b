"""What happens to a fault of lowtide's own: one message, and a report that a user can send.

Why a file: a traceback on the screen tells a user nothing, and is lost when it is asked for. The model
is not in the report, only its name: it may not be the user's to give.
"""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
import traceback
from collections.abc import Sequence
from importlib.metadata import version as package_version
from pathlib import Path
from typing import Final

from lowtide import __version__
from lowtide.errors import FaultError

FAULT: Final = FaultError.exit_code


def fault_message(error: Exception, arguments: Sequence[str]) -> str:
    """Cause and remedy, with the name of the report, which was written into the system's folder of
    temporary files; where it could not be, the remedy has the place in lowtide instead."""
    what = error.cause if isinstance(error, FaultError) else f"{type(error).__name__}: {error}"
    cause = f"internal error: {what}".splitlines()[0]
    try:
        handle, path = tempfile.mkstemp(prefix="lowtide-fault-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_report(error, arguments))
    except OSError:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}, line {last.lineno}"
        return f"{cause}\n  remedy: report it, with the model; it is at {where}"
    return f"{cause}\n  remedy: report it, with the model and the file {path}"


def _report(error: Exception, arguments: Sequence[str]) -> str:
    lines = [
        f"lowtide {__version__}, Python {platform.python_version()}, numpy {package_version('numpy')}, "
        f"{platform.platform()}",
        f"lowtide {shlex.join(arguments)}",
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(line.rstrip("\n") for line in lines) + "\n"
