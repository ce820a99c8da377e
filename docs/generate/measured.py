"""Page of the figures that benches report."""

from fred_cli.cosimulation import REGRESSIONS
from testbench.cosimulation.benches import BASELINES, figures_of

__all__ = ["measured"]

_LEVELS = [
    level for level in (*REGRESSIONS, "mesh") if level not in BASELINES and figures_of(level)
]

_HEAD = """\
# Measured figures

<!-- Written by: python -m docs.generate -->

This page lists every figure that a bench reports. It is for readers of `fred sim` and of timing
records. `--json` of `fred sim` has values as `measurements`, and units and meanings as `figures`.

`flits_checked` counts the received flits that tests compared. With `--level switch`, the test
`counters_agree_with_what_was_sent` also reports the [registers](registers.md) that hardware drives,
performance counters included.
"""


def measured() -> str:
    """Return the page."""
    lines = [_HEAD]
    for level in _LEVELS:
        lines += [
            f"## {level}",
            "",
            "| figure | unit | meaning | test |",
            "| --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{one.name}` | {one.unit} | {one.meaning} | `{one.test}` |"
            for one in figures_of(level)
        ]
        lines.append("")
    return "\n".join(lines)
