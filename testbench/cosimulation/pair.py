"""Two units side by side, whose links a bench connects."""

from fred_hw.unit import Unit
from gen.emitter import VerilogEmitter
from gen.ports import Port, head_of_top, instance, module_ports
from testbench.sim.kept import Kept

__all__ = ["pair_of"]

_SHARED = ("clk", "rst")


def pair_of(unit: Unit, name: str, emitter: VerilogEmitter) -> Kept:
    """Generate a unit and a top module with two, whose ports are those of ``a`` and ``b``.

    Parameters
    ----------
    unit : Unit
        The unit; used up.
    name : str
        Name of the top module.
    emitter : VerilogEmitter
        The writer.
    """
    emitter.add(unit)
    own = module_ports(unit)
    ports: list[Port] = [port for port in own if port[0] in _SHARED]
    for end in "ab":
        ports += [(f"{end}_{port}", way, bits) for port, way, bits in own if port not in _SHARED]
    lines = head_of_top(name, ports)
    for end in "ab":
        pins = {port: port if port in _SHARED else f"{end}_{port}" for port, _, _ in own}
        lines += instance(unit.unit_name, end, pins)
    return Kept(name, "\n".join([emitter.verilog(), *lines, "endmodule", ""]), tuple(ports))
