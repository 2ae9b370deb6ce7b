"""Packages that are lists of files with a description: Arduino, PlatformIO, CMSIS-Pack."""

from __future__ import annotations

import json
from html import escape

from lowtide.emit.exports.example import ARDUINO, STDIO, example
from lowtide.emit.exports.package import VERSION, Package, readme


def arduino(package: Package) -> dict[str, str]:
    """A library with an example sketch."""
    name = package.name
    properties = {
        "name": name,
        "version": VERSION,
        "author": "lowtide",
        "maintainer": "lowtide",
        "sentence": f"{package.sentence}.",
        "paragraph": "Bit-exact to TensorFlow Lite Micro; it allocates nothing.",
        "category": "Data Processing",
        "url": f"https://example.com/{name}",
        "architectures": "*",
        "license": "Apache-2.0",
        "includes": f"{name}.h",
    }
    keywords = [f"{name}_t\tKEYWORD1"]
    keywords += [f"{name}_{f}\tKEYWORD2" for f in ("init", "reset", "invoke")]
    return {
        "library.properties": "".join(f"{key}={value}\n" for key, value in properties.items()),
        "keywords.txt": "\n".join(keywords) + "\n",
        f"examples/{name}_example/{name}_example.ino": example(package, ARDUINO),
        "README.md": readme(
            package,
            "Arduino",
            f"""
Put the folder, under the name `{name}`, into `libraries/` of your sketchbook, or add it as a .zip file
(Sketch, Include Library). The example is then under File, Examples, {name}:

    arduino-cli compile --fqbn YOUR_BOARD --library . examples/{name}_example
""",
        ),
    }


def platformio(package: Package) -> dict[str, str]:
    """A library with an example project."""
    name = package.name
    folder = f"examples/{name}_example"
    manifest = {
        "$schema": "https://raw.githubusercontent.com/platformio/platformio-core/develop/"
        "platformio/assets/schema/library.json",
        "name": name,
        "version": VERSION,
        "description": f"{package.sentence}.",
        "keywords": ["tinyml", "tflite", "neural network"],
        "license": "Apache-2.0",
        "frameworks": "*",
        "platforms": "*",
        "headers": f"{name}.h",
        "build": {"srcDir": "src", "includeDir": "src"},
        "examples": [
            {
                "name": f"{name}_example",
                "base": folder,
                "files": ["platformio.ini", "src/main.cpp"],
            }
        ],
    }
    return {
        "library.json": json.dumps(manifest, indent=2) + "\n",
        f"{folder}/platformio.ini": """\
; SPDX-License-Identifier: Apache-2.0
[env:nucleo_f412zg]
platform = ststm32
board = nucleo_f412zg
framework = arduino
lib_deps = symlink://../..
""",
        f"{folder}/src/main.cpp": example(package, ARDUINO),
        "README.md": readme(
            package,
            "PlatformIO",
            f"""
Name the folder in `platformio.ini` of your project:

    lib_deps = symlink:///path/to/{name}

and include `{name}.h`. The example is a project of its own; change its board to yours:

    pio run -d {folder} -t upload
""",
        ),
    }


def cmsis_pack(package: Package) -> dict[str, str]:
    """A pack's description beside its files; the example is a template of user code."""
    name = package.name
    files = [f'        <file category="header" name="src/{name}.h"/>']
    files += [
        f'        <file category="source" name="src/{source}"/>' for source in package.sources
    ]
    files += [
        '        <file category="include" name="src/"/>',
        '        <file category="source" name="example/main.c" attr="template" '
        f'select="Example of {name}" version="{VERSION}"/>',
    ]
    listed = "\n".join(files)
    return {
        f"lowtide.{name}.pdsc": f"""\
<?xml version="1.0" encoding="UTF-8"?>
<!-- SPDX-License-Identifier: Apache-2.0 -->
<package schemaVersion="1.7.7" xmlns:xs="http://www.w3.org/2001/XMLSchema-instance" \
xs:noNamespaceSchemaLocation="PACK.xsd">
  <vendor>lowtide</vendor>
  <name>{name}</name>
  <description>{escape(package.sentence, quote=False)}.</description>
  <url></url>
  <license>LICENSE</license>
  <releases>
    <release version="{VERSION}">First release.</release>
  </releases>
  <components>
    <component Cclass="Machine Learning" Cgroup="Network" Csub="{name}" \
Cversion="{VERSION}" Cvendor="lowtide">
      <description>{escape(package.sentence, quote=False)}</description>
      <files>
{listed}
      </files>
    </component>
  </components>
</package>
""",
        "example/main.c": example(package, STDIO),
        "README.md": readme(
            package,
            "CMSIS-Pack",
            f"""
Pack it, and add the pack:

    zip -r lowtide.{name}.{VERSION}.pack *
    cpackget add lowtide.{name}.{VERSION}.pack

or use the folder where it is (`cpackget add lowtide.{name}.pdsc`). The component is
`Machine Learning:Network:{name}`; the example is its template of user code.
""",
        ),
    }
