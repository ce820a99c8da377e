"""Command `fred verify`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fred_cli.command import Command
from fred_cli.options import InputPath, OutputPath, as_json_option
from fred_cli.output import print_json
from fred_cli.progress import progress

__all__ = ["command"]


@click.command("verify", cls=Command, example="fred verify examples/certificate.json")
@click.argument("certificate", metavar="CERTIFICATE", type=InputPath())
@click.option(
    "-o",
    "--output",
    "folder",
    type=OutputPath(folder=True),
    metavar="DIR",
    help="Write each refutation as NAME.cnf and NAME.drat, for other checkers.",
)
@as_json_option
def command(certificate: Path, folder: Path | None, as_json: bool) -> int:
    """Check CERTIFICATE, which `--certify` of `fred route` writes.

    The checker is independent of the compiler: it follows every configuration word through the
    micro-switches, and checks proofs that flows have no routing. It prints a line for each set of
    configurations. Exit status 1 means that the certificate is wrong.
    """
    from fred_hw.certificate.checker import check
    from fred_hw.certificate.file import Certificate
    from fred_hw.files import load_model

    given = load_model(Certificate, certificate)
    data = given.model_dump()
    with progress(f"checking {given.name}"):
        found = list(check(data))
    if folder is not None:
        _write([one.name for one in found if one.verdict == "refuted"], data, folder)
    wrong = [one.name for one in found if one.verdict == "wrong"]
    if as_json:
        findings = [one._asdict() for one in found]
        print_json({"name": given.name, "valid": not wrong, "findings": findings})
    else:
        for one in found:
            print(f"{one.name}: {one.verdict}; {one.detail}")
        print(f"wrong certificate: {', '.join(wrong)}" if wrong else "valid certificate")
    return int(bool(wrong))


def _write(phases: Iterable[str], data: Mapping[str, Any], folder: Path) -> None:
    """Write formulas in DIMACS, and their proofs in DRAT."""
    from fred_hw.certificate.refutation import clauses_of
    from gen.write import write_outputs

    files: dict[Path, str] = {}
    for phase in phases:
        clauses = clauses_of(data, phase)
        variables = max((abs(literal) for clause in clauses for literal in clause), default=0)
        head = f"p cnf {variables} {len(clauses)}\n"
        files[folder / f"{phase}.cnf"] = head + _lines(clauses)
        files[folder / f"{phase}.drat"] = _lines([*data["refutations"][phase]["proof"], ()])
    write_outputs(files)


def _lines(clauses: Iterable[Sequence[int]]) -> str:
    return "".join(" ".join(map(str, (*clause, 0))) + "\n" for clause in clauses)
