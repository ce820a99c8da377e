// The endpoint of docs/reference/protocol.md: the state of one port, for the benches in C++ and in Python.
//
// What it sends, what becomes of what comes, and when it pauses is said by those who derive from it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "flows.hpp"

class Endpoint {
protected:
    struct Burst {
        Sending* flow;
        uint64_t first, end;
    };
    struct Circuit {
        std::vector<Burst> bursts;
        size_t at = 0;
        uint64_t start_at = 0, since = 0;
        // Places of flits; `held` flits have space here, `left` of them are to come of a packet.
        unsigned link_sequence = 0, limit;                                    // to the other end
        unsigned expected = 0, held = 0, left = 0, waiting = 0, reported;     // from it
        bool due = false;  // whether to report the limit
    };
    const Sizes& sizes_;
    Counts& counts_;
    const unsigned address_, link_sequences_ = mask(LINK_SEQUENCE_BITS), sequences_ = mask(SEQUENCE_BITS);
    std::array<Circuit, CIRCUITS> circuits_;
    uint64_t now_ = 0;
    std::array<unsigned, 4> crowding_{};  // latest report of the router
    // Handshakes, unless the link is up from the start.
    bool greets_ = false, handshake_due_ = true, peer_known_ = false, agreed_ = false;
    unsigned session_id_ = 0, peer_session_id_ = 0;
    uint64_t handshake_at_ = 0;

    // The flow that a header is of, which may be made now, or nullptr if there is none.
    virtual Sending* sending(const Header& h) = 0;
    virtual Receiving* receiving(const Header& h) = 0;
    // Begins packet `next` of a flow and returns how many flits it has.
    virtual unsigned begin(unsigned circuit, const Sending& flow) = 0;
    // A flit of the packet that was begun last.
    virtual uint64_t payload(unsigned index) = 0;
    // Takes the next flit of a flow, `flow.index` of its packet; with 0 the packet begins anew.
    virtual void take(Receiving& flow, const Header& h, uint64_t data) = 0;
    // How many of the flits that are here give up their space now.
    virtual unsigned consume(unsigned circuit) = 0;
    // If sources choose routes: whether a flow without packets in flight takes the alternate route,
    // and whether it leaves its present route.
    virtual bool alternates(const Sending&) { return false; }
    virtual bool leaves(const Sending&) { return false; }
    // Cycles between two bursts.
    virtual uint64_t gap() { return 0; }
    // Whether no flit of a packet goes in this cycle.
    virtual bool pauses() { return false; }

    // The phase that a header is of, or that of unicasts, which have a source.
    unsigned phase_of(const Header& h) const { return h.unicast ? sizes_.phases : h.phase; }
    bool is_mine(const Header& h) const { return !h.unicast || h.destination == address_; }

    unsigned limit(const Circuit& c) const {
        return (c.expected + sizes_.buffer_flits - c.held) & link_sequences_;
    }

    // The bursts that are served round-robin.
    std::span<const Burst> under_way(const Circuit& c) const {
        if (now_ < c.start_at) return {};
        return std::span(c.bursts).subspan(c.at, std::min(together, c.bursts.size() - c.at));
    }

    void give_space(Circuit& c, unsigned flits) {
        c.waiting -= flits;
        c.held -= flits;
    }

private:
    Header packet_;        // the next flit of the packet that is going out
    unsigned length_ = 0;  // of it; `packet_.index` reaches it when all is out
    std::deque<std::pair<Kind, Receiving*>> answers_;
    std::vector<unsigned> syncs_;
    std::vector<Receiving*> flowing_;  // those that packets come of
    uint64_t last_data_ = 0;           // of any flow

    // ---- receiving ----

    // The flow that a header is of, unless it is of another generation or not to this end.
    template <class One>
    One* current(One* flow, const Header& h) const {
        return flow && flow->generation == h.generation && is_mine(h) ? flow : nullptr;
    }

    void give_up(Circuit& c) {
        c.held -= c.left;
        c.left = 0;
    }

    // What a flit tells of space; flits before it that did not come have none.
    void take_space(Circuit& c, const Header& h) {
        const unsigned after = (h.link_sequence + h.last + 1) & link_sequences_, left = h.last - h.index;
        if (after != c.expected) {
            give_up(c);
            c.expected = after;
            c.held += c.left = left + 1;
        }
        if (left >= c.left) return;  // it has come twice
        c.held -= c.left - left - 1;
        c.left = left;
        ++c.waiting;
    }

