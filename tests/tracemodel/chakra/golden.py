"""Public traces: one of 81 bytes, and the set of a training step of a small transformer."""

from pathlib import Path

__all__ = ["ALL_REDUCE", "LLAMA", "LLAMA_SHA256"]

ALL_REDUCE = bytes.fromhex(
    "070a05302e302e34"
    "481214616c6c5f7265647563655f386e7075735f314d421807"
    "520e0a0969735f6370755f6f70d80100"
    "520d0a09636f6d6d5f747970654800"
    "520f0a09636f6d6d5f73697a6548808040"
)
"""astra-sim, examples/workload/microbenchmarks/all_reduce/8npus_1MB/all_reduce.0.et."""

LLAMA = Path(__file__).parent / "llama_small/w"
"""Prefix of the compressed traces of four ranks, data parallel 2 inside and tensor parallel 2.

They are what the public generator of symbolic tensor graphs
(github.com/astra-sim/symbolic_tensor_graph) wrote for a small Llama-like transformer. The inputs
that ASTRA-sim ran them with lie beside them.
"""

LLAMA_SHA256 = (
    "509fbbb389ceadabac7cad1b235f42e1b56ec696077a49b97750e8bc68db9e8f",
    "15adf8c0de13fbd30d734c7e1d26a928e5b3c6212581af62b119c4fa8b51168f",
    "ae09c017c34f2098cf7a7144e9c17f43aed8c87e731a8f1d4b393642e52f61c2",
    "1c40398638c56c1fff34cabdc1ccba05c87ca3862383e7581fbd6799a35dcd1d",
)
"""Hash of the trace of each rank as the generator wrote it, uncompressed."""
