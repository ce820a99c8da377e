// The endpoint for testbench/models/endpoint.py, which keeps payload; here packets are numbers.

#include "endpoint.hpp"

#include <map>

namespace {

// What Python and C++ share, with the same members as _Port of endpoint.py.
struct Port {
    Sizes sizes;
    Counts counts;
    uint64_t interval, packet;
    Header came, goes;
    unsigned comes, may_send, keeps_space, mine, taken, sends, address, greets, session_id, up, refused;
};

class NumberedEndpoint final : public Endpoint {
    struct Numbered : Sending {
        std::vector<unsigned> lengths;
        Receiving received;
    };
    Port& port_;
    uint64_t cycle_ = 1;  // the next one
    std::map<std::pair<unsigned, unsigned>, Numbered> flows_;  // by phase and peer
    std::map<unsigned, unsigned> generations_;             // by phase

    Numbered& flow(unsigned phase, unsigned peer) {
        Numbered& found = flows_[{phase, peer}];
        found.phase = found.received.phase = phase;
        found.peer = found.received.peer = peer;
        found.generation = found.received.generation = generations_[phase];
        return found;
    }
    Sending* sending(const Header& h) override { return &flow(phase_of(h), h.source); }
    Receiving* receiving(const Header& h) override { return &flow(phase_of(h), h.source).received; }
    unsigned begin(unsigned, const Sending& flow) override {
        port_.packet = flow.next;
        return static_cast<const Numbered&>(flow).lengths[flow.next];
    }
    uint64_t payload(unsigned) override { return 0; }
    // As often as a source may, and in the midst of packets: the worst for their order.
    bool alternates(const Sending& flow) override { return !flow.alternate; }
    bool leaves(const Sending& flow) override { return flow.begun % 3 == 0; }
    void take(Receiving&, const Header&, uint64_t) override { port_.taken = true; }
    unsigned consume(unsigned circuit) override {
        return port_.keeps_space ? 0 : circuits_[circuit].waiting;
    }

public:
    explicit NumberedEndpoint(Port& port) : Endpoint(port.sizes, port.counts, port.address), port_(port) {
        if (port.greets) greet(port.session_id);
    }

    void send_packets(unsigned phase, unsigned peer, unsigned circuit, const unsigned* lengths,
                      unsigned packets) {
        Numbered& to = flow(phase, peer);
        to.lengths.insert(to.lengths.end(), lengths, lengths + packets);
        now_ = cycle_;
        send(circuit, to, packets);
    }

    void forget_phase(unsigned phase, unsigned generation) {
        generations_[phase] = generation;
        std::erase_if(flows_, [&](const auto& one) {
            if (one.first.first != phase) return false;
            forget(one.second, one.second.received);
            return true;
        });
    }

    void step() {
        interval = port_.interval;
        port_.taken = false;
        port_.mine = is_mine(port_.came);
        if (port_.comes) receive(cycle_, port_.came, 0);
        pass(cycle_++);
        uint64_t none;
        port_.sends = port_.may_send && next(port_.goes, none);
        port_.up = up();
        port_.refused = refused;
    }
};

}  // namespace

extern "C" {
NumberedEndpoint* endpoint_new(Port* port) { return new NumberedEndpoint(*port); }
void endpoint_delete(NumberedEndpoint* end) { delete end; }
void endpoint_send(NumberedEndpoint* end, unsigned phase, unsigned peer, unsigned circuit,
                   const unsigned* lengths, unsigned packets) {
    end->send_packets(phase, peer, circuit, lengths, packets);
}
void endpoint_forget(NumberedEndpoint* end, unsigned phase, unsigned generation) {
    end->forget_phase(phase, generation);
}
void endpoint_free(NumberedEndpoint* end) { end->free(); }
bool endpoint_done(const NumberedEndpoint* end) { return end->all_sent(); }
void endpoint_step(NumberedEndpoint* end) { end->step(); }
}
