// The endpoint as docs/protocol.md has it, written from the page alone: all flows of a port.
//
// It stands beside testbench/models/endpoint.py, which does one flow after the other at a thousandth
// of the speed and is what benches in Python can stop, question and lead astray.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <deque>
#include <string>

#include "flit.hpp"

struct Options {
    uint64_t seed = 1, delay = 20, idle_limit = 500000;
    double faults = 0;
    unsigned stall = 0, spread = 0, gap = 0, interval = 0, stop_port = 0;
    uint64_t stop_at = 0, stop_cycles = 0;
    bool trace = false;

    bool stops(unsigned port, uint64_t now) const {
        return port == stop_port && now >= stop_at && now - stop_at < stop_cycles;
    }
};

struct View {
    const uint64_t* flits;
    unsigned length;
};

// Packets to send or to expect, one after the other, then from the first again.
class Pool {
    std::vector<uint64_t> flits_;
    std::vector<size_t> ends_{0};

public:
    void add(const std::vector<uint64_t>& packet) {
        flits_.insert(flits_.end(), packet.begin(), packet.end());
        ends_.push_back(flits_.size());
    }
    View at(uint64_t number) const {
        const size_t k = number % (ends_.size() - 1);
        return {&flits_[ends_[k]], static_cast<unsigned>(ends_[k + 1] - ends_[k])};
    }
    bool empty() const { return ends_.size() == 1; }
};

// What a port has received of a flow.
struct Receiving {
    bool used = false;
    unsigned phase = 0, peer = 0;
    Pool* pool = nullptr;
    uint64_t expected = 0, told = 0, total = 0, last_data = 0, refused_at = 0;
    unsigned index = 0;
    bool refused = false, due_ack = false, due_nack = false, queued = false, waiting = false;
    std::vector<uint64_t> ends, arrivals;  // of bursts, in packets; of packets, in cycles
};

// What a port sends of a flow; `high` packets have been begun, those before `base` are acknowledged.
struct Sending {
    unsigned phase = 0, peer = 0;
    Pool* pool = nullptr;
    uint64_t base = 0, next = 0, high = 0, first = 0, end = 0, begun = 0, last_new = 0;
    std::vector<Receiving*> destinations;
};

// Flow of each input and output port, numbered from 1; 0 for none.
struct Phase {
    unsigned number = 0, circuit = 0;
    std::array<unsigned, PORTS> inputs{}, outputs{};
};

struct Burst {
    Sending* flow;
    uint64_t packets;
};

struct Report {
    uint64_t violations = 0, wrong = 0, delivered = 0, packets = 0, resent = 0, timeouts = 0,
             preemptions = 0, stomped = 0, progress = 0;
    std::array<uint64_t, 6> to_switch{}, from_switch{};  // flits by kind
    std::vector<std::string> first;

    __attribute__((format(printf, 4, 5))) void violation(uint64_t now, unsigned port,
                                                         const char* format, ...) {
        if (++violations > 8) return;
        char text[256];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        char line[320];
        std::snprintf(line, sizeof line, "cycle %" PRIu64 ", port %u: %s", now, port, text);
        first.emplace_back(line);
    }
};

class ReferenceEndpoint {
    struct Circuit {
        std::vector<Burst> program;
        size_t at = 0;
        Sending* flow = nullptr;
        uint64_t start_at = 0, since = 0;
        unsigned ticket = 0, limit = BUFFER_PACKETS;      // to the switch
        unsigned expected = 0, held = 0, waiting = 0;     // from the switch
        uint64_t busy_until = 0;
        bool open = false, tell = false;
    };
    struct Out {
        bool active = false;
        Sending* flow = nullptr;
        View view{};
        unsigned index = 0, circuit = 0;
        Header header;
    };

