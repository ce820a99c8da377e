"""Names that options of text take, which a shell completes; what is wrong, the rooms below say."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click
from click.shell_completion import CompletionItem

__all__ = [
    "Named",
    "algorithm_name",
    "change_key",
    "compute_name",
    "join_name",
    "loggops_key",
    "npu_key",
    "pattern_name",
    "placement_name",
    "section_name",
    "test_name",
]


class Named(click.ParamType):
    """Text that a shell completes to one of some names; others may be allowed too.

    Parameters
    ----------
    names : Callable
        Returns the names when a shell asks for them, given the context of the command.
    """

    name = "text"

    def __init__(self, names: Callable[[click.Context], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names(ctx) if name.startswith(incomplete)]


def _algorithms(_context: click.Context) -> Iterable[str]:
    from perfmodel.collectives.algorithm import ALGORITHMS

    return ("auto", "published", *ALGORITHMS)


def _compute_models(_context: click.Context) -> Iterable[str]:
    from perfmodel.training.compute_model import COMPUTE_MODELS

    # What is behind a colon is a number.
    return [name.partition(":")[0] + ":" * (":" in name) for name in COMPUTE_MODELS]


def _placements(_context: click.Context) -> Iterable[str]:
    from perfmodel.training.placement.policy import POLICIES

    return ("auto", "anneal", *POLICIES)


def _patterns(_context: click.Context) -> Iterable[str]:
    from perfmodel.collectives.schedule import PATTERNS

    return PATTERNS


def _joins(_context: click.Context) -> Iterable[str]:
    from perfmodel.wafers import JOINS

    return JOINS


def _sections(_context: click.Context) -> Iterable[str]:
    from perfmodel.studies.section import SECTIONS

    return SECTIONS


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


algorithm_name, compute_name = Named(_algorithms), Named(_compute_models)
placement_name, pattern_name = Named(_placements), Named(_patterns)
join_name, section_name, test_name = Named(_joins), Named(_sections), Named(_tests)
npu_key, change_key, loggops_key = Named(_npu_keys), Named(_spec_keys), Named(_loggops_keys)
