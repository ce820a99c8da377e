"""What units of a link have in common: they are made for a specification, and named after it."""

from fred_hw.spec import SwitchSpec

__all__ = ["check_spec", "sized_name"]


def check_spec(unit: str, spec: object, *, link: bool = True) -> SwitchSpec:
    """Return ``spec`` if ``unit`` can be made for it, with the link layer if it needs one.

    Raises
    ------
    TypeError
        ``spec`` is no specification.
    ValueError
        It has no link layer, which the unit needs.
    """
    if not isinstance(spec, SwitchSpec):
        raise TypeError(f"{unit} spec must be a SwitchSpec, not {spec!r}")
    if link and not spec.protocol.link:
        raise ValueError(f"protocol.link must be True for {unit}, not False")
    return spec


def sized_name(name: str, spec: SwitchSpec) -> str:
    """Return the name of a unit whose hardware depends on flits, ports and protocol."""
    return f"{name}_w{spec.data_width}_p{spec.ports}_{spec.protocol.suffix}"