    unsigned port_;
    const Options& options_;
    Report& report_;
    Random rng_;
    std::array<Circuit, CIRCUITS> circuits_;
    Out out_;
    unsigned recent_ = 0;        // circuit of the packet that was begun last
    unsigned next_told_ = 0;     // circuit whose limit is told next, if it has changed
    std::deque<Receiving*> due_;
    std::vector<Receiving*> unacked_;
    std::deque<Header> syncs_;

    Circuit& circuit(unsigned number) { return circuits_[number]; }

    // ---- receiving ----

    unsigned limit(const Circuit& c) const {
        return (c.expected + BUFFER_PACKETS - c.held) & TICKET_MASK;
    }

    void give_up(Circuit& c) {
        if (!c.open) return;
        c.open = false;
        --c.held;
        c.tell = true;
    }

    void take_room(Circuit& c, const Header& h, uint64_t now) {
        const unsigned ahead = (h.ticket - c.expected) & TICKET_MASK;
        if (ahead != TICKET_MASK) {
            const unsigned room = (limit(c) - h.ticket) & TICKET_MASK;
            if (room < 1 || room > BUFFER_PACKETS)
                report_.violation(now, port_, "ticket %u of circuit %u, but the limit is %u",
                                  h.ticket, h.circuit, limit(c));
            const unsigned before = limit(c);
            give_up(c);
            c.expected = (h.ticket + 1) & TICKET_MASK;
            c.open = true;
            ++c.held;
            c.tell |= limit(c) != before;
        }
        if (h.index == h.last && c.open) {
            c.open = false;
            ++c.waiting;
        }
    }

    // With pauses the room is used up now and then.
    void consume(Circuit& c, uint64_t now) {
        if (options_.stall && now >= c.busy_until && rng_.below(200) == 0)
            c.busy_until = now + rng_.below(4 * BUFFER_PACKETS * PACKET_FLITS);
        if (options_.stops(port_, now)) return;
        while (c.waiting && now >= c.busy_until && !rng_.percent(options_.stall)) {
            --c.waiting;
            --c.held;
            c.tell = true;
        }
    }

    void queue(Receiving& flow) {
        if (!flow.queued) due_.push_back(&flow);
        flow.queued = true;
    }

    void receive_data(const Header& h, uint64_t data, uint64_t now) {
        if (h.circuit >= CIRCUITS)
            return report_.violation(now, port_, "data of circuit %u", h.circuit);
        // A first flit that has come twice; its ticket is the one before.
        const unsigned ticket = circuit(h.circuit).expected - 1;
        if (h.index == 0 && h.ticket == (ticket & TICKET_MASK)) return;
        take_room(circuit(h.circuit), h, now);
        Receiving* flow = receiving(h.phase, h.peer);
        if (!flow)
            return report_.violation(now, port_, "data of phase %u, peer %u", h.phase, h.peer);
        flow->last_data = now;
        const unsigned ahead = (h.sequence - flow->expected) & SEQUENCE_MASK;
        const bool before = ((flow->expected - h.sequence) & SEQUENCE_MASK) <= WINDOW_PACKETS;
        if (ahead == 0 && (h.index == flow->index || h.index == 0)) {
            flow->index = h.index;
            accept(*flow, h, data, now);
        } else if (!(ahead == 0 ? h.index < flow->index : before)) {
            if (!flow->refused || now - flow->refused_at >= PATIENCE_CYCLES) {
                flow->refused = true;
                flow->refused_at = now;
                flow->due_nack = true;
                queue(*flow);
            }
        }
    }

