"""What became of a mutant."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.mutants.mutant import Mutant

Status = Literal["killed", "equivalent", "survived"]


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutant that was tried. `why` is what found it, why it is equivalent, or what did not find it."""

    part: str
    mutant: Mutant
    status: Status
    why: str
    is_soak: bool = False

    @property
    def document(self) -> dict[str, Any]:
        """As JSON says it."""
        return {
            "part": self.part,
            "name": self.mutant.name,
            "line": self.mutant.before,
            "mutant": self.mutant.after,
            "status": self.status,
            "why": self.why,
            "soak": self.is_soak,
        }


@dataclass(frozen=True, slots=True)
class Earlier:
    """What earlier runs killed: (name, line, mutant) -> what their documents say of it."""

    killed: Mapping[tuple[str, str, str], Mapping[str, Any]]

    def trial(self, part: str, mutant: Mutant) -> Trial | None:
        """The mutant's trial in an earlier run, if it was killed."""
        found = self.killed.get((mutant.name, mutant.before, mutant.after))
        if found is None:
            return None
        return Trial(part, mutant, "killed", found["why"], found["soak"])


def earlier(paths: Sequence[Path]) -> Earlier:
    """What the JSON documents of earlier runs say."""
    mutants = [m for path in paths for m in json.loads(path.read_text("utf-8"))["mutants"]]
    killed = [m for m in mutants if m["status"] == "killed"]
    return Earlier({(m["name"], m["line"], m["mutant"]): m for m in killed})
