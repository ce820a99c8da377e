// A plain switch that keeps docs/protocol.md: stands in for the hardware to try the endpoints.
//
// Part of the harness of testbench/volume/switch.py; behind scenario.cpp. It stores packets and forwards them,
// one flit per cycle and port, and reduces by adding flits modulo two to their width. HUB_FAULT
// breaks one rule on purpose, so that it can be seen that the harness notices.

namespace {

enum HubFault { NONE, EARLY_ACK, WRONG_BIT, ANY_NUMBER, NO_CREDIT, NO_ANSWER, NO_CRC };

class Hub {
    struct Flow {
        unsigned phase, peer_in, peer_out;  // peers as the sources, and the destinations see them
        std::vector<unsigned> sources, destinations;
        unsigned due = 0, least = 0;
        std::array<unsigned, PORTS> acked{};
        std::array<uint64_t, PORTS> nacked{};
        uint64_t asked = 0;
    };
    struct Packet {
        Flow* flow = nullptr;
        unsigned sequence = 0, circuit = 0, last = 0;
        std::vector<uint64_t> flits;
    };
    struct Control {
        unsigned kind;
        Flow* flow;
        bool to_source;
    };
    struct Circuit {
        std::deque<Packet> queue;
        unsigned expected = 0, held = 0;                     // from the NPU
        unsigned ticket = 0, limit = BUFFER_PACKETS;         // to the NPU
        uint64_t since = 0;
        bool open = false, tell = false, sync = false;
    };
    struct Port {
        std::array<Circuit, CIRCUITS> circuits;
        Packet coming;
        std::deque<Control> control;
        std::deque<Packet> out;
        unsigned index = 0;
        bool begun = false, given = false, shown = false, ready = false;
        Flit in, flit;
    };

    static constexpr size_t OUT_PACKETS = 2;
    std::deque<Flow> flows_;
    std::vector<std::array<Flow*, PHASES + PORTS>> from_, to_;
    std::vector<Port> ports_;
    Random rng_;
    uint64_t now_ = PATIENCE_CYCLES;

    Flow* find(std::vector<std::array<Flow*, PHASES + PORTS>>& table, unsigned k, const Header& h) {
        if (h.phase > PHASES || h.peer >= PORTS) return nullptr;
        return table[k][h.phase < PHASES ? h.phase : PHASES + h.peer];
    }

    void say(unsigned port, unsigned kind, Flow* flow, bool to_source) {
        for (const Control& one : ports_[port].control)
            if (one.kind == kind && one.flow == flow && one.to_source == to_source) return;
        ports_[port].control.push_back({kind, flow, to_source});
    }

    static unsigned limit(const Circuit& c) {
        return (c.expected + BUFFER_PACKETS - c.held) & TICKET_MASK;
    }

    static void give_up(Circuit& c) {
        c.held -= c.open;
        c.tell |= c.open;
        c.open = false;
    }

    void receive(unsigned k, const Flit& flit) {
        Port& port = ports_[k];
        if (HUB_FAULT != NO_CRC && crc_of(flit.header, flit.data) != flit.crc) return;
        Header h;
        Header::unpack(flit.header, h);
        if (h.credit_circuit < CIRCUITS) port.circuits[h.credit_circuit].limit = h.credit_limit;
        if (h.kind == DATA && h.circuit < CIRCUITS) return receive_data(k, h, flit.data);
        if (h.kind == SYNC && h.circuit < CIRCUITS) {
            Circuit& c = port.circuits[h.circuit];
            give_up(c);
            c.expected = h.ticket;
            c.tell = true;
        }
        Flow* flow = find(to_, k, h);
        if (!flow) return;
        if (h.kind == ACK) receive_ack(k, *flow, h.sequence);
        if (h.kind == NACK && ((flow->due - h.sequence) & SEQUENCE_MASK) <= WINDOW_PACKETS) {
            flow->due = h.sequence;
            for (unsigned source : flow->sources) say(source, NACK, flow, true);
        }
    }

    void receive_ack(unsigned k, Flow& flow, unsigned sequence) {
        if (((sequence - flow.acked[k]) & SEQUENCE_MASK) > WINDOW_PACKETS) return;
        flow.acked[k] = sequence;
        unsigned step = SEQUENCE_MASK;
        for (unsigned one : flow.destinations)
            step = std::min(step, (flow.acked[one] - flow.least) & SEQUENCE_MASK);
        if (step == 0) return;
        flow.least = (flow.least + step) & SEQUENCE_MASK;
        for (unsigned source : flow.sources) say(source, ACK, &flow, true);
    }

