// The endpoint of docs/reference/protocol.md in a harness: it pauses at random, and sees that rules are kept.
#pragma once

#include "npu.hpp"

class CheckingEndpoint final : private Endpoint {
    const unsigned port_;
    const Options& options_;
    Tally& tally_;
    Random rng_;
    View going_{};
    unsigned recent_ = 0;  // circuit of the packet that was begun last
    std::array<uint64_t, CIRCUITS> busy_until_{};
    std::array<unsigned, CIRCUITS> released_{};  // flits that may be taken, of a slow port

    template <class One>
    static One* find(std::vector<One>& flows, unsigned phase, unsigned peer) {
        const unsigned place = phase < PHASES ? phase : PHASES + address_of(peer);
        if (phase > PHASES || place >= flows.size() || !flows[place].pool) return nullptr;
        return &flows[place];
    }

    // Compares the next flit of a flow, in a packet whose last flit is number `last`.
    void compare(Incoming& flow, uint64_t data, unsigned last, uint64_t now) {
        if (options_.any(flow.phase)) return;
        if (flow.expected >= flow.total)
            return tally_.violation(now, port_, "packet %" PRIu64 " of phase %u, which has fewer",
                                    flow.expected, flow.phase);
        const View want = flow.pool->at(flow.expected);
        const unsigned k = flow.index;
        if (last + 1 != want.length || k >= want.length || want.flits[k] != data) {
            ++tally_.wrong;
            tally_.violation(now, port_,
                             "phase %u, peer %u, packet %" PRIu64 ", flit %u of %u: %" PRIx64
                             ", want %" PRIx64 " of %u", flow.phase, flow.peer, flow.expected, k,
                             last + 1, data, k < want.length ? want.flits[k] : 0, want.length);
        }
        if (k != last) return;
        ++tally_.packets;
        tally_.delivered += want.length;
        tally_.progress = now;
        if (options_.trace) flow.arrivals.push_back(now);
    }

    bool all_here() const {
        return std::all_of(incoming.begin(), incoming.end(),
                           [this](const Incoming& flow) {
                               return flow.expected == flow.total || options_.any(flow.phase);
                           });
    }

    void dump_missing(std::FILE* to) const {
        for (const Incoming& f : incoming)
            if (f.expected != f.total)
                std::fprintf(to, "  wants phase %u peer %u: packet %" PRIu64 " (%u) flit %u, of "
                             "%" PRIu64 ", acknowledged %" PRIu64 "%s\n", f.phase, f.peer,
                             f.expected, static_cast<unsigned>(f.expected & SEQUENCE_MASK),
                             f.index, f.total, f.reported, f.refused ? ", refused" : "");
    }

    Outgoing* sending(const Header& h) override { return find(outgoing, phase_of(h), h.source); }
    Incoming* receiving(const Header& h) override { return find(incoming, phase_of(h), h.source); }

    unsigned begin(unsigned circuit, const Sending& flow) override {
        const Circuit& before = circuits_[recent_];
        const auto left = under_way(before);
        tally_.preemptions += circuit < recent_ && !left.empty() &&
                              left[0].flow->next < left[0].end;
        recent_ = circuit;
        going_ = static_cast<const Outgoing&>(flow).pool->at(flow.next);
        return going_.length;
    }
    uint64_t payload(unsigned index) override { return going_.flits[index]; }

    void take(Receiving& flow, const Header& h, uint64_t data) override {
        compare(static_cast<Incoming&>(flow), data, h.last, now_);
    }

    // With pauses the space is used up now and then.
    unsigned consume(unsigned circuit) override {
        uint64_t& until = busy_until_[circuit];
        if (options_.stall && now_ >= until && rng_.below(200) == 0)
            until = now_ + rng_.below(4 * BUFFER_FLITS);
        if (now_ < until || options_.stops(port_, now_)) return 0;
        if (options_.slow(port_)) {
            if (now_ % options_.slow_cycles == 0) released_[circuit] = PACKET_FLITS;
            const unsigned some = std::min(circuits_[circuit].waiting, released_[circuit]);
            released_[circuit] -= some;
            return some;
        }
        unsigned flits = 0;
        while (flits < circuits_[circuit].waiting && !rng_.percent(options_.stall)) ++flits;
        return flits;
    }
    uint64_t gap() override { return rng_.below(options_.gap); }
    bool pauses() override { return rng_.percent(options_.stall); }

    // ---- rules, before a flit changes anything ----

    void check_credit(const Header& h) {
        if (h.credit_circuit >= CIRCUITS) return;
        const unsigned link_sequence = circuits_[h.credit_circuit].link_sequence;
        if (((h.credit_limit - link_sequence) & LINK_SEQUENCE_MASK) > BUFFER_FLITS)
            tally_.violation(now_, port_, "limit %u of virtual channel %u, but the next link sequence number is %u",
                             h.credit_limit, h.credit_circuit, link_sequence);
    }

    void check_data(const Header& h) {
        if (h.circuit >= CIRCUITS)
            return tally_.violation(now_, port_, "data of virtual channel %u", h.circuit);
        const Circuit& c = circuits_[h.circuit];
        // The link sequence number before is that of a packet that has begun.
        if (((h.link_sequence + h.last + 1 - c.expected) & LINK_SEQUENCE_MASK) == 0) return;
        const unsigned space = (limit(c) - h.link_sequence) & LINK_SEQUENCE_MASK;
        if (space <= h.last || space > BUFFER_FLITS)
            tally_.violation(now_, port_, "link sequence number %u of virtual channel %u, but the limit is %u",
                             h.link_sequence, h.circuit, limit(c));
    }

