"""A public trace of 81 bytes, and a set of traces that lies beside the project and not in it."""

from pathlib import Path

import pytest

__all__ = ["ALL_REDUCE", "llama"]

ALL_REDUCE = bytes.fromhex(
    "070a05302e302e34"
    "481214616c6c5f7265647563655f386e7075735f314d421807"
    "520e0a0969735f6370755f6f70d80100"
    "520d0a09636f6d6d5f747970654800"
    "520f0a09636f6d6d5f73697a6548808040"
)
"""astra-sim, examples/workload/microbenchmarks/all_reduce/8npus_1MB/all_reduce.0.et."""

_FOLDERS = [root / "shared/data/chakra" for root in Path(__file__).resolve().parents]


def llama() -> Path:
    """Return the prefix of four traces of a small llama; skip the test where there are none."""
    for folder in _FOLDERS:
        if (folder / "llama_small_dp2tp2/w.3.et").is_file():
            return folder / "llama_small_dp2tp2/w"
    pytest.skip("no traces llama_small_dp2tp2 in ../shared/data/chakra")
