"""Samples: inputs of a network, with the correct class of each if known."""

from dataclasses import dataclass
from math import prod
from pathlib import Path

import numpy as np

from fred_hw.errors import InputError

from .arrays import Array, Indices
from .arrays_file import read_arrays
from .network import Network
from .reader import tensor

__all__ = ["Samples", "read_samples"]


@dataclass(frozen=True)
class Samples:
    """Inputs of a network.

    Parameters
    ----------
    inputs : array
        Samples on the first axis.
    labels : array or None
        Number of the right output of each sample.
    """

    inputs: Array
    labels: Indices | None = None

    def accuracy(self, outputs: Array) -> float | None:
        """Return the share of samples whose largest output is the label; None without labels.

        Parameters
        ----------
        outputs : array
            Outputs of a network for the samples, with the samples on the first axis.
        """
        if self.labels is None:
            return None
        right = outputs.reshape(len(outputs), -1).argmax(axis=1) == self.labels
        return np.count_nonzero(right) / len(outputs)

    def check_labels(self, network: Network, source: str) -> None:
        """Fail unless each label is the number of an output of a network.

        Parameters
        ----------
        network : Network
            The network that the samples are for.
        source : str
            File of the samples, for errors.

        Raises
        ------
        InputError
            A label is no such number, or the samples do not fit the network.
        """
        if self.labels is None:
            return
        most = prod(network.shapes(self.inputs[:1])[network.output][1:]) - 1
        wrong = self.labels[(self.labels < 0) | (self.labels > most)]
        if wrong.size:
            message = f"must be numbers of outputs, from 0 to {most}, not {wrong[0]}"
            raise InputError(source, "labels", message)


def read_samples(path: Path) -> Samples:
    """Return the samples in a .npz file: its array ``inputs``, and ``labels`` if present.

    Raises
    ------
    InputError
        The file has no such arrays, or they have wrong shapes or values.
    """
    source, arrays = str(path), read_arrays(path)
    for name in arrays:
        if name not in ("inputs", "labels"):
            raise InputError(source, name, "must be inputs or labels")
    if "inputs" not in arrays:
        raise InputError(source, "inputs", "must be an array of the file, not missing")
    inputs = tensor(arrays["inputs"], source, "inputs")
    if inputs.ndim < 2 or not inputs.size:
        message = f"must have samples on the first axis and channels, not shape {inputs.shape}"
        raise InputError(source, "inputs", message)
    if "labels" not in arrays:
        return Samples(inputs)
    labels = arrays["labels"]
    if labels.dtype.kind not in "iu" or labels.shape != inputs.shape[:1]:
        message = (
            f"must have an integer for each of {len(inputs)} samples, not shape {labels.shape}"
        )
        raise InputError(source, "labels", message)
    return Samples(inputs, labels.astype(np.intp))