    void receive_data(unsigned k, const Header& h, uint64_t data) {
        Port& port = ports_[k];
        Circuit& c = port.circuits[h.circuit];
        Packet& packet = port.coming;
        if (((h.ticket - c.expected) & TICKET_MASK) != TICKET_MASK) {
            give_up(c);
            c.expected = (h.ticket + 1) & TICKET_MASK;
            c.open = true;
            ++c.held;
            packet = {find(from_, k, h), h.sequence, h.circuit, h.last, {}};
        }
        if (!c.open || h.index != packet.flits.size() || h.circuit != packet.circuit) return;
        packet.flits.push_back(data);
        if (h.index != h.last) return;
        c.open = false;
        if (packet.flow) c.queue.push_back(std::move(packet));
        else --c.held;
        packet = {};
        packet.circuit = CONTROL;
    }

    void answer(unsigned k, Flow& flow, bool old) {
        if (now_ - flow.nacked[k] >= PATIENCE_CYCLES) {
            flow.nacked[k] = now_;
            if (old) say(k, ACK, &flow, true);
            say(k, NACK, &flow, true);
        }
        if (!old || now_ - flow.asked < PATIENCE_CYCLES) return;
        flow.asked = now_;
        for (unsigned one : flow.destinations)
            if (flow.acked[one] != flow.due) say(one, ASK, &flow, false);
    }

    void pop(Circuit& c) {
        c.queue.pop_front();
        --c.held;
        c.tell = true;
    }

    // Drops packets that are not due, and starts a flow whose packets are all there.
    void serve(unsigned circuit) {
        for (unsigned k = 0; k < PORTS; ++k) {
            Circuit& c = ports_[k].circuits[circuit];
            if (c.queue.empty()) continue;
            Flow& flow = *c.queue.front().flow;
            const unsigned number = c.queue.front().sequence;
            if (number != flow.due && HUB_FAULT != ANY_NUMBER) {
                pop(c);
                const bool old = ((flow.due - number) & SEQUENCE_MASK) <= WINDOW_PACKETS;
                if (HUB_FAULT != NO_ANSWER || !old) answer(k, flow, old);
                continue;
            }
            bool able = true;
            for (unsigned one : flow.sources) {
                const Circuit& other = ports_[one].circuits[circuit];
                able &= !other.queue.empty() && other.queue.front().flow == &flow &&
                        (other.queue.front().sequence == flow.due || HUB_FAULT == ANY_NUMBER);
            }
            for (unsigned one : flow.destinations) able &= ports_[one].out.size() < OUT_PACKETS;
            if (able) fire(flow, circuit);
        }
    }

    void fire(Flow& flow, unsigned circuit) {
        Packet packet = ports_[flow.sources[0]].circuits[circuit].queue.front();
        for (size_t n = 1; n < flow.sources.size(); ++n) {
            const Packet& other = ports_[flow.sources[n]].circuits[circuit].queue.front();
            for (size_t k = 0; k < std::min(packet.flits.size(), other.flits.size()); ++k)
                packet.flits[k] = (packet.flits[k] + other.flits[k]) & DATA_MASK;
        }
        if (HUB_FAULT == WRONG_BIT && rng_.below(500) == 0) packet.flits.back() ^= 1;
        for (unsigned one : flow.sources) pop(ports_[one].circuits[circuit]);
        packet.sequence = flow.due;
        flow.due = (flow.due + 1) & SEQUENCE_MASK;
        for (unsigned one : flow.destinations) ports_[one].out.push_back(packet);
    }

    // Never beyond what is due, as sources do not keep what is acknowledged.
    static unsigned acknowledged(const Flow& flow) {
        return ((flow.due - flow.least) & SEQUENCE_MASK) <= WINDOW_PACKETS ? flow.least : flow.due;
    }

    bool control(Port& port, Header& h) {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            if (!port.circuits[k].sync) continue;
            port.circuits[k].sync = false;
            h.kind = SYNC;
            h.circuit = k;
            h.ticket = port.circuits[k].ticket;
            return true;
        }
        if (port.control.empty()) return false;
        const Control one = port.control.front();
        port.control.pop_front();
        h.kind = one.kind;
        h.phase = one.flow->phase;
        h.peer = one.to_source ? one.flow->peer_in : one.flow->peer_out;
        if (one.kind == ACK)
            h.sequence = (acknowledged(*one.flow) + (HUB_FAULT == EARLY_ACK)) & SEQUENCE_MASK;
        if (one.kind == NACK) h.sequence = one.flow->due;
        return true;
    }

    bool data(Port& port, Header& h, uint64_t& word) {
        if (port.out.empty()) return false;
        const Packet& packet = port.out.front();
        Circuit& c = port.circuits[packet.circuit];
        if (!port.begun) {
            const unsigned room = (c.limit - c.ticket) & TICKET_MASK;
            if ((room < 1 || room > BUFFER_PACKETS) && HUB_FAULT != NO_CREDIT) return false;
            port.begun = true;
            c.since = now_;
        }
        h.kind = DATA;
        h.circuit = packet.circuit;
        h.phase = packet.flow->phase;
        h.peer = packet.flow->peer_out;
        h.sequence = packet.sequence;
        h.index = port.index;
        h.last = packet.flits.size() - 1;
        h.ticket = c.ticket;
        word = packet.flits[port.index];
        if (++port.index == packet.flits.size()) {
            port.index = 0;
            port.begun = false;
            c.ticket = (c.ticket + 1) & TICKET_MASK;
            port.out.pop_front();
        }
        return true;
    }

