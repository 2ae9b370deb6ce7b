"""See that lowtide installs elsewhere: `make platforms`.

For every system and Python that it is meant for, resolve what the base needs: pip's choice of wheels
from the index that it is set up with; nothing is installed. And see that there are wheels of what the
extras `verify`, `plot` and `quantize` bring there. Prints a line for each; fails, with pip's words, if
one is not to be had.

(pip evaluates the markers of packages for the system that it runs on; only those of lowtide's own
requirements are evaluated here for the system asked about.)
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# system, machine, and the tags of wheels that run there
SYSTEMS = (
    ("Windows", "AMD64", ("win_amd64",)),
    ("Darwin", "x86_64", ("macosx_14_0_x86_64", "macosx_11_0_x86_64", "macosx_10_15_x86_64")),
    ("Darwin", "arm64", ("macosx_14_0_arm64", "macosx_12_0_arm64", "macosx_11_0_arm64")),
    ("Linux", "aarch64", tuple(f"manylinux_2_{n}_aarch64" for n in (28, 27, 17))),
    ("Linux", "x86_64", tuple(f"manylinux_2_{n}_x86_64" for n in (28, 27, 17))),
)


def applying(texts: list[str], system: str, machine: str) -> list[str]:
    """The requirements that hold on a system, without their markers."""
    found = []
    for requirement in map(Requirement, texts):
        marker, requirement.marker = requirement.marker, None
        here = {"platform_system": system, "platform_machine": machine}
        if marker is None or marker.evaluate(here):
            found.append(str(requirement))
    return found


def resolve(
    requirements: list[str], tags: tuple[str, ...], python: str, *more: str
) -> dict[str, str]:
    """Names and versions of all packages that pip would install; SystemExit with pip's words."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--report", "-", "--target", "nowhere"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    command += [word for tag in tags for word in ("--platform", tag)]
    done = subprocess.run(
        [*command, *more, *requirements],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode != 0:
        raise SystemExit(f"{tags[0]}, Python {python}: {done.stderr.strip()}")
    found = [entry["metadata"] for entry in json.loads(done.stdout)["install"]]
    return {entry["name"].lower().replace("_", "-"): entry["version"] for entry in found}


def main() -> None:
    """Resolve base and extras everywhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for system, machine, tags in SYSTEMS:
        for python in PYTHONS:
            base = resolve(project["dependencies"], tags, python)
            more = applying(
                [*extras["verify"], *extras["plot"], *extras["quantize"]], system, machine
            )
            brought = resolve(more, tags, python, "--no-deps")
            shown, added = (
                " ".join(f"{name} {version}" for name, version in sorted(found.items()))
                for found in (base, brought)
            )
            print(f"{system} {machine}, Python {python}: {shown}; extras: {added}", flush=True)


if __name__ == "__main__":
    main()
