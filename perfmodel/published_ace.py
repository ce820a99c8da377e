"""Figures of ACE, an engine at the network interface that runs collectives."""

from perfmodel.published import Published

__all__ = [
    "ACE",
    "BANDWIDTH_SAVED",
    "REDUCTIONS",
    "RING_READS",
    "TRAINING",
    "TRAINING_BATCH",
]

ACE = "Rashidi et al., ACE, arXiv 2007.00156"

_FORM = f"{ACE}, by the form that its abstract corroborates"

RING_READS = {
    npus: Published(printed, _FORM) for npus, printed in ((4, "1.33"), (8, "1.43"), (16, "1.47"))
}
"""Bytes that cores read per byte sent in a ring, by number of NPUs."""

REDUCTIONS = {
    (4, 2, 2): Published("3.00", _FORM),
    (4, 4, 2): Published("3.19", _FORM),
    (4, 4, 4): Published("3.375", _FORM),
    (4, 8, 4): Published("3.47", _FORM),
    (4, 8, 8): Published("3.56", _FORM),
}
"""Memory bandwidth of cores relative to ACE at the same network rate, by torus dimensions."""

BANDWIDTH_SAVED = Published("3.5", f"{ACE}, abstract: on average", about=True)
"""Memory bandwidth of cores relative to ACE, averaged over the networks of the study."""

TRAINING = {
    "resnet-50": Published("1.41", f"{ACE}, abstract: iteration time, on average"),
    "gnmt": Published("1.12", f"{ACE}, abstract: iteration time, on average"),
    "dlrm": Published("1.13", f"{ACE}, abstract: iteration time, on average"),
}
"""Iteration time with the best core-driven setting, relative to ACE."""

TRAINING_BATCH = {"resnet-50": 32, "gnmt": 128, "dlrm": 512}
"""Samples per NPU in an iteration of the study, as reconstructed."""
