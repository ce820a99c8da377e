"""Write a whole switch, and run bench_bytes.py on it in Icarus.

Output goes to build/cocotbext_axi, or to the folder given.
"""

import os
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from fred_hw.spec import SwitchSpec
from gen.design import generate
from gen.write import write_files

HERE = Path(__file__).parent


def main(folder: Path) -> None:
    """Write, build and run; exit status 1 if a test failed."""
    spec = SwitchSpec(ports=4, format="int16", lanes=2)
    design = generate(spec, level="switch")
    write_files(design.files(), folder)
    runner = get_runner("icarus")
    runner.build(
        sources=[folder / f"{design.name}.v"],
        hdl_toplevel=design.name,
        build_dir=folder / "icarus",
        timescale=("1ns", "1ps"),
    )
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE.parents[1]), str(HERE), *sys.path])
    results = runner.test(
        hdl_toplevel=design.name,
        test_module="bench_bytes",
        build_dir=folder / "icarus",
        extra_env={"FRED_MANIFEST": str((folder / f"{design.name}.json").resolve())},
    )
    tests, failed = get_results(results)
    sys.stdout.write(f"{tests} test, {failed} failed; AXI4-Stream: {design.name}\n")
    sys.exit(int(failed or not tests))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/cocotbext_axi"))
