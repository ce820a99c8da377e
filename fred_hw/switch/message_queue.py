"""Queue of control messages, in which a newer message replaces an outdated one."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from fred_hw.checks import check_kind
from fred_hw.link.message import Message
from fred_hw.member import member
from fred_hw.per_class import per_class
from fred_hw.unit import Unit
from fred_hw.virtual_channels import DEFAULT_CHANNELS, VirtualChannels

__all__ = ["MessageQueue"]


class MessageQueue(Unit):
    """First-in, first-out queue of control messages.

    A message that differs from a waiting one only in its number replaces it: acks and nacks are
    cumulative, so the newest contains all information. So a neighbour that sends messages about few
    flows loses none, however fast it sends.

    Parameters
    ----------
    layout : StructLayout
        Layout of a message, with a ``sequence``.
    channels : VirtualChannels, optional
        Virtual channels of the link.

    Timing
    ------
    Latency : 1 cycle from a message to the same message offered, 2 to ``lost``.
    Throughput : one message per cycle.
    Paths : none.
    Reset : forgets all messages.

    Raises
    ------
    TypeError
        ``layout`` is not a struct layout.
    ValueError
        ``layout`` has no ``sequence``.
    """

    i: Message = member(In, lambda u: wiring.Signature({"valid": Out(1), "payload": Out(u.layout)}))
    """Messages, which cannot be held back."""
    o: stream.Interface = member(Out, lambda u: stream.Signature(u.layout))
    """The same messages; an offered message stays until it is taken."""
    lost = member(Out, 1)
    """High for a cycle when a message is lost because ``depth`` others wait."""

    def __init__(
        self, *, layout: data.StructLayout, channels: VirtualChannels = DEFAULT_CHANNELS
    ) -> None:
        check_kind("MessageQueue layout", layout, data.StructLayout)
        if "sequence" not in layout.members:
            raise ValueError(
                f"MessageQueue layout must have a field named sequence, not {layout!r}"
            )
        self.layout = layout
        self.channels = check_kind("MessageQueue channels", channels, VirtualChannels)
        name = "_".join(f"{name}{shape}" for name, shape in layout.members.items())
        self.unit_name = f"message_queue_{name}{channels.suffix}"
        super().__init__()

    @property
    def depth(self) -> int:
        """Messages in the queue.

        These are an ack and a nack per urgency class, one being taken, and one of a previously set
        flow.
        """
        return 2 * per_class(self) + 2

    def build(self, m: Module) -> None:
        layout, depth = self.layout, self.depth
        about = [name for name, _ in layout if name != "sequence"]
        words = [Signal(layout, name=f"word_{k}", reset_less=True) for k in range(depth)]
        there = Signal(depth)
        alike = Signal(depth)
        taken = Signal()
        # An incoming message settles late in its cycle, and is stored in the next one.
        came = Signal()
        latest = Signal(layout, reset_less=True)
        m.d.sync += [came.eq(self.i.valid), latest.eq(self.i.payload)]
        # The first message is offered already, and stays the same.
        for k, word in enumerate(words[1:], 1):
            same = Cat(word[name] == latest[name] for name in about).all()
            m.d.comb += alike[k].eq(there[k] & same)
        full = there.all()
        added = Signal()
        m.d.comb += [
            self.o.valid.eq(there[0] | came),
            self.o.payload.eq(Mux(there[0], words[0], latest)),
            taken.eq(there[0] & self.o.ready),
            added.eq(came & ~alike.any() & (there[0] | ~self.o.ready)),
        ]
        m.d.sync += self.lost.eq(added & full & ~taken)
        after = _moved(there, taken)
        # The first free position behind the others.
        free = ~after & ((after << 1) | 1)[:depth]
        m.d.sync += there.eq(after | (free & added.replicate(depth)))
        renewed = _moved(alike, taken) & came.replicate(depth)
        for k, word in enumerate(words):
            kept = Mux(taken, words[min(k + 1, depth - 1)], word)
            writes = renewed[k] | (free[k] & added)
            m.d.sync += word.eq(Mux(writes, latest, kept))


def _moved(places: Value, taken: Value) -> Value:
    """Return one bit per position, shifted when the first message is taken."""
    return Mux(taken, places[1:], places)
