"""Independent checker of routing certificates.

Neither this module nor those that it imports use the compiler: configurations are checked by
:mod:`.configurations`, proofs that flows have no routing by :mod:`.refutation`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .configurations import CertificateError, check_fabric, check_phases, check_set
from .refutation import check_refutation

__all__ = ["Finding", "check"]


class Finding(NamedTuple):
    """Verdict on a part of a certificate, with details; ``wrong`` if it must not be trusted."""

    name: str
    verdict: str
    detail: str


def check(data: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding for fabric, phases, each configuration set and each refutation.

    Parameters
    ----------
    data : mapping
        The contents of a certificate, as ``fred_hw.certificate.file`` describes them.
    """
    parts = [("sound", "fabric", check_fabric, ()), ("complete", "phases", check_phases, ())]
    parts += [("routed", name, check_set, (name,)) for name in data["sets"]]
    parts += [("refuted", name, check_refutation, (name,)) for name in data["refutations"]]
    for verdict, name, test, said in parts:
        try:
            yield Finding(name, verdict, test(data, *said))
        except CertificateError as error:
            yield Finding(name, "wrong", str(error))
