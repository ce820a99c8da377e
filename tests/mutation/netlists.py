"""Change netlists of units at random places, and see whether their properties are violated.

Yosys draws the mutants with a seed. The score is the share of killed mutants among those that are
not proven equivalent to the unit. `make netlist-mutants` records a run, and
docs/explanation/evidence.md is made from the record.
"""

import json
import sys
import tempfile
import time
import warnings
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import click
from amaranth.hdl import UnusedElaboratable
from rich.console import Console
from rich.table import Table

from testbench.formal.mutants import Mutants, try_mutants
from testbench.formal.property import PROPERTIES, Property
from testbench.formal.verdict import tools

from .option import record_option

__all__ = ["main"]

_FAST = [name for name, one in PROPERTIES.items() if one.fast]


@click.command()
@click.argument("names", nargs=-1, metavar="[PROPERTY]...", type=click.Choice(list(PROPERTIES)))
@click.option("--mutants", type=click.IntRange(1), default=10, help="Mutants per property.")
@click.option("--seed", type=int, default=1, help="Seed of the sample.")
@record_option
def main(names: tuple[str, ...], mutants: int, seed: int, record: Path | None) -> None:
    """Print what became of the mutants; exit status 1 if one survived.

    Without PROPERTY, the properties are those that the regular tests prove. Properties of one unit
    are tried together.
    """
    begin, results = time.perf_counter(), list[Mutants]()
    units: dict[str, list[Property]] = {}
    # Units that are made for their name alone are not elaborated.
    warnings.simplefilter("ignore", UnusedElaboratable)
    for name in names or _FAST:
        one = PROPERTIES[name]
        units.setdefault(one.unit().unit_name, []).append(one)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for unit, of_unit in units.items():
            count = mutants * len(of_unit)
            results.append(try_mutants(of_unit, Path(folder) / unit, count=count, seed=seed))
            Console(stderr=True).print(f"{unit}: {results[-1].killed} killed", style="dim")
    if record:
        found = {
            "date": datetime.now(UTC).date().isoformat(),
            "version": version("fred-hw"),
            "tools": tools(),
            "seed": seed,
            "seconds": round(time.perf_counter() - begin, 1),
            "units": [asdict(one) for one in results],
        }
        record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    table = Table("unit", "mutants", "killed", "equivalent", "survived")
    for one in results:
        counts = (one.drawn, one.killed, one.equivalent, len(one.survivors))
        table.add_row(one.unit, *map(str, counts))
    console = Console()
    console.print(table)
    for one in results:
        for survivor in one.survivors:
            console.print(f"{one.unit}: {survivor}", markup=False)
    sys.exit(any(one.survivors for one in results))


if __name__ == "__main__":
    main()
