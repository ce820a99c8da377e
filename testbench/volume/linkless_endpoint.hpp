// An endpoint without the link layer: packets in order, held back by `tready` alone.
#pragma once

#include "npu.hpp"

// All ports work through the same list of bursts, so that none waits for one that waits for it.
class LinklessEndpoint final : public Npu {
    struct Burst {
        Outgoing* flow;
        unsigned circuit;
        uint64_t packets;
    };
    std::vector<Burst> program_;
    size_t at_ = 0;
    uint64_t start_at_, sent_ = 0;
    View view_{};
    unsigned index_ = 0;
    bool offering_ = false, inside_ = false;
    Incoming* coming_ = nullptr;  // flow of the packet that is coming in

public:
    LinklessEndpoint(unsigned port, const Options& options, Report& report)
        : Npu(port, options, report), start_at_(rng_.below(options.spread)) {}

    void add_burst(unsigned circuit, Outgoing* flow, uint64_t packets) {
        program_.push_back({flow, circuit, packets});
    }

    bool done() const { return at_ == program_.size() && all_here(); }

    // Whether a flit is offered; it stays until `taken`.
    bool send(uint64_t now, Flit& flit) {
        if (!offering_ && (at_ == program_.size() || now < start_at_ ||
                           rng_.percent(options_.stall)))
            return false;
        offering_ = true;
        const auto& [flow, circuit, packets] = program_[at_];
        if (index_ == 0) view_ = flow->pool->at(flow->next);
        flit.header = flow->phase | circuit << PHASE_BITS |
                      flow->peer << (PHASE_BITS + CIRCUIT_BITS);
        flit.data = view_.flits[index_];
        flit.last = index_ + 1 == view_.length;
        return true;
    }

    void taken(uint64_t now) {
        ++report_.to_switch.sent[DATA];
        offering_ = false;
        report_.progress = now;
        if (++index_ < view_.length) return;
        index_ = 0;
        ++program_[at_].flow->next;
        if (++sent_ < program_[at_].packets) return;
        sent_ = 0;
        ++at_;
        start_at_ = now + rng_.below(options_.gap);
    }

    void receive(const Flit& flit, uint64_t now) {
        const unsigned phase = flit.header & mask(PHASE_BITS),
                       peer = flit.header >> (PHASE_BITS + CIRCUIT_BITS) & mask(PEER_BITS);
        Incoming* flow = incoming_of(phase, peer);
        if (!flow) return report_.violation(now, port_, "data of phase %u, peer %u", phase, peer);
        if (inside_ && coming_ != flow)
            report_.violation(now, port_, "flit of phase %u inside a packet of phase %u", phase,
                              coming_->phase);
        inside_ = !flit.last;
        coming_ = flow;
        report_.progress = now;
        // Where its packet ends is not known before it does.
        const unsigned least = std::max(flow->index + 1, flow->pool->at(flow->expected).length - 1);
        compare(*flow, flit.data, flit.last ? flow->index : least, now);
        ++flow->index;
        if (!flit.last) return;
        flow->index = 0;
        ++flow->expected;
    }

    void dump(std::FILE* to) const {
        std::fprintf(to, "port %u: burst %zu of %zu, packet %" PRIu64 "%s\n", port_, at_,
                     program_.size(), sent_, offering_ ? ", offering" : "");
        dump_missing(to);
    }
};