    void accept(Receiving& flow, const Header& h, uint64_t data, uint64_t now) {
        if (flow.expected >= flow.total)
            return report_.violation(now, port_, "packet %" PRIu64 " of phase %u, which has fewer",
                                     flow.expected, flow.phase);
        const View want = flow.pool->at(flow.expected);
        if (h.last + 1 != want.length || h.index >= want.length || want.flits[h.index] != data) {
            ++report_.wrong;
            report_.violation(now, port_,
                              "phase %u, peer %u, packet %" PRIu64 ", flit %u of %u: %" PRIx64
                              ", want %" PRIx64 " of %u",
                              flow.phase, flow.peer, flow.expected, h.index, h.last + 1, data,
                              h.index < want.length ? want.flits[h.index] : 0, want.length);
        }
        flow.refused = false;
        ++flow.index;
        if (h.index != h.last) return;
        flow.index = 0;
        ++flow.expected;
        ++report_.packets;
        report_.delivered += want.length;
        report_.progress = now;
        if (options_.trace) flow.arrivals.push_back(now);
        if (flow.expected - flow.told >= ACK_INTERVAL) {
            flow.due_ack = true;
            queue(flow);
        } else if (!flow.waiting) {
            flow.waiting = true;
            unacked_.push_back(&flow);
        }
    }

    void receive_credit(const Header& h, uint64_t now) {
        if (h.credit_circuit >= CIRCUITS) return;
        Circuit& c = circuit(h.credit_circuit);
        const unsigned room = (h.credit_limit - c.ticket) & TICKET_MASK;
        if (room > BUFFER_PACKETS)
            report_.violation(now, port_, "limit %u of circuit %u, but the next ticket is %u",
                              h.credit_limit, h.credit_circuit, c.ticket);
        if (c.limit != h.credit_limit) c.since = now;
        c.limit = h.credit_limit;
    }

    void receive_answer(const Header& h, uint64_t now) {
        Sending* flow = sending(h.phase, h.peer);
        if (!flow)
            return report_.violation(now, port_, "%s for phase %u, peer %u, which this port does "
                                     "not send", h.kind == ACK ? "ack" : "nack", h.phase, h.peer);
        const unsigned ahead = (h.sequence - flow->base) & SEQUENCE_MASK;
        const bool kept = ahead <= flow->high - flow->base;
        const bool before = ((flow->base - h.sequence) & SEQUENCE_MASK) <= WINDOW_PACKETS;
        if (!kept && !before)
            report_.violation(now, port_, "%s %u of phase %u, but %" PRIu64 " to %" PRIu64
                              " are out", h.kind == ACK ? "ack" : "nack", h.sequence, h.phase,
                              flow->base, flow->high);
        if (!kept) return;
        if (h.kind == NACK) {
            flow->next = flow->base + ahead;
            return;
        }
        if (ahead == 0) return;
        flow->base += ahead;
        flow->next = std::max(flow->next, flow->base);
        flow->last_new = report_.progress = now;
        for (const Receiving* one : flow->destinations)
            if (one->expected < flow->base)
                report_.violation(now, port_, "ack %" PRIu64 " of phase %u, but a destination "
                                  "waits for %" PRIu64, flow->base, flow->phase, one->expected);
    }

    // ---- sending ----

    bool credit(const Circuit& c) const {
        const unsigned room = (c.limit - c.ticket) & TICKET_MASK;
        return room >= 1 && room <= BUFFER_PACKETS;
    }

    bool wants(const Circuit& c, uint64_t now) const {
        const Sending* flow = c.flow;
        if (!flow || flow->next >= std::min(flow->end, flow->base + WINDOW_PACKETS)) return false;
        return !options_.interval || flow->next < flow->high ||
               now >= flow->begun + (flow->next - flow->first) * options_.interval;
    }

    void keep_time(Circuit& c, unsigned number, uint64_t now) {
        if (c.flow && c.flow->base == c.flow->end) {
            c.flow = nullptr;
            c.start_at = now + rng_.below(options_.gap);
            ++c.at;
        }
        if (!c.flow && c.at < c.program.size() && now >= c.start_at) {
            Sending* flow = c.flow = c.program[c.at].flow;
            flow->first = flow->end;
            flow->end += c.program[c.at].packets;
            flow->begun = flow->last_new = now;
        }
        if (Sending* flow = c.flow) {
            if (flow->high == flow->base) flow->last_new = now;
            if (now - flow->last_new >= TIMEOUT_CYCLES) {
                flow->next = flow->base;
                flow->last_new = now;
                ++report_.timeouts;
            }
        }
        if (((c.limit - c.ticket) & TICKET_MASK) == BUFFER_PACKETS) {
            c.since = now;
        } else if (now - c.since >= TIMEOUT_CYCLES && !(wants(c, now) && credit(c)) &&
                   !(out_.active && out_.circuit == number)) {
            Header h;
            h.kind = SYNC;
            h.circuit = number;
            h.ticket = c.ticket;
            syncs_.push_back(h);
            c.since = now;
        }
        if (c.waiting) consume(c, now);
    }

