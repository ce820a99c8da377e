"""SystemVerilog assertions and the modules that hold them."""

from collections.abc import Iterable
from dataclasses import dataclass

from .ports import Port, bit_range

__all__ = ["Assertion", "assertion_module"]


@dataclass(frozen=True)
class Assertion:
    """A rule that an integrator's logic must keep.

    Parameters
    ----------
    name : str
        Label of the assertion, with which simulators report a violation.
    rule : str
        The rule as a property of SystemVerilog, checked at rising clock edges outside resets.
    message : str
        The rule in words.
    error_free : bool
        Whether the rule holds only for links that lose and change nothing.
    """

    name: str
    rule: str
    message: str
    error_free: bool = False

    def lines(self) -> list[str]:
        """Return the assertion as text."""
        return [
            f"  {self.name}: assert property (@(posedge clk) disable iff (rst)",
            f"    {self.rule})",
            f'    else $error("{self.name}: {self.message}");',
        ]


def assertion_module(
    name: str, ports: Iterable[Port], body: Iterable[str], assertions: Iterable[Assertion]
) -> str:
    """Return a module whose ports are all inputs, with its declarations and assertions.

    Parameters
    ----------
    name : str
        Name of the module.
    ports : iterable of Port
        Ports of the observed module, whatever their direction.
    body : iterable of str
        Declarations that the assertions use.
    assertions : iterable of Assertion
        The assertions. Those of error-free links need the macro ``FRED_ERROR_FREE_LINKS``.
    """
    rules = list(assertions)
    always = [line for one in rules if not one.error_free for line in one.lines()]
    strict = [line for one in rules if one.error_free for line in one.lines()]
    if strict:
        strict = ["`ifdef FRED_ERROR_FREE_LINKS", *strict, "`endif"]
    inputs = ",\n".join(f"  input logic {bit_range(bits)}{port}" for port, _, bits in ports)
    return "\n".join([f"module {name} (", inputs, ");", *body, *always, *strict, "endmodule", ""])
