// An endpoint without the link layer: packets in order, held back by `tready` alone.
#pragma once

#include "reference_endpoint.hpp"

// All ports work through the same list of bursts, so that none waits for one that waits for it.
class LinklessEndpoint {
    unsigned port_;
    const Options& options_;
    Report& report_;
    Random rng_;
    std::vector<std::pair<Burst, unsigned>> program_;
    size_t at_ = 0;
    uint64_t start_at_, sent_ = 0;
    View view_{};
    unsigned index_ = 0;
    bool offering_ = false, inside_ = false;
    Receiving* coming_ = nullptr;  // flow of the packet that is coming in

    static uint64_t user(unsigned phase, unsigned circuit, unsigned peer) {
        return phase | circuit << PHASE_BITS | peer << (PHASE_BITS + CIRCUIT_BITS);
    }

public:
    std::vector<Sending> outgoing;
    std::vector<Receiving> incoming;

    LinklessEndpoint(unsigned port, const Options& options, Report& report)
        : port_(port), options_(options), report_(report), rng_(options.seed * 1000 + port),
          start_at_(rng_.below(options.spread)), outgoing(PHASES + PORTS),
          incoming(PHASES + PORTS) {}

    void add_burst(unsigned circuit, Sending* flow, uint64_t packets) {
        program_.push_back({{flow, packets}, circuit});
    }

    bool done() const {
        if (at_ < program_.size()) return false;
        for (const Receiving& flow : incoming)
            if (flow.expected != flow.total) return false;
        return true;
    }

    // Whether a flit is offered; it stays until `taken`.
    bool send(uint64_t now, Flit& flit) {
        if (!offering_) {
            if (at_ == program_.size() || now < start_at_ || rng_.percent(options_.stall))
                return false;
            offering_ = true;
            Sending& flow = *program_[at_].first.flow;
            if (index_ == 0) view_ = flow.pool->at(flow.next);
        }
        const Sending& flow = *program_[at_].first.flow;
        flit.header = user(flow.phase, program_[at_].second, flow.peer);
        flit.data = view_.flits[index_];
        flit.last = index_ + 1 == view_.length;
        return true;
    }

    void taken(uint64_t now) {
        ++report_.to_switch[DATA];
        offering_ = false;
        report_.progress = now;
        if (++index_ < view_.length) return;
        index_ = 0;
        ++program_[at_].first.flow->next;
        if (++sent_ < program_[at_].first.packets) return;
        sent_ = 0;
        ++at_;
        start_at_ = now + rng_.below(options_.gap);
    }

    void receive(const Flit& flit, uint64_t now) {
        const unsigned phase = flit.header & mask(PHASE_BITS),
                       peer = flit.header >> (PHASE_BITS + CIRCUIT_BITS) & mask(PEER_BITS),
                       place = phase < PHASES ? phase : PHASES + peer;
        if (phase > PHASES || place >= incoming.size() || !incoming[place].used)
            return report_.violation(now, port_, "data of phase %u, peer %u", phase, peer);
        Receiving& flow = incoming[place];
        if (inside_ && coming_ != &flow)
            report_.violation(now, port_, "flit of phase %u inside a packet of phase %u", phase,
                              coming_->phase);
        inside_ = !flit.last;
        coming_ = &flow;
        if (flow.expected >= flow.total)
            return report_.violation(now, port_, "packet %" PRIu64 " of phase %u, which has fewer",
                                     flow.expected, flow.phase);
        const View want = flow.pool->at(flow.expected);
        if (flow.index >= want.length || want.flits[flow.index] != flit.data ||
            flit.last != (flow.index + 1 == want.length)) {
            ++report_.wrong;
            report_.violation(now, port_, "phase %u, peer %u, packet %" PRIu64 ", flit %u: %" PRIx64,
                              phase, peer, flow.expected, flow.index, flit.data);
        }
        ++flow.index;
        ++report_.delivered;
        report_.progress = now;
        if (!flit.last) return;
        flow.index = 0;
        ++flow.expected;
        ++report_.packets;
        if (options_.trace) flow.arrivals.push_back(now);
    }

    void dump(std::FILE* to) const {
        std::fprintf(to, "port %u: burst %zu of %zu, packet %" PRIu64 "%s\n", port_, at_,
                     program_.size(), sent_, offering_ ? ", offering" : "");
        for (const Receiving& f : incoming)
            if (f.used && f.expected != f.total)
                std::fprintf(to, "  wants phase %u peer %u: packet %" PRIu64 " flit %u, of %" PRIu64
                             "\n", f.phase, f.peer, f.expected, f.index, f.total);
    }
};