    void show(Port& port) {
        for (Circuit& c : port.circuits) {
            if (((c.limit - c.ticket) & TICKET_MASK) == BUFFER_PACKETS || port.begun) c.since = now_;
            c.sync |= now_ - c.since >= TIMEOUT_CYCLES;
            if (c.sync) c.since = now_;
        }
        Header h;
        port.flit.data = 0;
        const bool other = control(port, h) || data(port, h, port.flit.data);
        bool told = false;
        for (unsigned k = 0; k < CIRCUITS && !told; ++k) {
            Circuit& c = port.circuits[k];
            if (!c.tell) continue;
            told = true;
            c.tell = false;
            h.credit_circuit = k;
            h.credit_limit = limit(c);
        }
        if (!other && !told) return;
        if (!other) h.kind = CREDIT;
        port.flit.header = h.pack();
        port.flit.crc = crc_of(port.flit.header, port.flit.data);
        port.flit.last = h.kind != DATA || h.index == h.last;
        port.shown = true;
    }

    void add(unsigned phase, unsigned peer_in, unsigned peer_out, std::vector<unsigned> sources,
             std::vector<unsigned> destinations) {
        flows_.push_back({phase, peer_in, peer_out, sources, destinations});
        Flow* flow = &flows_.back();
        for (unsigned k : sources) from_[k][phase < PHASES ? phase : PHASES + peer_in] = flow;
        for (unsigned k : destinations) to_[k][phase < PHASES ? phase : PHASES + peer_out] = flow;
    }

public:
    Hub(const std::vector<Phase>& phases, uint64_t seed)
        : from_(PORTS), to_(PORTS), ports_(PORTS), rng_(seed) {
        for (const Phase& phase : phases)
            for (unsigned number = 1; number <= PORTS; ++number) {
                std::vector<unsigned> sources, destinations;
                for (unsigned k = 0; k < PORTS; ++k) {
                    if (phase.inputs[k] == number) sources.push_back(k);
                    if (phase.outputs[k] == number) destinations.push_back(k);
                }
                if (!sources.empty()) add(phase.number, 0, 0, sources, destinations);
            }
        for (unsigned from = 0; from < PORTS; ++from)
            for (unsigned to = 0; to < PORTS; ++to) add(PHASES, to, from, {from}, {to});
        for (Port& port : ports_) port.coming.circuit = CONTROL;
    }

    void configure(const std::vector<Operation>&) {}
    void settle() {}
    void dump(std::FILE* to) const {
        for (unsigned k = 0; k < PORTS; ++k) {
            for (unsigned n = 0; n < CIRCUITS; ++n) {
                const Circuit& c = ports_[k].circuits[n];
                std::fprintf(to, "hub port %u circuit %u: expects ticket %u, held %u; ticket %u, "
                             "limit %u; queue", k, n, c.expected, c.held, c.ticket, c.limit);
                for (const Packet& one : c.queue)
                    std::fprintf(to, " %u/%u", one.flow->phase, one.sequence);
                std::fprintf(to, "\n");
            }
            std::fprintf(to, "  out");
            for (const Packet& one : ports_[k].out)
                std::fprintf(to, " %u/%u on %u", one.flow->phase, one.sequence, one.circuit);
            std::fprintf(to, "\n");
        }
        for (const Flow& flow : flows_) {
            std::fprintf(to, "hub phase %u, %u: due %u, least %u, acked", flow.phase,
                         flow.sources[0], flow.due, flow.least);
            for (unsigned one : flow.destinations) std::fprintf(to, " %u", flow.acked[one]);
            std::fprintf(to, "\n");
        }
    }
    void give(unsigned k, bool valid, const Flit& flit) {
        ports_[k].given = valid;
        if (valid) ports_[k].in = flit;
    }
    bool taken(unsigned) const { return true; }
    void ready(unsigned k, bool ready) { ports_[k].ready = ready; }
    bool shown(unsigned k, Flit& flit) const {
        if (ports_[k].shown) flit = ports_[k].flit;
        return ports_[k].shown;
    }

    void tick() {
        ++now_;
        for (unsigned k = 0; k < PORTS; ++k) {
            Port& port = ports_[k];
            if (port.given) receive(k, port.in);
            if (port.shown && port.ready) port.shown = false;
        }
        for (unsigned circuit = 0; circuit < CIRCUITS; ++circuit) serve(circuit);
        for (Port& port : ports_)
            if (!port.shown) show(port);
    }
};

using Device = Hub;

}  // namespace
