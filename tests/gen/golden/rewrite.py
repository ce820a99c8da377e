"""Rewrite the golden Verilog; `make golden` runs this and the difference is reviewed."""

from pathlib import Path

from fred_hw.load import load_spec
from gen.design import generate

PRESETS = ("tiny-2",)


def main() -> None:
    """Write one file per preset beside this one."""
    for preset in PRESETS:
        design = generate(load_spec(preset))
        Path(__file__).with_name(f"{design.name}.v").write_text(design.verilog)


if __name__ == "__main__":
    main()
