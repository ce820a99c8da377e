#!/usr/bin/env bash
# From a specification to a wafer: what `make demo` shows. Everything lands in build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
fred=.venv/bin/fred
out=build/demo
spec=examples/demo-switch.yaml
rm -rf "$out"
mkdir -p "$out"

step() { printf '\n== %s\n' "$*"; }

step "1. Specification ($spec)"
grep -v '^#' "$spec"

step "2. Verilog, manifest, FuseSoC core, constraints"
$fred gen "$spec" -o "$out/rtl"

step "3. Routing: all phases of MP2-DP2-PP2, then three flows that two subswitches cannot carry"
$fred route "$spec" --strategy MP2-DP2-PP2
$fred route "$spec" examples/circular-flows.yaml
$fred route "$spec" examples/circular-flows.yaml --set middle=2 || [ $? = 3 ]

step "4. Co-simulation against the golden model, with waves"
if command -v iverilog >/dev/null; then
    $fred sim "$spec" --sim icarus --seed 1 --waves -o "$out/sim"
    simulators=both
else
    echo "Icarus Verilog is not installed; going on with Verilator alone"
    simulators=verilator
fi
$fred sim "$spec" --sim "$simulators" --seed 1 -o "$out/sim" --json >"$out/sim/results.json"
echo "written: $out/sim/results.json ($simulators)"

step "5. Timing record"
$fred characterize "$spec" --sim "${simulators/both/icarus}" -o "$out/timing.json"

step "6. All-reduce of 1 GiB over a wafer, simulated on its links"
for fabric in mesh:5x4 fred-a fred-b fred-c fred-d; do
    $fred collective --topology "$fabric" --size 1GiB --json >"$out/all-reduce-${fabric/:/-}.json"
done
$fred collective --topology fred-d --size 1GiB

step "7. Training iterations: where the time goes, compute calibrated on one published figure each"
$fred compare --compute calibrated --csv "$out/compare.csv" | tee "$out/compare.txt"
$fred estimate --topology fred-d --workload transformer-17b --compute calibrated \
    --timeline "$out/timeline.json" >"$out/estimate.txt"
echo "written: $out/timeline.json (open it at ui.perfetto.dev)"

step "8. Report"
$fred report --spec "$spec" --results "$out/sim/results.json" -o "$out/report"
printf '\nOpen %s/report/index.html in a browser.\n' "$out"
