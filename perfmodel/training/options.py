"""Options of an estimate whose values are names, each declared once.

A further option is a further field of :class:`Options` and the code that uses the field. The
command line, studies, Python keywords and JSON output take the option from the field. This
module imports nothing else of the package when it is loaded, so that the command line starts
quickly.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from importlib import import_module
from pathlib import Path
from typing import Any

from fred_hw.choices import not_one_of
from fred_hw.errors import InputError

__all__ = ["OPTIONS", "NamedFile", "Option", "Options"]


@dataclass(frozen=True, slots=True)
class NamedFile:
    """The file that the value of an option may name.

    Parameters
    ----------
    file_in : callable
        Returns the path in a value, or an empty text.
    load : callable
        Returns the contents of a file, given its path, as a model of pydantic.
    """

    file_in: Callable[[str], str]
    load: Callable[[Path], Any]


@dataclass(frozen=True, slots=True)
class Option:
    """An option whose value is a name.

    Parameters
    ----------
    name, default : str
        Name of the field of :class:`Options`, and its default value.
    names : callable
        Returns the names that are allowed.
    listing : callable
        Returns the help text, which lists the names.
    check : callable or None
        Refuses a value with an InputError; None where the value must be one of ``names``.
    files : NamedFile or None
        The file that a value may name; None where values name none.
    """

    name: str
    default: str
    names: Callable[[], Iterable[str]]
    listing: Callable[[], str]
    check: Callable[[str], object] | None = None
    files: NamedFile | None = None

    def file_in(self, value: str) -> str:
        """Return the path of the file that a value names, or an empty text."""
        return self.files.file_in(value) if self.files else ""

    def located(self, value: str, folder: Path) -> str:
        """Return a value whose path starts from a folder instead of the working directory."""
        path = self.file_in(value)
        return value.removesuffix(path) + str(folder / path) if path else value

    def refuse_unknown(self, value: str) -> None:
        """Fail if the option does not accept a value.

        Raises
        ------
        InputError
            The value is not allowed; names the option as the field.
        """
        if self.check is not None:
            self.check(value)
        elif value not in (known := tuple(self.names())):
            message = not_one_of(value, known, listed_by="fred estimate --help")
            raise InputError("", self.name, message)


def _option(
    default: str,
    names: Callable[[], Iterable[str]],
    listing: Callable[[], str],
    check: Callable[[str], object] | None = None,
    files: NamedFile | None = None,
) -> Any:
    """Return the field of an option."""
    said = {"default": default, "names": names, "listing": listing, "check": check, "files": files}
    return field(default=default, metadata=said)


def _found(module: str, name: str) -> Any:
    """Return the object that a module of the package defines under a name."""
    return getattr(import_module(f"perfmodel.{module}"), name)


def _later(module: str, name: str) -> Callable[[Any], Any]:
    """Return a function that imports the one of a module when it is called."""
    return lambda value: _found(module, name)(value)


def _compute_models() -> Iterable[str]:
    return _found("training.compute_model", "COMPUTE_MODELS")


def _compute_listing() -> str:
    models = _found("training.compute_model", "COMPUTE_MODELS")
    texts = [f"{name} {model.basis}".strip() for name, model in models.items()]
    return f"{', or '.join(texts)}."


def _placements() -> Iterable[str]:
    return ("auto", "anneal", *_found("training.placement.policy", "POLICIES"))


def _placement_listing() -> str:
    _, _, *policies = _placements()
    choices = f"auto (the best of several), anneal, {', '.join(policies)}"
    return f"Placement of workers, for example on a mesh: {choices}."


def _algorithms() -> Iterable[str]:
    return ("auto", "published", *_found("collectives.algorithm", "ALGORITHMS"))


def _algorithm_listing() -> str:
    _, _, *named = _algorithms()
    return f"Collectives: published, auto (the fastest), or for all-reduces {', '.join(named)}."


def _network_models() -> Iterable[str]:
    models = _found("network.model", "NETWORK_MODELS")
    return [name for name, one in models.items() if not one.instead]


def _network_listing() -> str:
    models = _found("network.model", "NETWORK_MODELS")
    return f"{', or '.join(f'{name}: {models[name].description}' for name in _network_models())}."


def _check_network_model(value: str) -> None:
    if value not in (known := tuple(_network_models())):
        models = _found("network.model", "NETWORK_MODELS")
        reason = f", {models[value].instead}" if value in models else ""
        raise InputError("", "network_model", not_one_of(value, known) + reason)


def _energy_tables() -> Iterable[str]:
    return _found("training.energy", "energy_tables")()


def _energy_listing() -> str:
    return f"Energy of operations and links: {', '.join(_energy_tables())}, or YAML."


def _endpoints() -> Iterable[str]:
    return _found("endpoint.model", "names")()


def _endpoint_listing() -> str:
    known = ", ".join(_endpoints())
    return (
        "What runs collectives at the NPUs, and takes memory bandwidth and cores from compute: "
        f"{known}, or core-driven or ace with :FILE.yaml. Without a setting: the fastest one."
    )


@dataclass(frozen=True, kw_only=True)
class Options:
    """Named options of an estimate.

    Parameters
    ----------
    compute : str
        Model of compute, as for ``compute_model.compute_model``.
    algorithm : str
        Algorithm of collectives: ``published``, ``auto`` for the fastest one of each collective,
        or one of ``collectives.algorithm.ALGORITHMS``, which all-reduces alone take.
    placement : str
        How workers are placed: ``auto``, ``anneal`` or one of ``placement.policy.POLICIES``.
    network_model : str
        Model of the time that communication takes.
    energy : str
        Table of the energy of each unit of work: one of ``energy.energy_tables``, or the path of a
        YAML file.
    endpoint : str
        Endpoint that runs collectives at the NPUs, as for ``endpoint.model.endpoint_model``.

    Raises
    ------
    InputError
        A value is not allowed; names the option as the field.
    """

    compute: str = _option(
        "first-principles",
        _compute_models,
        _compute_listing,
        _later("training.compute_model", "compute_model"),
    )
    algorithm: str = _option(
        "published",
        _algorithms,
        _algorithm_listing,
    )
    placement: str = _option("auto", _placements, _placement_listing)
    network_model: str = _option(
        "fluid",
        _network_models,
        _network_listing,
        _check_network_model,
    )
    energy: str = _option(
        "wafer",
        _energy_tables,
        _energy_listing,
        _later("training.energy", "read_energy"),
        NamedFile(_later("training.energy", "file_in"), _later("training.energy", "load_energy")),
    )
    endpoint: str = _option(
        "ideal",
        _endpoints,
        _endpoint_listing,
        _later("endpoint.model", "endpoint_model"),
        NamedFile(_later("endpoint.model", "file_in"), _later("endpoint.file", "load_endpoint")),
    )

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            option.refuse_unknown(getattr(self, name))

    @property
    def options(self) -> dict[str, Any]:
        """The value of each option, as keyword arguments."""
        return {name: getattr(self, name) for name in OPTIONS}


OPTIONS = {one.name: Option(one.name, **one.metadata) for one in fields(Options)}
"""The options, keyed by name."""
