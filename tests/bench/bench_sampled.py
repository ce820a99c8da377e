"""Compare the model of a plane with RTL on strategies drawn at random.

Strategies and sizes are those of ``tests.studies.sampled``, with a seed of your choice.
Each phase runs alone on ``wafer-20`` in RTL, by switches and by endpoints, and all results are
compared with the golden model. With two of each kind it takes about 6 minutes of CPU, and 3
more for the first build.

Prints all rows and their errors; returns 1 if one is outside the tolerances.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

from amaranth.hdl import UnusedElaboratable

from fred_cli.columns.rtl import COLUMNS, SUMMARY
from fred_hw.wafer.load import load_wafer
from studies.rtl import summaries
from studies.rtl_shipped import record_against_rtl
from testbench.characterize_wafer import PlanePhasesMeasurement

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.studies.sampled import draw
from tests.written import written

WAFER = Path(__file__).parents[2] / "examples/wafer-20.yaml"


def main() -> int:
    """Draw, measure and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=2, help="of strategies and the third size")
    parser.add_argument("--each", type=int, default=4, help="strategies of each kind")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UnusedElaboratable)  # units that are only hashed
    sample = draw(given.seed, given.each)
    measurement = PlanePhasesMeasurement(
        spec=load_wafer(str(WAFER)),
        strategies=sample.strategies,
        flits=sample.flits,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder) / "sampled.json", measurement.record(Path(folder)))
        rows = record_against_rtl(path).rows
    COLUMNS.print(f"Phases of strategies drawn with seed {given.seed}", rows)
    SUMMARY.print("Errors of the model", summaries(rows))
    missed = sum(not row.ok for row in rows)
    sys.stdout.write(f"{missed} of {len(rows)} rows are outside the tolerances\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
