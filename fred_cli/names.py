"""Names that options of text take, which a shell completes; what is wrong, the rooms below say."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from fred_hw.choices import find_choice

__all__ = [
    "Named",
    "algorithm_name",
    "change_key",
    "compute_name",
    "join_name",
    "loggops_key",
    "names_in",
    "npu_key",
    "pattern_name",
    "placement_name",
    "section_name",
    "test_name",
]


def names_in(module: str, name: str, *before: str) -> Callable[..., Iterable[str]]:
    """Return what imports the names that a module has, or gives, under ``name`` when asked."""

    def names(*_: object) -> Iterable[str]:
        found: Any = getattr(import_module(module), name)
        return (*before, *(found if isinstance(found, Iterable) else found()))

    return names


class Named(click.ParamType):
    """Text that names one of some things, in letters of any case; others may be allowed too.

    A shell completes the names. A text that is none of them is passed on as it is.

    Parameters
    ----------
    names : Callable
        Returns the names when a shell asks for them, given the context of the command.
    """

    name = "text"

    def __init__(self, names: Callable[[Any], Iterable[str]]) -> None:
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return find_choice(value, self._names(ctx)) or value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names(ctx) if name.startswith(incomplete)]


def _compute_models(_context: click.Context) -> Iterable[str]:
    from perfmodel.training.compute_model import COMPUTE_MODELS

    # What is behind a colon is a number.
    return [name.partition(":")[0] + ":" * (":" in name) for name in COMPUTE_MODELS]


def _tests(context: click.Context) -> Iterable[str]:
    from testbench.cosimulation.benches import tests_of

    return tests_of(context.params.get("level") or "interconnect")


def _npu_keys(_context: click.Context) -> Iterable[str]:
    from perfmodel.topology.files import NpuEntry

    return _keys(NpuEntry)


def _loggops_keys(_context: click.Context) -> Iterable[str]:
    from perfmodel.chakra.loggops import PARAMETERS

    return [f"{one}=" for one in PARAMETERS]


def _spec_keys(context: click.Context) -> Iterable[str]:
    from gen.level import LEVELS

    return _keys(LEVELS[context.params.get("level") or "interconnect"].model)


def _keys(model: Any, above: str = "") -> Iterator[str]:
    """Yield the keys of a file's model, as a change begins with them."""
    for key, field in model.model_fields.items():
        kinds = getattr(field.annotation, "__args__", ()) or (field.annotation,)
        inner = next((one for one in kinds if hasattr(one, "model_fields")), None)
        if inner is None:
            yield f"{above}{key}="
        else:
            yield from _keys(inner, f"{above}{key}.")


algorithm_name = Named(
    names_in("perfmodel.collectives.algorithm", "ALGORITHMS", "auto", "published")
)
placement_name = Named(
    names_in("perfmodel.training.placement.policy", "POLICIES", "auto", "anneal")
)
pattern_name = Named(names_in("perfmodel.collectives.schedule", "PATTERNS"))
join_name = Named(names_in("perfmodel.wafers", "JOINS"))
section_name = Named(names_in("perfmodel.studies.section", "SECTIONS"))
compute_name, test_name = Named(_compute_models), Named(_tests)
npu_key, change_key, loggops_key = Named(_npu_keys), Named(_spec_keys), Named(_loggops_keys)
