"""Sums at the outputs of FRED_m(P) under a configuration word, from the definition of FRED_m(P).

FRED, arXiv 2406.19580, on the interconnect (our section 3). This module imports nothing of the
project.
"""

from collections.abc import Callable, Sequence
from itertools import product

__all__ = ["CertificateError", "Sum", "need", "outputs"]

Sum = tuple[int, ...]
"""The inputs of a sum; empty where there is no data."""


class CertificateError(Exception):
    """A certificate is wrong; says where and why."""


def need(holds: bool, message: str) -> None:
    """Fail unless something holds.

    Raises
    ------
    CertificateError
        It does not hold.
    """
    if not holds:
        raise CertificateError(message)


def outputs(word: int, ports: int, middle_switches: int) -> list[Sum]:
    """Return the inputs whose sum each output of FRED_m(P) gets under a configuration word.

    From bit 0 the word has a code for each input, the m subswitches, and a code for each output:
    0 is idle, c + 1 is subswitch c. For P = 2 it has a code of two bits for each output instead.

    Raises
    ------
    CertificateError
        A code is unknown or without effect, or data ends inside.
    """
    digits, place = f"{word:b}"[::-1], 0  # the lowest bit first

    def take(bits: int) -> int:
        nonlocal place
        place += bits
        return int(digits[place - bits : place][::-1] or "0", 2)

    found = _through(take, [(port,) for port in range(ports)], middle_switches, "")
    need("1" not in digits[place:], "the word has bits beyond the last micro-switch")
    return found


def _through(take: Callable[[int], int], data: Sequence[Sum], m: int, path: str) -> list[Sum]:
    """Return the sums at the outputs of a switch; only the outermost may have unused inputs."""
    if len(data) == 2:
        codes, sums = (take(2), take(2)), ((), *data, data[0] + data[1])
        need(
            3 not in codes or ({*codes} <= {0, 3} and all(data)),
            f"{path}rd: an incomplete reduction",
        )
        need(all(sums[code] for code in codes if code), f"{path}rd: an output without data")
        lost = [port for port in (0, 1) if data[port] and not {port + 1, 3} & {*codes}]
        need(not (path and lost), f"{path}rd: the data of inputs {lost} reaches no output")
        return [sums[code] for code in codes]
    bits, size = m.bit_length(), (len(data) + 1) // 2
    codes = [take(bits) for _ in data]
    for port, (code, one) in enumerate(zip(codes, data, strict=True)):
        need(code <= m and (bool(one) or not code), f"{path}input {port}: wrong code {code}")
        need(bool(code) or not (one and path), f"{path}input {port}: its data reaches no output")
    middle: list[list[Sum]] = []
    for c in range(m):
        entering: list[Sum] = [() for _ in range(size)]
        for port, one in enumerate(data):  # the port of a demultiplexer has no neighbour
            entering[port // 2] += one if codes[port] == c + 1 else ()
        middle.append(_through(take, entering, m, f"{path}middle_{c}."))
    codes = [take(bits) for _ in data]
    for port, code in enumerate(codes):
        has_data = code == 0 or (code <= m and bool(middle[code - 1][port // 2]))
        need(has_data, f"{path}output {port}: wrong code {code}")
    for c, k in product(range(m), range(size)):
        taken = not middle[c][k] or c + 1 in codes[2 * k : 2 * k + 2]
        need(taken, f"{path}middle_{c}: the data of output {k} is not used")
    return [middle[code - 1][port // 2] if code else () for port, code in enumerate(codes)]
