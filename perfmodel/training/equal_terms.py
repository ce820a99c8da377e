"""Comparisons on equal terms: topologies with identical NPUs, unless requested otherwise."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError
from perfmodel.training.compute import Npu
from perfmodel.training.request import Request

__all__ = ["CHOICES", "equal_npus", "on_equal_terms"]

CHOICES = "npu_from or as_is"
"""Names in error messages of the two ways to compare topologies with different NPUs."""


def on_equal_terms(
    requests: Sequence[Request],
    npu_from: str | None = None,
    *,
    as_is: bool = False,
    choices: str = CHOICES,
) -> tuple[Request, ...]:
    """Return requests that are comparable with each other.

    Parameters
    ----------
    requests : sequence of Request
        Requests of some topologies.
    npu_from, as_is, choices : str or None, bool, str
        See :func:`equal_npus`.

    Raises
    ------
    InputError
        As for :func:`equal_npus`, or the model of compute cannot compare the topologies.
    """
    fabrics = {request.topology.name: request for request in requests}
    for request in {request.compute: request for request in requests}.values():
        request.compute_model.check([one.topology for one in fabrics.values()])
    given = {name: one.npu for name, one in fabrics.items()}
    npus = equal_npus(given, npu_from, as_is=as_is, choices=choices)
    return tuple(replace(request, npu=npus[request.topology.name]) for request in requests)


def equal_npus(
    npus: Mapping[str, Npu],
    npu_from: str | None = None,
    *,
    as_is: bool = False,
    choices: str = CHOICES,
) -> Mapping[str, Npu]:
    """Return the NPU with which each topology is compared.

    A speed-up of one topology over another says something of the topologies only where their NPUs
    are the same.

    Parameters
    ----------
    npus : mapping
        The NPU of each topology by name, the baseline first.
    npu_from : str or None
        The topology whose NPU all of them get.
    as_is : bool
        Whether to keep NPUs that differ.
    choices : str
        What the error line calls these two choices.

    Raises
    ------
    InputError
        The NPUs differ and no choice was made, both choices were made, or no topology has the name.
    """
    if npu_from is not None:
        if as_is:
            raise InputError("", "npu_from", "must not be given if NPUs are compared as they are")
        if npu_from not in npus:
            raise InputError("", "npu_from", not_one_of(npu_from, npus))
        return dict.fromkeys(npus, npus[npu_from])
    first, *others = npus
    base = npus[first].rates
    for name in others if not as_is else ():
        rates = npus[name].rates
        fields = [
            f"{key} {base[key]:g} and {rates[key]:g}" for key in base if base[key] != rates[key]
        ]
        if fields:
            given = f"{', '.join(fields)} of {first} and {name}"
            raise InputError(
                "", "topology", f"must have equal NPUs unless {choices} is given, not {given}"
            )
    return npus
