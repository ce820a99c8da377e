"""The interface of a simulator, and the registry of all simulators."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from fred_hw.registry import Registry

__all__ = ["SIMULATORS", "TIMESCALE", "Simulator"]

TIMESCALE = ("1ns", "1ps")
"""Unit and precision of time in all simulations."""


class Simulator(ABC):
    """A Verilog simulator that cocotb can drive.

    cocotb, and modules that only builds need, are imported by ``build``, so that an installation
    without them can list simulators.

    Attributes
    ----------
    runner : str
        Name in cocotb's runners.
    package : str
        Package that provides it, for users who lack it.
    waves : str
        Format of its waves, the suffix of their file.
    """

    runner: ClassVar[str]
    package: ClassVar[str]
    waves: ClassVar[str]

    @abstractmethod
    def find(self) -> Path | None:
        """Return the folder of the simulator's programs; None if it is not installed."""

    @abstractmethod
    def version(self) -> str | None:
        """Return the simulator's version; None if unknown."""

    @abstractmethod
    def build(
        self,
        verilog: str,
        top: str,
        *,
        waves: bool,
        probes: Sequence[str] = (),
        points: str | None = None,
        blocks: Sequence[str] = (),
    ) -> Path:
        """Return the folder of a built model, from the cache if present.

        Its programs are on PATH. The model is what cocotb's runner runs; it holds all that
        ``verilog``, its top module ``top`` and the version of the simulator decide, and writes
        waves if ``waves``. Of what is inside, a bench sees at least the signals of these names in
        any module, or of ``module.signal`` in one; "*" stands for any characters. ``blocks`` are
        modules with many instances, which a simulator may translate once. If ``points`` is given,
        the model writes ``coverage.dat``: coverage of its code, and of these cover points in
        SystemVerilog.

        Raises
        ------
        SimulatorError
            It could not build.
        """

    def wave_arguments(self, path: str) -> Sequence[str]:
        """Return run arguments for writing waves to a file; none if the model fixes the name."""
        return ()


SIMULATORS: Registry[Simulator] = Registry("testbench.sim.simulators", "simulator")
"""All simulators by name."""
