#!/bin/sh
# Make the virtual environment $2 with Python $1 and install lowtide and its tests' needs into it.
# Says what it does. Debian packages are installed only where something is missing.
set -eu
python=$1
venv=$2

say() { printf 'setup: %s\n' "$*"; }

apt_install() {
    if ! command -v apt-get >/dev/null 2>&1; then
        say "please install these yourself, there is no apt-get here: $*"
        exit 4
    fi
    sudo=
    if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
    say "installing with apt-get: $*"
    $sudo apt-get update -qq
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq "$@" >/dev/null
}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    say "$python is missing or older than 3.11"
    apt_install python3 python3-venv
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    apt_install python3-venv
fi
if [ ! -x "$venv/bin/python" ]; then
    say "making the virtual environment $venv"
    "$python" -m venv "$venv"
fi
say "installing lowtide and its test tools into $venv with pip"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[test]'
say "done"
