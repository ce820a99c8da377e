#!/usr/bin/env bash
# From a specification to a wafer: what `make demo` shows. Everything is written to build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
fred=.venv/bin/fred
out=build/demo
spec=examples/demo-switch.yaml
rm -rf "$out"
mkdir -p "$out"

step() { printf '\n== %s\n' "$*"; }

# Print the number to look at: a Python expression, in which read(NAME) is a JSON file of the demo.
look() {
    .venv/bin/python -c "
import json
def read(name):
    return json.load(open(f'$out/{name}.json'))
print('->', $1)"
}

step "1. A short specification becomes Verilog of a switch with eight ports."
grep -v '^#' "$spec"
$fred gen "$spec" -o "$out/rtl" --json >"$out/rtl.json"
look '"%d cycles from the inputs to the outputs" % read("rtl")["latency_cycles"]'

step "2. The compiler finds the settings of all micro-switches for collectives that run at once."
$fred route "$spec" --strategy MP2-DP2-PP2 --json >"$out/route.json"
look '"%d of 4 phases of MP2-DP2-PP2 routed" % sum(p["routed"] for p in read("route")["phases"].values())'

step "3. A simulator runs the Verilog against a golden model in numpy, bit for bit, and records waves."
simulator=icarus
command -v iverilog >/dev/null || simulator=verilator
$fred sim "$spec" --sim "$simulator" --seed 1 --waves -o "$out/sim" --json >"$out/results.json"
look '"%d failures in %d tests" % (read("results")["failures"], len(read("results")["runs"][0]["tests"]))'

step "4. An all-reduce of 1 GiB over twenty NPUs is simulated on the links of a mesh and of FRED."
$fred collective --topology mesh:5x4 --size 1GiB --json >"$out/mesh.json"
$fred collective --topology fred-d --size 1GiB --json >"$out/fred-d.json"
look '"%.2f times as fast on FRED" % (read("mesh")["time_s"] / read("fred-d")["time_s"])'

step "5. The report answers which wafer trains faster, and at which price in area."
$fred report --spec "$spec" --results "$out/results.json" -o "$out/report"
look '"%.2f times as fast: an iteration of Transformer-17B on FRED-D" % read("report/report")["iterations"][-1]["speedup"]'
printf '\nOpen %s/report/index.html in a browser.\n' "$out"