    // Whether nothing has come of a flow for so long.
    bool silent(const Receiving& flow, uint64_t cycles) const {
        return now_ - flow.last_data >= cycles;
    }

    // Whether an ack need not wait for more packets. If flows are sent round-robin, the next packet
    // of a flow comes a round later; the wait is at most half of `ack_cycles`.
    bool is_over(const Receiving& flow) const {
        const uint64_t round = uint64_t(sizes_.quiet_cycles) * flowing_.size();
        return now_ - last_data_ >= sizes_.quiet_cycles ||
               silent(flow, std::min<uint64_t>(round, sizes_.ack_cycles / 2));
    }

    void say(Kind kind, Receiving& flow) {
        if (!flow.due[kind]) answers_.emplace_back(kind, &flow);
        flow.due[kind] = true;
    }

    void receive_data(const Header& h, uint64_t data) {
        if (h.circuit >= CIRCUITS) return;
        Circuit& c = circuits_[h.circuit];
        const unsigned link_sequences_ahead = (h.link_sequence - c.expected) & link_sequences_;
        if (h.index == 0 && link_sequences_ahead >= sizes_.buffer_flits) return;  // it has come twice
        take_space(c, h);
        last_data_ = now_;
        Receiving* flow = current(receiving(h), h);
        if (!flow) return;
        flow->last_data = now_;
        const unsigned ahead = (h.sequence - flow->expected) & sequences_, behind = -ahead & sequences_;
        if (ahead == 0 && (h.index == 0 || h.index == flow->index)) {
            accept(*flow, h, data);
        } else if (ahead == 0 ? h.index > flow->index : behind > sizes_.window_packets) {
            if (flow->refused && now_ - flow->refused_at < sizes_.packet_timeout_cycles) return;
            flow->refused = true;
            flow->refused_at = now_;
            say(NACK, *flow);
        } else if (ahead && h.index == h.last) {
            ++flow->repeated;  // its ack may be lost
            note_packet(*flow);
        }
    }

    void accept(Receiving& flow, const Header& h, uint64_t data) {
        flow.index = h.index;
        flow.refused = false;
        take(flow, h, data);
        ++flow.index;
        if (h.index != h.last) return;
        flow.index = 0;
        ++flow.expected;
        note_packet(flow);
    }

    void note_packet(Receiving& flow) {
        if (flow.owed() == 1) flow.owes_since = now_;
        if (flow.owed() >= sizes_.ack_interval) say(ACK, flow);
        if (!flow.flows) flowing_.push_back(&flow);
        flow.flows = true;
    }

    void receive_answer(Sending& flow, const Header& h) {
        const unsigned ahead = (h.sequence - flow.base) & sequences_;
        if (ahead > flow.begun - flow.base) return;
        if (h.kind == NACK) {
            flow.next = flow.base + ahead;
        } else if (ahead) {
            flow.base += ahead;
            flow.settle();
            flow.next = std::max(flow.next, flow.base);
            flow.since = now_;
        }
    }

    // ---- handshakes ----

    void receive_handshake(const Header& h) {
        if (h.digest != sizes_.digest) {
            ++refused;
            peer_known_ = agreed_ = false;
            return;
        }
        if (!peer_known_ || h.session_id != peer_session_id_) begin_anew(h.session_id);
        agreed_ = h.peer_known && h.peer_session_id == session_id_;
        handshake_due_ |= !h.up;
    }

    // Link sequence numbers start at 0, and there is no space until the other end tells of some.
    void begin_anew(unsigned peer_session_id) {
        peer_session_id_ = peer_session_id;
        peer_known_ = handshake_due_ = true;
        packet_.index = length_ = 0;
        for (const auto& [kind, flow] : answers_) flow->due[kind] = false;
        answers_.clear();
        syncs_.clear();
        for (Circuit& c : circuits_) {
            give_up(c);
            c.link_sequence = c.limit = c.expected = 0;
            c.due = true;
            c.since = now_;
        }
    }

    bool send_handshake(Header& h) {
        if (!up() && now_ - handshake_at_ >= sizes_.timeout_cycles) handshake_due_ = true;
        if (!greets_ || !handshake_due_) return false;
        handshake_due_ = false;
        handshake_at_ = now_;
        h.kind = HANDSHAKE;
        h.session_id = session_id_;
        h.peer_session_id = peer_session_id_;
        h.peer_known = peer_known_;
        h.up = up();
        h.digest = sizes_.digest;
        return true;
    }