    void keep_acks(uint64_t now) {
        for (size_t k = 0; k < unacked_.size();) {
            Receiving& flow = *unacked_[k];
            const bool idle = now - flow.last_data >= IDLE_CYCLES;
            if (flow.expected != flow.told && !idle) {
                ++k;
                continue;
            }
            if (flow.expected != flow.told) {
                flow.due_ack = true;
                queue(flow);
            }
            flow.waiting = false;
            unacked_[k] = unacked_.back();
            unacked_.pop_back();
        }
    }

    bool control(Header& h) {
        if (!syncs_.empty()) {
            h = syncs_.front();
            syncs_.pop_front();
            return true;
        }
        while (!due_.empty()) {
            Receiving& flow = *due_.front();
            if (flow.due_ack || flow.due_nack) {
                h = Header{};
                h.kind = flow.due_ack ? ACK : NACK;
                h.phase = flow.phase;
                h.peer = flow.peer;
                h.sequence = flow.expected & SEQUENCE_MASK;
                if (flow.due_ack) flow.told = flow.expected;
                (flow.due_ack ? flow.due_ack : flow.due_nack) = false;
                return true;
            }
            flow.queued = false;
            due_.pop_front();
        }
        return false;
    }

    bool begin_packet(uint64_t now) {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            Circuit& c = circuits_[k];
            if (!wants(c, now) || !credit(c)) continue;
            Sending& flow = *c.flow;
            const Sending* before = circuits_[recent_].flow;
            if (k < recent_ && before && before->next < before->end) ++report_.preemptions;
            recent_ = k;
            out_.active = true;
            out_.flow = &flow;
            out_.index = 0;
            out_.circuit = k;
            out_.view = flow.pool->at(flow.next);
            out_.header = Header{};
            out_.header.kind = DATA;
            out_.header.circuit = k;
            out_.header.phase = flow.phase;
            out_.header.peer = flow.peer;
            out_.header.sequence = flow.next & SEQUENCE_MASK;
            out_.header.last = out_.view.length - 1;
            out_.header.ticket = c.ticket;
            c.ticket = (c.ticket + 1) & TICKET_MASK;
            c.since = now;
            if (flow.high == flow.base) flow.last_new = now;
            report_.resent += flow.next < flow.high;
            flow.high = std::max(flow.high, ++flow.next);
            return true;
        }
        return false;
    }

    bool add_limit(Header& h) {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            const unsigned number = (next_told_ + k) % CIRCUITS;
            Circuit& c = circuits_[number];
            if (!c.tell) continue;
            c.tell = false;
            h.credit_circuit = number;
            h.credit_limit = limit(c);
            next_told_ = (number + 1) % CIRCUITS;
            return true;
        }
        return false;
    }

