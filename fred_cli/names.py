"""Names for shell completion of text options."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

from fred_hw.choices import find_choice
from perfmodel.training.options import OPTIONS

__all__ = [
    "Named",
    "change_key",
    "loggops_key",
    "names_in",
    "npu_key",
    "option_name",
    "option_value",
    "pattern_name",
    "reading_key",
    "section_name",
    "test_name",
]


def names_in(module: str, name: str, *before: str) -> Callable[..., Iterable[str]]:
    """Return a function that imports a module and returns the names in its attribute ``name``."""

    def names(*_: object) -> Iterable[str]:
        found: Any = getattr(import_module(module), name)
        return (*before, *(found if isinstance(found, Iterable) else found()))

    return names


class Named(click.ParamType):
    """Parameter type: one of several names in any letter case; other texts may be allowed too.

    The shell can complete the names. A text that is not one of them is passed on unchanged.

    Parameters
    ----------
    names : Callable
        Returns the names for shell completion, given the context of the command.
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


def option_name(param: click.Parameter | None) -> str:
    """Return a parameter's name in error messages: ``--level``, or ``KIND`` of an argument."""
    if param is None:
        return ""
    name = param.opts[-1]
    return name if name.startswith("-") else name.upper()


def option_value(name: str) -> Named:
    """Return the parameter type of a request option's values."""

    def names(_context: click.Context) -> Iterable[str]:
        # A number follows the colon of a name.
        return [one.partition(":")[0] + ":" * (":" in one) for one in OPTIONS[name].names()]

    return Named(names)


def _tests(context: click.Context) -> Iterable[str]:
    from testbench.cosimulation.benches import tests_of

    return tests_of(context.params.get("level") or "interconnect")


def _npu_keys(_context: click.Context) -> Iterable[str]:
    from perfmodel.topology.files import NpuEntry

    return _keys(NpuEntry)


def _loggops_keys(_context: click.Context) -> Iterable[str]:
    from tracemodel.names import PARAMETERS

    return [f"{one}=" for one in PARAMETERS]


def _spec_keys(context: click.Context) -> Iterable[str]:
    from gen.level import LEVELS

    return _keys(LEVELS[context.params.get("level") or "interconnect"].model)


def _keys(model: Any, above: str = "") -> Iterator[str]:
    """Yield the keys of a file's model in the form in which a change begins."""
    for key, field in model.model_fields.items():
        kinds = getattr(field.annotation, "__args__", ()) or (field.annotation,)
        inner = next((one for one in kinds if hasattr(one, "model_fields")), None)
        if inner is None:
            yield f"{above}{key}="
        else:
            yield from _keys(inner, f"{above}{key}.")


pattern_name = Named(names_in("perfmodel.collectives.schedule", "PATTERNS"))
reading_key = Named(lambda _: [f"{name}=" for name in OPTIONS])
section_name = Named(names_in("studies.section", "SECTIONS"))
test_name = Named(_tests)
npu_key, change_key, loggops_key = Named(_npu_keys), Named(_spec_keys), Named(_loggops_keys)