    // ---- time ----

    void watch_bursts(Circuit& c) {
        while (c.at < c.bursts.size() && c.bursts[c.at].flow->base >= c.bursts[c.at].end) {
            ++c.at;
            c.start_at = now_ + gap();
        }
        for (const Burst& one : under_way(c)) {
            Sending& flow = *one.flow;
            if (flow.base == flow.begun) flow.since = now_;
            else if (sizes_.chooses && !flow.doubtful) flow.holds |= leaves(flow);
            if (now_ - flow.since < sizes_.timeout_cycles) continue;
            flow.next = flow.base;
            flow.since = now_;
            ++counts_.timeouts;
        }
    }

    void watch_credits(Circuit& c, unsigned number) {
        const bool all = ((c.limit - c.link_sequence) & link_sequences_) == sizes_.buffer_flits;
        if (all || (sends() && packet_.circuit == number)) {
            c.since = now_;
        } else if (now_ - c.since >= sizes_.timeout_cycles && !able(c)) {
            c.since = now_;
            syncs_.push_back(number);
        }
    }

    void watch_acks() {
        for (size_t k = 0; k < flowing_.size();) {
            Receiving& flow = *flowing_[k];
            const bool ends = is_over(flow), late = now_ - flow.owes_since >= sizes_.ack_cycles;
            if (flow.owed() && (ends || late)) say(ACK, flow);
            if (!ends) {
                ++k;
                continue;
            }
            flow.flows = false;
            flowing_[k] = flowing_.back();
            flowing_.pop_back();
        }
    }

    // ---- sending ----

    // Says in a header which flow it is of.
    template <class One>
    void name(Header& h, const One& flow) const {
        if (flow.phase == sizes_.phases) {
            h.unicast = 1;
            h.destination = flow.peer;
            h.source = address_;
        } else {
            h.phase = flow.phase;
            h.generation = flow.generation;
        }
    }

    bool sends() const { return packet_.index < length_; }

    // The first burst under way that has a packet that may go.
    const Burst* able(const Circuit& c) const {
        const unsigned space = (c.limit - c.link_sequence) & link_sequences_;
        if (space < sizes_.packet_flits || space > sizes_.buffer_flits) return nullptr;
        for (const Burst& one : under_way(c)) {
            const Sending& flow = *one.flow;
            if (flow.next >= one.first &&
                flow.next < std::min(one.end, flow.base + sizes_.window_packets) &&
                (flow.next < flow.begun || !flow.holds || flow.base == flow.begun) &&
                (flow.next < flow.begun || now_ >= c.start_at + (flow.next - one.first) * interval))
                return &one;
        }
        return nullptr;
    }

    void choose(Sending& flow) {
        flow.alternate = flow.holds ? !flow.alternate : alternates(flow);
        flow.holds = false;
    }

    // Begins a packet of the most urgent circuit that may send.
    bool begin_packet() {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            Circuit& c = circuits_[k];
            const Burst* burst = able(c);
            if (!burst) continue;
            Sending& flow = *burst->flow;
            length_ = begin(k, flow);
            packet_ = Header{};
            if (flow.next < flow.begun) flow.again();
            else if (sizes_.chooses && !flow.in_flight()) choose(flow);
            packet_.kind = DATA;
            packet_.alternate = flow.alternate;
            packet_.circuit = k;
            name(packet_, flow);
            packet_.sequence = flow.next & sequences_;
            packet_.last = length_ - 1;
            packet_.link_sequence = c.link_sequence;
            c.link_sequence = (c.link_sequence + length_) & link_sequences_;
            counts_.resent += flow.next < flow.begun;
            flow.begun = std::max(flow.begun, ++flow.next);
            return true;
        }
        return false;
    }

    bool control(Header& h) {
        if (!syncs_.empty()) {
            h.kind = SYNC;
            h.circuit = syncs_.back();
            h.link_sequence = circuits_[h.circuit].link_sequence;
            syncs_.pop_back();
            return true;
        }
        if (answers_.empty()) return false;
        const auto [kind, flow] = answers_.front();
        answers_.pop_front();
        flow->due[kind] = false;
        h.kind = kind;
        name(h, *flow);
        h.sequence = flow->expected & sequences_;
        if (kind == ACK) {
            flow->reported = flow->expected;
            flow->repeated = 0;
        }
        return true;
    }

    bool add_limit(Header& h) {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            Circuit& c = circuits_[k];
            if (!c.due && limit(c) == c.reported) continue;
            c.due = false;
            h.credit_circuit = k;
            h.credit_limit = c.reported = limit(c);
            return true;
        }
        return false;
    }

