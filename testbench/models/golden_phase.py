"""Golden model of a phase of a plane, by switches or by endpoints: what each NPU gets."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.wafer.program import Phase, WaferProgram
from fred_hw.wafer.rings import levels_of

from .golden import reduction_of
from .golden_plane import walk_phase
from .golden_ring import all_reduce

__all__ = ["golden_phase"]

Words = NDArray[np.unsignedinteger]


def golden_phase(program: WaferProgram, phase: Phase, sent: Mapping[int, Words]) -> dict[int, Any]:
    """Return the raw numbers that each NPU gets in a phase, shape (flits, lanes).

    Parameters
    ----------
    program, phase : WaferProgram, Phase
        What is done.
    sent : mapping of int to array
        Raw numbers that each NPU sends, shape (flits, lanes).
    """
    plane = program.plane
    reduce = reduction_of(plane.wafer.link)
    if program.collectives == "in-network":
        return walk_phase(plane, phase.ways, sent, reduce)
    found: dict[int, Any] = {}
    for flow in phase.flows:
        if len(flow.inputs) == 1:
            result = sent[flow.inputs[0]]
        else:
            levels = levels_of(plane, flow.inputs)
            result = all_reduce([[sent[npu] for npu in level] for level in levels], reduce)
        found |= {npu: result for npu in flow.outputs if (npu,) != flow.inputs}
    return found
