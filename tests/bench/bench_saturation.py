"""Measure latency against load on 8 x 8 routers in RTL, and what passes when ends offer more.

Prints a line per run, and for uniform traffic where latency is twice and three times that of the
lowest load and what passes, as shares of what links across the middle allow, beside a published
router. Returns 1 if a flit is lost or wrong, if latency of uniform traffic falls where load rises,
if one of these shares is below that of the published router with fewer channels and less room
(two of 16 flits), or if the shipped record says anything else, which `fred records update
mesh-8x8-saturation` measures again. About ten minutes of CPU time.
"""

import sys
import tempfile
from pathlib import Path

import click

from fred_hw.files import validate
from perfmodel.published_routers import UNIFORM_CURVES, RouterCurve
from studies.saturation import (
    KNEES,
    MeasuredCurve,
    SaturationRecord,
    beyond_share,
    knee,
    load_saturation,
    misses,
)
from testbench.characterize_saturation import SaturationMeasurement


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def summary(name: str, curve: MeasuredCurve | RouterCurve) -> str:
    """Return where a router saturates, in words."""
    told = [(f"latency {factor:g} times at", knee(curve.points, factor)) for factor in KNEES]
    told.append(("passes", beyond_share(curve)))
    found = ", ".join(f"{words} {share:.3f}" for words, share in told if share is not None)
    return f"{name}: {found}"


def stale(measured: SaturationRecord) -> list[str]:
    """Return what the shipped record says otherwise."""
    shipped = load_saturation()
    found = [] if shipped.seed == measured.seed else ["seed"]
    if shipped.source.verilog_sha256 != measured.source.verilog_sha256:
        found.append("Verilog")
    pairs = zip(shipped.curves, measured.curves, strict=False)
    found += [
        f"curve: {one.pattern}, {one.routing}, packets of {one.packet_flits}"
        for one, other in pairs
        if one != other
    ]
    return found if len(shipped.curves) == len(measured.curves) else [*found, "curves"]


@click.command()
@click.option("--seed", type=click.IntRange(min=1), default=1, help="Of all traffic.")
def main(seed: int) -> None:
    """Print a line per run."""
    with tempfile.TemporaryDirectory() as work:
        record = SaturationMeasurement(seed=seed).record(Path(work), say)
    measured = validate(SaturationRecord, record, "measured")
    wrong: list[str] = []
    for curve in measured.uniform:
        name = f"packets of {curve.packet_flits}"
        say(summary(name, curve))
        wrong += [f"{name}: {one}" for one in misses(curve)]
    for name, curve in UNIFORM_CURVES.items():
        say(summary(f"BookSim 2, {name}", curve))
    if seed == load_saturation().seed:
        wrong += [f"the shipped record has another {one}" for one in stale(measured)]
    for one in wrong:
        say(f"error: {one}")
    sys.exit(int(bool(wrong)))


if __name__ == "__main__":
    main()