public:
    // At least so many cycles between two packets of a burst when they are sent first.
    uint64_t interval = 0;
    // Bursts of a circuit that go on side by side; one begins when so many before it have not ended.
    size_t together = 1;
    // Handshakes of ends that do not fit.
    uint64_t refused = 0;

    // Says handshake, in an session_id that is another one after each reset, before all else.
    void greet(unsigned session_id) {
        greets_ = true;
        session_id_ = session_id;
        for (Circuit& c : circuits_) c.limit = c.reported = 0;
    }
    bool up() const { return !greets_ || (peer_known_ && agreed_); }

    Endpoint(const Sizes& sizes, Counts& counts, unsigned address)
        : sizes_(sizes), counts_(counts), address_(address) {
        for (Circuit& c : circuits_) c.limit = c.reported = sizes.buffer_flits;
    }
    virtual ~Endpoint() = default;
    // Flows are known by their places.
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    // Sends so many more packets of a flow, behind all others of the circuit.
    void send(unsigned circuit, Sending& flow, uint64_t packets) {
        Circuit& c = circuits_[circuit];
        if (c.at == c.bursts.size()) c.start_at = std::max(c.start_at, now_);
        c.bursts.push_back({&flow, flow.total, flow.total + packets});
        flow.total += packets;
    }

    // Sends and says nothing more of a flow, so that it may go.
    void forget(const Sending& sent, const Receiving& received) {
        for (Circuit& c : circuits_) {
            const auto left = std::span(c.bursts).subspan(c.at);
            const auto gone = std::ranges::remove(left, &sent, &Burst::flow);
            c.bursts.resize(c.bursts.size() - gone.size());
        }
        std::erase_if(answers_, [&](const auto& one) { return one.second == &received; });
        std::erase(flowing_, &received);
    }

    // Whether all packets are acknowledged.
    bool all_sent() const {
        return std::ranges::all_of(circuits_, [](auto& c) { return c.at == c.bursts.size(); });
    }

    // Gives up the space of all flits that have come.
    void free() {
        for (Circuit& c : circuits_) give_space(c, c.waiting);
    }

    // ---- a cycle: what comes, if anything; time; what goes, if it may ----

    void receive(uint64_t now, const Header& h, uint64_t data) {
        now_ = now;
        if (h.kind == HANDSHAKE && greets_) return receive_handshake(h);
        if (!up()) return;
        if (h.credit_circuit < CIRCUITS) {
            Circuit& c = circuits_[h.credit_circuit];
            if (c.limit != h.credit_limit) c.since = now;
            c.limit = h.credit_limit;
        }
        if (h.kind == ACK || h.kind == NACK || h.kind == CREDIT) crowding_ = crowding_of(h);
        if (h.kind == DATA) {
            receive_data(h, data);
        } else if (h.kind == ACK || h.kind == NACK) {
            if (Sending* flow = current(sending(h), h)) receive_answer(*flow, h);
        } else if (h.kind == SYNC && h.circuit < CIRCUITS) {
            Circuit& c = circuits_[h.circuit];
            give_up(c);
            c.expected = h.link_sequence;
            c.due = true;
        } else if (h.kind == ASK) {
            Receiving* flow = current(receiving(h), h);
            if (!flow) return;
            say(ACK, *flow);
            if (silent(*flow, sizes_.nack_timeout_cycles)) say(NACK, *flow);
        }
    }

    void pass(uint64_t now) {
        now_ = now;
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            Circuit& c = circuits_[k];
            watch_bursts(c);
            watch_credits(c, k);
            if (c.waiting) give_space(c, consume(k));
        }
        watch_acks();
    }

    // Whether there is a flit to send.
    bool next(Header& h, uint64_t& data) {
        h = Header{};
        data = 0;
        if (send_handshake(h)) {
        } else if (!up()) {
            return false;
        } else if (control(h)) {
            add_limit(h);
        } else if (!pauses() && (sends() || begin_packet())) {
            h = packet_;
            data = payload(packet_.index++);
            add_limit(h);
        } else if (add_limit(h)) {
            h.kind = CREDIT;
        } else {
            return false;
        }
        ++counts_.sent[h.kind];
        return true;
    }
};
