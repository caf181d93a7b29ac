#!/usr/bin/env bash
# Installs the toolkits that Headway is measured against, each in a virtual environment of its own.
#
#     benchmarks/peers/install.sh DIRECTORY        # DIRECTORY/eole, DIRECTORY/joeynmt, DIRECTORY/marian; then DIRECTORY/installed
#
# What is already there at the right version stays; run it again after a failure. PYTHON names the interpreter (python3.11:
# Marian's wheel is built for that one). Beside each toolkit stands what its own requirements forgot: aiohttp for eole;
# importlib_metadata and a SentencePiece that still has SetVocabulary for JoeyNMT.
set -euo pipefail

directory=${1:?usage: install.sh DIRECTORY}
python=${PYTHON:-python3.11}

install() { # name, then what pip installs
    local environment="$directory/$1"
    [ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
    echo "$1: $("$environment/bin/python" -c "import importlib.metadata as m; print(m.version('${2%%=*}'))")"
}

mkdir -p "$directory"
install eole eole==0.6.4 torch==2.13.0 aiohttp
install joeynmt joeynmt==2.3.0 torch==2.13.0 importlib_metadata sentencepiece==0.2.0
install marian pymarian==1.12.42
touch "$directory/installed"
