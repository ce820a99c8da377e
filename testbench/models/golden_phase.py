"""Golden model of a phase on a plane or a mesh: results of each NPU."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fred_hw.ace.operations import Buffer
from fred_hw.ace.steps import EndpointProgram
from fred_hw.mesh.program import MeshProgram
from fred_hw.wafer.phase import Phase
from fred_hw.wafer.program import WaferProgram
from fred_hw.wafer.rings import levels_of, ring_of
from fred_hw.wafer.rounds import Round

from .golden import reduction_of, words_of
from .golden_mesh import carry_out
from .golden_plane import walk_phase
from .golden_ring import all_reduce, reduce_blocks

__all__ = ["golden_phase", "golden_results", "numbers_of", "wrong_npus"]

Words = NDArray[np.unsignedinteger]
Bytes = NDArray[np.uint8]


def golden_phase(program: WaferProgram, phase: Phase, sent: Mapping[int, Words]) -> dict[int, Any]:
    """Return the raw numbers that each NPU receives in a phase, shape (flits, lanes).

    Parameters
    ----------
    program, phase : WaferProgram, Phase
        Program and phase.
    sent : mapping of int to array
        Raw numbers that each NPU sends, shape (flits, lanes).
    """
    plane = program.plane
    if program.collectives == "in-network":
        return {
            npu: result
            for one in phase.rounds
            for npu, result in walk_phase(plane, one.paths, _sent_in(one, sent)).items()
        }
    found: dict[int, Any] = {}
    reduce = reduction_of(plane.wafer.link)
    for flow in phase.flows:
        if len(flow.inputs) == 1:
            result = sent[flow.inputs[0]]
        else:
            levels = levels_of(plane, flow.inputs)
            result = all_reduce([[sent[npu] for npu in level] for level in levels], reduce)
        found |= {npu: result for npu in flow.outputs if (npu,) != flow.inputs}
    return found


def _sent_in(one: Round, sent: Mapping[int, Words]) -> dict[int, Words]:
    """Return what NPUs send in a round; all other ports carry nothing."""
    return {npu: sent[npu] for flow in one.flows for npu in flow.inputs}


def numbers_of(program: EndpointProgram, memory: Bytes, buffer: Buffer) -> Words:
    """Return the content of a buffer as raw numbers, shape (flits, lanes).

    Parameters
    ----------
    program : EndpointProgram
        Whose flits they are.
    memory : array
        Bytes of a memory, shape (flits, bytes of a flit).
    buffer : Buffer
        Whole flits.
    """
    flit = program.link.data_width // 8
    first, size = buffer.address // flit, buffer.size // flit
    return words_of(memory[first : first + size], program.link)


def golden_results(
    program: EndpointProgram, phase: Any, memories: Sequence[Bytes]
) -> dict[int, Any]:
    """Return the final raw numbers of each receiving NPU, shape (flits, lanes).

    Parameters
    ----------
    program, phase : EndpointProgram, Phase or MeshPhase
        Program and phase.
    memories : sequence of array
        Bytes of each NPU's memory before the phase, shape (flits, bytes of a flit).

    Raises
    ------
    TypeError
        No golden model exists for the fabric.
    """
    source, destination = program.buffers(phase)
    if isinstance(program, WaferProgram) and isinstance(phase, Phase):
        if phase.pattern:
            return _golden_blocks(program, phase, memories)
        sent = {npu: numbers_of(program, one, source) for npu, one in enumerate(memories)}
        return golden_phase(program, phase, sent)
    if not isinstance(program, MeshProgram):
        raise TypeError(f"program must be of a wafer or a mesh, not {program!r}")
    jobs = {npu: program.descriptors(npu, phase) for npu in range(program.npus)}
    words = [words_of(memory, program.link) for memory in memories]
    flit = program.link.data_width // 8
    after = carry_out(jobs, words, flit, reduction_of(program.link))
    return {
        npu: numbers_of(program, after[npu].view(np.uint8), destination)
        for npu, own in jobs.items()
        if any(one.receive for one in own)
    }


def _golden_blocks(
    program: WaferProgram, phase: Phase, memories: Sequence[Bytes]
) -> dict[int, Any]:
    """Return the results of ring members that reduce or gather blocks."""
    source, destination = program.buffers(phase)
    found: dict[int, Any] = {}
    for flow in phase.flows:
        ring = ring_of(program.plane, flow.inputs)
        sent = [numbers_of(program, memories[npu], source) for npu in ring]
        held = [numbers_of(program, memories[npu], destination).copy() for npu in ring]
        size = -(-len(held[0]) // len(ring))
        parts = [slice(place * size, (place + 1) * size) for place in range(len(ring))]
        if phase.pattern == "all_gather":
            whole = np.concatenate([own[part] for own, part in zip(held, parts, strict=True)])
            found |= dict.fromkeys(ring, whole)
            continue
        blocks = reduce_blocks(sent, reduction_of(program.link))
        for npu, own, part, block in zip(ring, held, parts, blocks, strict=True):
            own[part] = block
            found[npu] = own
    return found


def wrong_npus(
    program: EndpointProgram, name: str, before: Sequence[Bytes], after: Sequence[Bytes]
) -> list[int]:
    """Return the NPUs whose result of a phase differs from the golden model."""
    phase = program.phase(name)
    _, destination = program.buffers(phase)
    return [
        npu
        for npu, want in golden_results(program, phase, before).items()
        if (numbers_of(program, after[npu], destination) != want).any()
    ]