    void check_answer(const Header& h, const Outgoing& flow) {
        const unsigned ahead = (h.sequence - flow.base) & SEQUENCE_MASK,
                       behind = -ahead & SEQUENCE_MASK;
        if (ahead > flow.begun - flow.base && behind > WINDOW_PACKETS)
            tally_.violation(now_, port_, "%s %u of phase %u, but %" PRIu64 " to %" PRIu64
                             " are out", KIND_NAMES[h.kind], h.sequence, h.phase, flow.base,
                             flow.begun);
    }

    // Whether a flit is of a phase as it was before it was written anew.
    bool stale(const Header& h) const {
        return !h.unicast && h.phase < PHASES && incoming[h.phase].generation != h.generation;
    }

    void check(const Header& h) {
        check_credit(h);
        const Outgoing* sent = sending(h);
        const bool answer = h.kind == ACK || h.kind == NACK, data = h.kind == DATA;
        if (data) check_data(h);
        if (stale(h) || options_.any(phase_of(h))) return;
        if ((data || h.kind == ASK) && !receiving(h))
            tally_.violation(now_, port_, "%s of phase %u, peer %u, which does not come here",
                             KIND_NAMES[h.kind], phase_of(h), h.source);
        if (answer && !sent)
            tally_.violation(now_, port_, "%s for phase %u, peer %u, which this port does not "
                             "send", KIND_NAMES[h.kind], phase_of(h), h.source);
        if (!is_mine(h))
            tally_.violation(now_, port_, "%s to address %u, which is not here",
                             KIND_NAMES[h.kind], h.destination);
        if (answer && sent) check_answer(h, *sent);
    }

    // Nothing is acknowledged that a destination still waits for.
    void check_acked(const Outgoing& flow) {
        if (options_.any(flow.phase)) return;
        tally_.progress = now_;
        for (const Incoming* one : flow.destinations)
            if (one->expected < flow.base)
                tally_.violation(now_, port_, "ack %" PRIu64 " of phase %u, but a destination "
                                 "waits for %" PRIu64, flow.base, flow.phase, one->expected);
    }

public:
    // By phase, then by destination or source of unicasts; those of a flow have a pool.
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;

    CheckingEndpoint(unsigned port, unsigned npus, const Options& options, Tally& tally)
        : Endpoint(SIZES, tally.to_switch, address_of(port)), port_(port), options_(options),
          tally_(tally), rng_(options.seed * 1000 + port), outgoing(PHASES + npus),
          incoming(PHASES + npus) {
        interval = options.interval;
        greet(port + 1);
        // Links are up then, and limits known: handshakes cross three times, limits once.
        const uint64_t ready = 4 * options.delay + 64;
        for (Circuit& c : circuits_) c.start_at = ready + rng_.below(options.spread);
    }

    void add_burst(unsigned circuit, Outgoing& flow, uint64_t packets) {
        Endpoint::send(circuit, flow, packets);
    }

    // Begins with a phase as it is written now.
    void install(const Phase& phase) {
        Outgoing& out = outgoing[phase.number];
        Incoming& in = incoming[phase.number];
        forget(out, in);
        out = Outgoing{};
        in = Incoming{};
        out.phase = in.phase = phase.number;
        out.generation = in.generation = phase.generation;
        out.pool = phase.sent[port_];
        in.pool = phase.wanted[port_];
    }

    bool done() const {
        const auto over = [this](const Burst& one) { return options_.any(one.flow->phase); };
        const auto sent = [&](const Circuit& c) {
            return std::all_of(c.bursts.begin() + c.at, c.bursts.end(), over);
        };
        return std::all_of(circuits_.begin(), circuits_.end(), sent) && all_here();
    }

    void receive(const Flit& flit, uint64_t now) {
        Header h;
        unpack(flit.header, h);
        now_ = now;
        if (up() && h.kind != HANDSHAKE) check(h);
        const Outgoing* flow = h.kind == ACK ? sending(h) : nullptr;
        const uint64_t base = flow ? flow->base : 0;
        Endpoint::receive(now, h, flit.data);
        if (flow && flow->base != base) check_acked(*flow);
    }

    // Whether there is a flit to send in this cycle; it is sent then.
    bool send(uint64_t now, Flit& flit) {
        Header h;
        pass(now);
        if (!next(h, flit.data)) return false;
        flit = flit_of(h, flit.data);
        return true;
    }

    void dump(std::FILE* to) const {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            const Circuit& c = circuits_[k];
            std::fprintf(to, "port %u, virtual channel %u: burst %zu of %zu, link sequence number "
                         "%u, limit %u; receives link sequence number %u, held %u%s\n", port_, k, c.at,
                         c.bursts.size(), c.link_sequence, c.limit, c.expected, c.held, c.left ? ", open" : "");
            if (c.at == c.bursts.size()) continue;
            const Sending& f = *c.bursts[c.at].flow;
            std::fprintf(to, "  sends phase %u peer %u: base %" PRIu64 " (%u), next %" PRIu64
                         " (%u), begun %" PRIu64 " of %" PRIu64 "\n", f.phase, f.peer, f.base,
                         static_cast<unsigned>(f.base & SEQUENCE_MASK), f.next,
                         static_cast<unsigned>(f.next & SEQUENCE_MASK), f.begun,
                         c.bursts[c.at].end);
        }
        dump_missing(to);
    }
};
