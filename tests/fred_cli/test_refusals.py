"""Bad input ends in one line that says what is allowed, whatever the command."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fred_hw.protocol import ProtocolSpec
from fred_hw.spec import SwitchSpec
from perfmodel.topology.parse import parse_topology, topology_names
from perfmodel.training.compute_model import COMPUTE_MODELS
from perfmodel.training.placement.policy import fitting
from testbench.sim.simulator import SIMULATORS

KEYS, SIZES = (", ".join(model.model_fields) for model in (SwitchSpec, ProtocolSpec))

UNITS = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
FRED_D = "collective --topology fred-d"
EXAMPLES = Path(__file__).parents[2] / "examples"
WAFER, ITERATION = EXAMPLES / "wafer-20.yaml", EXAMPLES / "iteration.yaml"
ENDS, WIDE = EXAMPLES / "wafer-20-controllers.yaml", EXAMPLES / "fred-d-controllers.yaml"
STREAMED = EXAMPLES / "iteration-streaming.yaml"
MESH = EXAMPLES / "mesh-5x4.yaml"
TORUS = EXAMPLES / "mesh-torus-4x4.yaml"

FITTING = fitting(parse_topology("fred-d"))

REFUSED = {
    # files
    "gen unknown-key.yaml -o out": rf"unknown-key\.yaml: bogus: unknown key; allowed are {KEYS}",
    "gen one-port.yaml -o out": r"one-port\.yaml: ports: must be an integer from 2 to 64, not 1",
    "gen one-router.yaml --level mesh -o out": r"one-router\.yaml: width: must be 2 or more in "
    "one row of routers, not 1",
    "gen demo-8 --level mesh -o out": r"demo-8: must be a mesh specification, not the preset .*",
    "gen fred-d --level wafer -o out": r"fred-d: must be a wafer specification, not the name of "
    "a topology",
    "gen GPT-3 -o out": r"GPT-3: must be a switch specification, not the name of a workload",
    "sim fred-d": r"fred-d: must be a switch specification, not the name of a topology",
    "route mesh:5x4": r"mesh:5x4: must be a switch specification, not the name of a topology",
    "characterize wafers:2xfred-d": r"wafers:2xfred-d: must be a switch .*, not the name of .*",
    "gen unit.v -o out": r"unit\.v: must be a switch specification, not Verilog",
    "gen unit.v --level mesh -o out": r"unit\.v: must be a mesh specification, not Verilog",
    "estimate --topology fred-d --workload small-4": (
        r"--workload: must be a workload, not 'small-4', the preset of a switch"
    ),
    "estimate --topology gpt-3 --workload gpt-3": (
        r"--topology: must be a topology of .*, not 'gpt-3', the name of a workload"
    ),
    "strategies --topology small-4 --workload gpt-3": (
        r"--topology: must be a topology of .*, not 'small-4', the preset of a switch"
    ),
    f"estimate --network fred-d --system {EXAMPLES}/astra-system.yaml --workload gpt-3": (
        r"--workload: must be the prefix of traces, not 'gpt-3', the name of a workload"
    ),
    "estimate --topology fred-d --workload gpt-3 --rtl fred-d": (
        r"fred-d: must be a wafer or mesh specification, not the name of a topology"
    ),
    "gen missing.yaml -o out": r"missing\.yaml: must be an existing file, not a missing one",
    "gen missing -o out": r"missing: must be an existing file or .* 'fred presets' lists",
    "gen smal-4 -o out": r"smal-4: must be .* 'fred presets' lists; did you mean 'small-4'\?",
    "gen empty.yaml -o out": r"empty\.yaml: must hold a specification, not nothing .*",
    "gen not-yaml.yaml -o out": r"not-yaml\.yaml: must be YAML, not text with an error at line 2.*",
    "gen a-list.yaml -o out": r"a-list\.yaml: must be a mapping of keys to values, not \[1, 2\]",
    "gen folder.yaml -o out": r"folder\.yaml: must be a file, not a directory",
    "gen binary.yaml -o out": r"binary\.yaml: must be a text file in UTF-8, not binary data",
    # fields
    "gen demo-8 --set lanes=0 -o out": r"demo-8: lanes: must be an integer from 1 to 256, not 0",
    "gen demo-8 --set ports=true -o out": r"demo-8: ports: must be an integer .*, not True",
    "gen demo-8 --set format=fp8 -o out": (
        r"demo-8: format: must be one of fp16, .*, not 'fp8'; "
        r"did you mean 'fp8_e4m3' or 'fp8_e5m2'\?"
    ),
    "gen demo-8 --set lane=2 -o out": (
        rf"demo-8: lane: unknown key; allowed are {KEYS}; did you mean 'lanes'\?"
    ),
    "gen demo-8 --set lanes -o out": r"--set: must be key=value, not 'lanes'",
    "gen demo-8 --set =2 -o out": r"--set: must be key=value, not '=2'",
    "gen demo-8 --set lanes=[ -o out": r"--set: lanes: must be a YAML value, not '\['",
    "gen demo-8 --set ports=64 --set lanes=256 -o out": (
        r"demo-8: lanes: must make inputs of at most 65536 bits in all, not of \d+"
    ),
    # the whole switch
    "gen demo-8 --level tray -o out": r"--level: must be one of interconnect, .*, not 'tray'",
    "gen demo-8 --level wafer -o out": r"demo-8: must be a wafer specification, not the preset .*",
    f"gen {EXAMPLES}/fred-16.yaml --level wafer -o out": (
        r".*/fred-16\.yaml: must be a wafer specification, not a topology of the wafer model"
    ),
    "gen two-roots.yaml --level wafer -o out": r"two-roots\.yaml: switches\.1\.above: must be "
    "given, as a is at the top, not left out",
    "estimate --topology fred-d --workload gpt-3 --rtl wafer.yaml": r"--rtl: must have 20 NPUs, as "
    "fred-d, not 4",
    f"estimate --topology fred-d --workload gpt-3 --rtl {MESH}": r"--rtl: must be no mesh, "
    "as fred-d, not mesh_5x4_.*",
    "estimate --topology mesh:5x4 --workload gpt-3 --rtl adaptive.yaml": r"adaptive\.yaml: "
    "routing: must be xy, the routing of the model's meshes, not odd_even_adaptive",
    f"estimate --topology mesh:4x5 --workload gpt-3 --rtl {MESH}": r"--rtl: must be a mesh of "
    "4 x 5, as mesh:4x5, not mesh_5x4_.*",
    f"estimate --topology fred-b --workload gpt-3 --rtl {WAFER}": r"--rtl: must have 1280 B per "
    "cycle between NPUs 0, 1, 2, 3 and all others, as fred-b, not 10240",
    f"estimate --topology fives.yaml --workload gpt-3 --rtl {WAFER}": r"--rtl: must have a switch "
    "with NPUs 0, 1, 2, 3, 4 and no others, as fives.yaml, not wafer_.*",
    "estimate --topology fred-d --workload gpt-3 --rtl two-roots.yaml": r"two-roots\.yaml: "
    r"switches\.1\.above: .*",
    f"estimate --topology fred-d --workload gpt-3 --rtl {WAFER}": r"--rtl: must be of an iteration "
    r"that takes at most 10,000,000 cycles \(8\.5 ms\), not .*",
    f"estimate --topology fred-d --workload {ITERATION} --rtl {WAFER} --strategy MP4-DP5-PP1-SP": (
        r"--rtl: node \d+ of rank 0: must be compute, an all-reduce, a message or memory on .*"
    ),
    f"estimate --topology fred-d --workload {ITERATION} --rtl {ENDS}": r"--rtl: must have I/O "
    r"controllers of 109.* B per cycle, as fred-d, not endpoints of 5 planes of 512 B",
    f"estimate --topology {WIDE} --workload {STREAMED} --rtl {ENDS} --record r.json": r"--record: "
    "must be of hardware without endpoints at I/O controllers: a record holds only NPUs",
    f"estimate --topology {WIDE} --workload {STREAMED} --rtl {ENDS} --strategy MP10-DP1-PP2": (
        "--rtl: strategy must have at most as many groups of the same weights as there are "
        r"controllers \(18\), not 20 as MP10-DP1-PP2"
    ),
    "route two-roots.yaml --strategy MP2-DP1-PP1": r"two-roots\.yaml: switches\.1\.above: .*",
    "characterize wafer.yaml --level wafer": r"characterize: --strategy: must be given with "
    "--level wafer",
    "characterize wafer.yaml --level wafer --strategy MP2-DP2-PP1": r"characterize: --flits: must "
    "be given with --level wafer",
    "characterize wafer.yaml --level wafer --strategy MP2-DP2-PP1 --flits 0": r"--flits: must be 1 "
    "to 65536, not 0",
    f"characterize {TORUS} --level router": r".*mesh-torus-4x4\.yaml: wrap: must be "
    "false with --level router, not true",
    f"estimate --topology mesh:5x4 --workload gpt-3 --rtl {TORUS}": r".*mesh-torus-4x4\.yaml: "
    "routing: must be xy, the routing of the model's meshes, not dateline",
    f"gen {TORUS} --level mesh --set width=2 -o out": r".*mesh-torus-4x4\.yaml: width: must be "
    "1 or at least 3 with wrap, not 2",
    "characterize mesh.yaml --level mesh --sim icarus": r"characterize: --sim: must not be given "
    "with --level mesh",
    "characterize wafer.yaml --level wafer --lanes 1": r"characterize: --lanes: must not be given "
    "with --level wafer",
    "characterize demo-8 --flits 8": r"characterize: --flits: must be given only with --level "
    "wafer or mesh",
    "characterize demo-8 --phase load_0": r"characterize: --phase: must be given only with --level "
    "wafer",
    "characterize wafer.yaml --level wafer --strategy MP2-DP2-PP1 --flits 4 --phase load_0": (
        r"wafer\.yaml: --phase: must be a phase of the strategies \(mp_all_reduce, dp_all_reduce\)"
        ", not 'load_0'"
    ),
    "reproduce --rtl --protocol ideal": r"reproduce: --protocol: must not be given with --rtl",
    "route wafer.yaml": r"route: --strategy: must be given with a wafer, not FLOWS",
    "route wafer.yaml circular.yaml": r"route: FLOWS: must be given with a switch, not a wafer",
    "gen bare-leaf.yaml --level wafer -o out": r"bare-leaf\.yaml: switches\.1\.npus: must be one "
    "or more, or controllers, where no switch is below, not none",
    "route bare-leaf.yaml --strategy MP2-DP1-PP1": r"bare-leaf\.yaml: switches\.1\.npus: must .*",
    "route wafer.yaml --strategy MP2-DP2-PP2": r"wafer\.yaml: npus: must be 8 or more for strategy "
    "MP2-DP2-PP2, not 4",
    "characterize wafer.yaml --level wafer --strategy MP2-DP2-PP2 --flits 4": r"wafer\.yaml: npus: "
    "must be 8 or more for strategy MP2-DP2-PP2, not 4",
    "route wafer.yaml --strategy MP2-DP2-PP1 --set protocol.phases=1": r"wafer\.yaml: "
    r"protocol\.phases: must be 2 or more for strategy MP2-DP2-PP1, not 1 \(1 of 2 phases fit\)",
    "route few-phases.yaml --strategy MP2-DP2-PP1": r"few-phases\.yaml: "
    r"switches\.1\.protocol\.phases: must be 5 or more for .*, not 1 \(1 of 2 phases fit, some in "
    r"rounds\)",
    "route narrow.yaml --strategy MP2-DP2-PP1 --set protocol.phases=4": r"narrow\.yaml: protocol\."
    r"phases: must be 5 or more for strategy MP2-DP2-PP1, not 4 \(1 of 2 phases fit, some in "
    r"rounds\)",
    "route demo-8 --strategy MP2-DP2-PP1 --collectives ring": r"route: --collectives: must be "
    "given with a wafer, not a switch",
    "route wafer.yaml --strategy MP2-DP2-PP1 --set controllers=both": r"wafer\.yaml: controllers: "
    "must be one of links, endpoints, not 'both'",
    "route wafer.yaml --strategy MP2-DP2-PP1 --set controllers=endpoints --collectives ring": (
        r"--strategy: collectives must be in-network with endpoints at controllers, as switches "
        "reduce what is stored, not ring"
    ),
    "route wafer.yaml --strategy MP2-DP2-PP1 --size 3B": r"--size: must be whole flits of 2 B, .*",
    "route small.yaml --strategy MP2-DP2-PP1 --size 1KiB": r"route: --size: must be given with a "
    "wafer or a mesh, not a switch",
    "route not-yaml.yaml -o x.json": r"not-yaml\.yaml: must be YAML, not text with an error .*",
    "route not-yaml.yaml --size 1KiB": r"not-yaml\.yaml: must be YAML, not text with an error .*",
    "estimate --topology fred-d --workload gpt-3 --energy solar": r"--energy: must be one of "
    r"wafer, measured, cluster or a path ending in \.yaml, not 'solar'",
    "estimate --topology fred-d --workload gpt-3 --energy not-yaml.yaml": r"not-yaml\.yaml: must "
    r"be YAML, not text with .*",
    "route not-yaml.yaml --algorithm ring": r"not-yaml\.yaml: must be YAML, not text with .*",
    "route not-yaml.yaml --collectives ring": r"not-yaml\.yaml: must be YAML, not text with .*",
    "route unknown-key.yaml -o x.json": r"unknown-key\.yaml: bogus: unknown key; .*",
    "route missing.yaml -o x.json": r"missing\.yaml: must be an existing file, not a missing one",
    "route missing -o x.json": r"missing: must be an existing file or .*",
    "route small.yaml --strategy MP2-DP2-PP1 --algorithm ring": r"route: --algorithm: must be "
    "given with a mesh, not a switch or a wafer",
    "route wafer.yaml --strategy MP2-DP2-PP1 --algorithm ring": r"route: --algorithm: must be "
    "given with a mesh, not a switch or a wafer",
    "route mesh.yaml --strategy MP2-DP3-PP1 --collectives ring": r"route: --collectives: must be "
    "given with a wafer, not a mesh",
    "route one-router.yaml --strategy MP1-DP1-PP1": r"one-router\.yaml: width: must be 2 or .*",
    "route mesh.yaml": r"route: --strategy: must be given with a mesh, not FLOWS",
    "route mesh.yaml circular.yaml": r"route: FLOWS: must be given with a switch, not a mesh",
    "route mesh.yaml --strategy MP2-DP2-PP1 --generation 1": r"route: --generation: must be given "
    "with a switch or a wafer, not a mesh",
    "route mesh.yaml --strategy MP2-DP2-PP2": r"mesh\.yaml: width: must make 8 NPUs or more with "
    r"height 2 for strategy MP2-DP2-PP2, not 6",
    "characterize mesh.yaml --level mesh --strategy MP2-DP2-PP2 --flits 4": r"mesh\.yaml: width: "
    r"must make 8 NPUs or more with height 2 for strategy MP2-DP2-PP2, not 6",
    "route mesh.yaml --strategy MP2-DP3-PP1 --algorithm bidirectional_ring": r"--strategy: phase "
    "mp_all_reduce of MP2-DP3-PP1: bidirectional_ring groups must have 3 NPUs or more, not 0, 1",
    "route mesh.yaml --strategy MP3-DP2-PP1 --algorithm hierarchical_2d_halves": r"--strategy: .* "
    "must be all NPUs at which two or more rows and columns cross, not 0, 1, 2",
    "route mesh.yaml --strategy MP2-DP3-PP1 --algorithm snake": r"--algorithm: must be one .*",
    "route mesh.yaml --strategy MP2-DP3-PP1 --size 3B": r"--size: must be whole flits of 2 B, .*",
    "route mesh.yaml --strategy MP2-DP3-PP1 --set lanes=3 --size 6B": r"mesh\.yaml: lanes: must "
    "make flits of 1, 2, 4, ... bytes, not of 6",
    "gen demo-8 --set protocol=3 -o out": r"demo-8: protocol: must be a mapping .*, not 3",
    "gen no-link.yaml -o out": rf"no-link\.yaml: protocol\.link: unknown key; allowed are {SIZES}",
    "gen demo-8 --set protocol.phase=1 -o out": r"demo-8: protocol\.phase: unknown key; .*",
    "gen demo-8 --set protocol.buffer_packets=3 -o out": r"demo-8: protocol\.buffer_packets: must "
    r"be 6 or more to cover round_trip_cycles, which are 47, not 3",
    "gen demo-8 --set protocol.buffer_packets=32 -o out": r"demo-8: protocol\.buffer_packets: must "
    r"be 31 or less in packets of packet_flits, which are 8, not 32",
    # outputs
    "gen tiny-2": r"fred gen: Missing option '-o' / '--output'\.",
    "gen": r"fred gen: Missing argument 'SPEC'\.",
    "gen tiny-2 -o a-file": r"a-file: must be a folder, not a file",
    "gen tiny-2 -o a-file/out": r"a-file/out: must be a folder, not a file",
    # flows
    "route small.yaml overlap.yaml": r"overlap\.yaml: 1\.inputs: must be disjoint from .* port 1",
    "route small.yaml out-of-range.yaml": r"out-of-range\.yaml: 0\.outputs: .* 0 to 3, not 4",
    "route small.yaml missing.yaml": r"missing\.yaml: must be an existing file, not a missing one",
    "route small.yaml": r"route: FLOWS: must be a file, or --strategy given, but not both",
    "route small.yaml circular.yaml --strategy MP1-DP2-PP1": r"route: FLOWS: .* but not both",
    "route small.yaml --strategy MP2": r"--strategy: .* of the form MP2-DP5-PP2, not 'MP2'",
    "route small.yaml --strategy MP0-DP1-PP1": r"--strategy: .* mp must be 1 or more, not 0",
    "route small.yaml --strategy MP2-DP3-PP1": r"--strategy: MP2-DP3-PP1 must have .*, not 6",
    "route small.yaml one-flow.yaml --max-conflicts -1": r"--max-conflicts: must "
    r"be 0 to 1000000000, not -1",
    "route small.yaml one-flow.yaml --draw folder.yaml": r"folder\.yaml: must be a file, not .*",
    "route small.yaml one-flow.yaml --draw a-file/x.svg": r"a-file: must be a folder, not a file",
    "route small.yaml --strategy MP2-DP2-PP1 --draw x.svg": r"route: --draw: must be given with .*",
    # simulation
    "sim small.yaml --sim ghdl": r"--sim: must be one of verilator, icarus, both, not 'ghdl'",
    "sim small.yaml --sim icarus --seed 0": r"--seed: must be an integer of 1 or more, not '0'",
    "sim small.yaml --sim icarus --seed x": r"--seed: must be an integer of 1 or more, not 'x'",
    "sim small.yaml --sim icarus --test nope": r"--test: must be one of .*_deliver, .*, not 'nope'",
    "sim small.yaml --sim icarus --test a(": r"--test: must be one of .*, not 'a\('",
    "sim small.yaml --sim icarus --test started": r"--test: must be one of .*, not 'started'",
    "sim small.yaml --sim icarus -o a-file": r"a-file: must be a folder, not a file",
    "sim small.yaml --sim icarus -o a-file/x": r"a-file/x: must be a folder, not a file",
    "characterize small.yaml -o folder.yaml": r"folder\.yaml: must be a file, not a directory",
    "characterize small.yaml -o a-file/x.json": r"a-file: must be a folder, not a file",
    "characterize small.yaml --level router": (
        r"small\.yaml: must be a mesh specification, not a switch specification"
    ),
    "characterize one-router.yaml --level router": r"one-router\.yaml: width: must be 2 or more .*",
    "gen small.yaml --set clock_ns=0.01 -o new": r"small\.yaml: clock_ns: must be 0\.\d+ or .*",
    "gen small.yaml --set clock_ns=fast -o new": r"small\.yaml: clock_ns: must be a number from .*",
    "characterize small.yaml --lanes 0": r"--lanes: lanes: must be an integer from 1 to 256, not 0",
    "characterize small.yaml --seed 0": r"--seed: must be an integer of 1 or more, not '0'",
    # wafers
    "collective": r"fred collective: Missing option '--topology'\.",
    "collective --topology ring": (
        rf"--topology: must be one of {', '.join(topology_names())} or a path .*, not 'ring'"
    ),
    "collective --topology mesh:0x4": r"topology mesh:0x4: columns: .* from 1 to 256, not 0",
    "collective --topology mesh:1x1": r"mesh:1x1: must have 2 or more NPUs, not 1",
    "collective --topology missing.yaml": r"missing\.yaml: must be an existing file, .*",
    "collective --topology empty.yaml": r"empty\.yaml: .* not nothing \(the file is empty\)",
    "collective --topology one-port.yaml": r"one-port\.yaml: must be a topology .*",
    f"{FRED_D} --size 1XB": rf"--size: must be a number with one of {UNITS}, not '1XB'",
    f"{FRED_D} --size -1": rf"--size: must be a number with one of {UNITS}, not '-1'",
    f"{FRED_D} --size 0": r"--size: must be above 0 bytes, not 0\.0",
    f"{FRED_D} --group 0-x": r"--group: must be NPU numbers like 0,1,4-7, not '0-x'",
    f"{FRED_D} --group 0,1,5-3": r"--group: must be NPU numbers like 0,1,4-7, not '0,1,5-3'",
    f"{FRED_D} --group 0,3,0": r"--group: must hold each NPU once, not 0 twice",
    f"{FRED_D} --pattern gossip": r"--pattern: must be one of all_reduce, .*, not 'gossip'",
    f"{FRED_D} --chunks 0": r"--chunks: must be 1 to 16384, not 0",
    f"{FRED_D} --chunks x": r"--chunks: must be an integer, not 'x'",
    "estimate --topology fred-d": "fred estimate: --workload: must be given",
    "estimate --topology fred-d --workload gpt-3 --endpoint ace:comp": "--endpoint: must be one of "
    "the 9 names that 'fred estimate --help' lists or core-driven or ace with :FILE.yaml, not "
    "'ace:comp'; did you mean 'ace:comp-opt'[?]",
    "estimate --topology fred-d --workload gpt-3 --rtl w.yaml --endpoint ace": "fred estimate: "
    "--endpoint: must be ideal with --rtl, which simulates endpoints and not their memory, "
    "not 'ace'",
    "estimate --topology fred-d --workload x": r"--workload: must be .*, not 'x'",
    "estimate --topology fred-d --workload x.yaml": r"x\.yaml: must be an existing file, .*",
    "estimate --topology fred-d --workload one-port.yaml": r"one-port\.yaml: must be a workload,.*",
    "estimate --topology fred-d --workload gpt-3 --strategy MP5-DP5-PP1": (
        r"--strategy: must fit the 20 NPUs of fred-d, not need 25 as MP5-DP5-PP1"
    ),
    "estimate --topology mesh:2x2 --workload gpt-3": (
        r"--strategy: must fit the 4 NPUs of mesh:2x2, not need 20 as MP2-DP5-PP2"
    ),
    "estimate --topology fred-d --workload gpt-3 --strategy x": (
        r"--strategy: must be like MP2-DP5-PP2, not 'x'"
    ),
    "estimate --topology fred-d --workload gpt-3 --compute guessed": (
        rf"--compute: must be one of {', '.join(COMPUTE_MODELS)}, not 'guessed'"
    ),
    "estimate --topology fred-d --workload layers.txt": (
        r"--workload: must be one of .* or a path ending in .yaml, not 'layers.txt'; "
        r"'fred chakra convert' makes traces of a text workload, for --network"
    ),
    "estimate --topology fred-d --workload gpt-3 --rtl small-4": (
        r"small-4: must be a wafer or mesh specification, not the preset of a switch"
    ),
    "estimate --topology fred-d --workload gpt-3 --mode stationary": (
        r"gpt-3: mode: must be streaming where weights .* 80 GB as MP2-DP5-PP2"
    ),
    "estimate --topology fred-d --workload gpt-3 --microbatches 3": (
        r"gpt-3: microbatches: must be a divisor of 16 samples per replica, not 3"
    ),
    "estimate --topology fred-d --workload gpt-3 --samples 0": (
        r"--samples: must be 1 to 1048576, not 0"
    ),
    "estimate --topology fred-d --workload gpt-3 --placement snake": (
        rf"--placement: must be {', '.join(FITTING)} for fred-d, not 'snake'"
    ),
    "estimate --topology fred-d --workload gpt-3 --algorithm gossip": (
        r"--algorithm: must be one of the \d+ names that 'fred estimate --help' .*, not 'gossip'"
    ),
    "compare --npu hbm_bytes": r"--npu: must be key=value, not 'hbm_bytes'",
    "compare --npu hbm_bytes=": r"--npu: hbm_bytes: must be a value, not left out",
    "compare --npu efficiency.matmul=2": r"--npu: efficiency\.matmul: must be .* 1e-06 to 1, not 2",
    "strategies --workload gpt-3 --npu bogus=2": r"--npu: bogus: unknown key; allowed are peak_.*",
    "estimate --topology fred-d --workload gpt-3 --compute calibrated --npu peak_flops=1e15": (
        r"npu: peak_flops: must be 9\.894e\+14 where compute is calibrated, not 1e\+15"
    ),
    "estimate --topology fred-d --workload gpt-3 --timeline folder.yaml": (
        r"folder\.yaml: must be a file, not a directory"
    ),
    f"{FRED_D} --algorithm gossip": r"--algorithm: must be one of the \d+ names .*, not 'gossip'",
    f"{FRED_D} --algorithm two_level_ring --group 0-4": (
        r"--algorithm: must have a group .*, not two_level_ring for 5 NPUs of fred-d"
    ),
    "collective --topology mesh:9x9 --draw x.svg": r"--draw: must show at most 64 NPUs, not 81",
    f"{FRED_D} --draw folder.yaml": r"folder\.yaml: must be a file, not a directory",
    "collective --topology slow.yaml": r"slow\.yaml: link_bytes_per_s: must be .* 1e.24, not 0",
    "collective --topology wafers:0xfred-d": (
        r"topology wafers:0xfred-d: wafers: must be an integer from 1 to 65536, not 0"
    ),
    "collective --topology wafers:4000xfred-d": (
        r"wafers:4000xfred-d: wafers: must have at most 65536 NPUs in all, not 80000"
    ),
    "collective --topology wafers:2xrope": (
        r"wafers:2xrope: wafer: must be one of .* or a path ending in \.yaml or \.txt, not 'rope'"
    ),
    "collective --topology wafers:2xwafers:2xfred-d": (
        r"wafers:2xwafers:2xfred-d: wafer: must be one wafer, not 'wafers:2xfred-d' of several"
    ),
    "collective --topology wafers:2xtorus:2x2": (
        r"wafers:2xtorus:2x2: wafer: must have I/O controllers, as torus:2x2 has none"
    ),
    "estimate --topology wafers:2xfred-d --workload gpt-3 --strategy MP24-DP1-PP1": (
        r"--strategy: must fit 2 wafers of 20 NPUs with each MP group on one wafer, "
        r"not MP24-DP1-PP1"
    ),
    "collective --topology wafers:2xfred-d --network-model aware --algorithm published": (
        r"--network-model: must be fluid or packet for messages that join or fork in switches"
    ),
    "strategies": r"fred strategies: Missing option '--workload'\.",
    "strategies --workload gpt-3 --samples 0": r"--samples: must be 1 to 1048576, not 0",
    "strategies --workload gpt-3 --samples 99999999": r"--samples: must be 1 to 1048576, not .*",
    "estimate --topology fred-d --workload gpt-3 --samples 99999999": (
        r"--samples: must be 1 to 1048576, not 99999999"
    ),
    "estimate --topology fred-d --workload gpt-3 --samples 2000 --microbatches 2000": (
        r"gpt-3: microbatches: must be at most \d+ with \d+ layers where none is left out, not 2000"
    ),
    "estimate --topology fred-d --workload gpt-3 --samples 1000 --microbatches 1000": (
        r"gpt-3: microbatches: must be at most 668 with 98 layers where none is left out, not 1000"
    ),
    f"{FRED_D} --group 0-99999999": r"--group: must hold at most 65536 NPUs, not '0-99999999'",
    f"{FRED_D} --group 0-40000,0-40000": r"--group: must hold at most 65536 NPUs, not .*",
    f"{FRED_D} --size " + 400 * "9": r"--size: must be a number with one of .*, not '9{59}",
    f"{FRED_D} --size 1000000000001TB": r"--size: must be 1 to 1e\+24 bytes, not '1000000000001TB'",
    f"{FRED_D} --size 0.5": r"--size: must be 1 to 1e\+24 bytes, not '0\.5'",
    "strategies --workload gpt-3 --least-npus 21": r"--least-npus: must be 1 to 20, not 21",
    "strategies --workload gpt-3 --compute x": r"--compute: must be one of .*, not 'x'",
    "strategies --workload gpt-3 --compute peak:0": r"--compute: must be peak:K .*, not 'peak:0'",
    "compare --compute scaled:nan": r"--compute: must be scaled:K with K .*, not 'scaled:nan'",
    "reproduce --compute scaled:0": r"--compute: must be scaled:K with K .*, not 'scaled:0'",
    "reproduce --compute guessed": r"--compute: must be one of .*, not 'guessed'",
    "reproduce --section all": r"--section: must be one of the 12 names .*, not 'all'",
    "compare --workload bert": r"--workload: must be one of the 11 names .*, not 'bert'",
    f"{FRED_D} --protocol free": (r"--protocol: must be one of measured, ideal, not 'free'"),
    "reproduce --protocol free": r"--protocol: must be one of measured, ideal, not 'free'",
    "collective --topology no-protocol.yaml": (
        r"no-protocol\.yaml: protocol: must be one of measured, ideal, not 'free'"
    ),
    "compare --topology ideal.yaml --topology fred-d --compute calibrated": (
        r"--compute: must be first-principles for fabrics some of whose protocols are ideal"
    ),
    "compare --reading compute": r"--reading: must be OPTION=VALUE with each of compute, .*",
    "compare --reading compute=x": r"--reading: compute must be one of first-principles, .*",
    "compare --npu-from fred-e": r"--npu-from: must be one of mesh:5x4, fred-a, .*, not 'fred-e'.*",
    "compare extra": r"fred compare: Got unexpected extra argument \(extra\)",
    # the report
    "report": r"fred report: Missing option '-o' / '--output'\.",
    "report -o out --results": r"fred(?: report)?: Option '--results' requires an argument\.",
    "report -o out --nope": r"fred report: No such option '--nope'\..*",
    "report -o out --results missing.json": r"missing\.json: must be an existing file, .*",
    "report -o out --results empty.yaml": r"empty\.yaml: .* \(the file is empty\)",
    "report -o out --results binary.yaml": r"binary\.yaml: must be a text file in UTF-8, .*",
    "report -o out --results small.yaml": r"small\.yaml: runs: must be what `fred sim --json` .*",
    "report -o out --spec missing.yaml": r"missing\.yaml: must be an existing file, .*",
    "report -o out --spec one-port.yaml": r"one-port\.yaml: ports: .* from 2 to 64, not 1",
    "report -o taken --spec missing.yaml": r"taken/index\.html: must be a file, not a directory",
    "report -o json --spec missing.yaml": r"json/report\.json: must be a file, not a directory",
    "report -o a-file": r"a-file: must be a folder, not a file",
    "report -o a-file/out": r"a-file/out: must be a folder, not a file",
}


@pytest.mark.parametrize(("line", "message"), REFUSED.items(), ids=REFUSED)
def test_bad_input_is_one_line(
    refused: Callable[..., str], place: Path, line: str, message: str
) -> None:
    mesh = "kind: mesh\ncolumns: 5\nrows: 4\nprotocol: "
    (place / "ideal.yaml").write_text(f"{mesh}ideal\n")
    (place / "taken" / "index.html").mkdir(parents=True)
    (place / "json" / "report.json").mkdir(parents=True)
    (place / "no-protocol.yaml").write_text(f"{mesh}free\n")
    said = refused(*line.split())
    assert re.fullmatch(f"error: {message}", said), said


@pytest.mark.parametrize("option", ["--topology", "--workload", "--strategy", "--compute"])
@pytest.mark.parametrize("command", ["report -o out", "estimate --topology mesh:2x2"])
def test_empty_value_does_not_stand_for_the_default(
    refused: Callable[..., str], command: str, option: str
) -> None:
    if command.startswith("estimate"):
        command += " --workload own.yaml"
    said = refused(*command.split(), option, "")
    assert re.fullmatch(rf"error: {option}: must be .*, not ''", said), said


@pytest.mark.parametrize(("name", "package"), [("icarus", "iverilog"), ("verilator", "verilator")])
@pytest.mark.parametrize("command", ["sim", "characterize"])
def test_simulator_that_is_missing_is_named(
    refused: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    package: str,
) -> None:
    monkeypatch.setattr(type(SIMULATORS[name]), "find", lambda _: None)
    said = refused(command, "small.yaml", "--sim", name)
    assert re.fullmatch(rf"error: --sim: {name} is not installed; .*package {package} has it", said)
