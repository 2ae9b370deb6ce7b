"""The checker of certificates by itself: `python -m lowtide.prove CERTIFICATE MODEL.tflite BUNDLE`.

Why a program of its own: nothing that compiles is imported, so that a fault there cannot hide itself.
Exit codes: 0 the certificate holds, 1 it does not, 2 a file cannot be read, 3 the model cannot be used.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from lowtide.errors import LowtideError, UsageError
from lowtide.prove.certificate import files_below
from lowtide.prove.checker import MAKE, check


def main(words: list[str]) -> int:
    """Check what the words name. The certificate, if it holds, goes to standard output; what is wrong
    to standard error."""
    try:
        if len(words) != 3:
            raise UsageError(
                "three arguments are needed", "give a certificate, a model and a bundle"
            )
        certificate, model, bundle = map(Path, words)
        try:
            found = certificate.read_bytes()
            source = model.read_bytes()
            files = files_below(bundle)
        except OSError as error:
            raise UsageError(
                f"cannot read a file to check, {error.filename or bundle}: {error.strerror}",
                "check the paths",
            ) from None
        made = check(_read(found), source, files)
    except LowtideError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    print(json.dumps(made))
    return 0


def _read(content: bytes) -> object:
    """A file's JSON. Raises UsageError if it has none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise UsageError("the certificate is damaged: its file is not JSON", MAKE) from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