public:
    std::vector<Sending> outgoing;    // by phase, then by destination of the default index
    std::vector<Receiving> incoming;  // by phase, then by source of the default index

    ReferenceEndpoint(unsigned port, const Options& options, Report& report)
        : port_(port), options_(options), report_(report), rng_(options.seed * 1000 + port),
          outgoing(PHASES + PORTS), incoming(PHASES + PORTS) {
        for (Circuit& c : circuits_) c.start_at = rng_.below(options.spread);
    }

    void add_burst(unsigned number, Sending* flow, uint64_t packets) {
        circuits_[number].program.push_back({flow, packets});
    }

    Sending* sending(unsigned phase, unsigned peer) {
        const unsigned place = phase < PHASES ? phase : PHASES + peer;
        if (phase > PHASES || place >= outgoing.size()) return nullptr;
        return outgoing[place].pool ? &outgoing[place] : nullptr;
    }

    Receiving* receiving(unsigned phase, unsigned peer) {
        const unsigned place = phase < PHASES ? phase : PHASES + peer;
        if (phase > PHASES || place >= incoming.size()) return nullptr;
        return incoming[place].used ? &incoming[place] : nullptr;
    }

    bool done() const {
        for (const Circuit& c : circuits_)
            if (c.at < c.program.size()) return false;
        for (const Receiving& flow : incoming)
            if (flow.expected != flow.total) return false;
        return true;
    }

    void receive(const Flit& flit, uint64_t now) {
        Header h;
        Header::unpack(flit.header, h);
        receive_credit(h, now);
        switch (h.kind) {
            case DATA: return receive_data(h, flit.data, now);
            case ACK:
            case NACK: return receive_answer(h, now);
            case SYNC:
                if (h.circuit < CIRCUITS) {
                    Circuit& c = circuit(h.circuit);
                    give_up(c);
                    c.expected = h.ticket;
                    c.tell = true;
                }
                return;
            case ASK:
                if (Receiving* flow = receiving(h.phase, h.peer)) {
                    flow->due_ack = true;
                    flow->due_nack |= now - flow->last_data >= IDLE_CYCLES;
                    queue(*flow);
                } else {
                    report_.violation(now, port_, "ask for phase %u, peer %u", h.phase, h.peer);
                }
                return;
            default: return;
        }
    }

    // Whether there is a flit to send in this cycle; it is sent then.
    bool send(uint64_t now, Flit& flit) {
        for (unsigned k = 0; k < CIRCUITS; ++k) keep_time(circuits_[k], k, now);
        if (!unacked_.empty()) keep_acks(now);
        Header h;
        flit.data = 0;
        if (control(h)) {
            add_limit(h);
        } else if (!rng_.percent(options_.stall) && (out_.active || begin_packet(now))) {
            out_.header.index = out_.index;
            h = out_.header;
            flit.data = out_.view.flits[out_.index++];
            out_.active = out_.index < out_.view.length;
            add_limit(h);
        } else if (add_limit(h)) {
            h.kind = CREDIT;
        } else {
            return false;
        }
        ++report_.to_switch[h.kind];
        flit.header = h.pack();
        flit.crc = crc_of(flit.header, flit.data);
        flit.last = h.kind != DATA || h.index == h.last;
        return true;
    }

    void dump(std::FILE* to) const {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            const Circuit& c = circuits_[k];
            std::fprintf(to, "port %u circuit %u: burst %zu of %zu, ticket %u, limit %u; receives "
                         "ticket %u, held %u%s\n", port_, k, c.at, c.program.size(), c.ticket,
                         c.limit, c.expected, c.held, c.open ? ", open" : "");
            if (const Sending* f = c.flow)
                std::fprintf(to, "  sends phase %u peer %u: base %" PRIu64 " (%u), next %" PRIu64
                             " (%u), begun %" PRIu64 " of %" PRIu64 "\n", f->phase, f->peer,
                             f->base, static_cast<unsigned>(f->base & SEQUENCE_MASK), f->next,
                             static_cast<unsigned>(f->next & SEQUENCE_MASK), f->high, f->end);
        }
        for (const Receiving& f : incoming)
            if (f.used && f.expected != f.total)
                std::fprintf(to, "  wants phase %u peer %u: packet %" PRIu64 " (%u) flit %u, of "
                             "%" PRIu64 ", acknowledged %" PRIu64 "%s\n", f.phase, f.peer,
                             f.expected, static_cast<unsigned>(f.expected & SEQUENCE_MASK),
                             f.index, f.total, f.told, f.refused ? ", refused" : "");
    }
};
