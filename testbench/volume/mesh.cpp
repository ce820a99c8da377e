// A mesh of Verilated routers under open-loop traffic: latency against load; all payload is checked.
//
// See run_mesh in testbench/volume/mesh.py.
//
// Ends send packets of the pattern at random times, whether there is room or not, and take whatever
// comes; they keep hellos, tickets and limits of docs/protocol.md, but number nothing anew: no flit
// is ever lost here, and one that is, or comes twice or wrong, is counted. Prints counts as JSON.

#include <deque>
#include <random>

#include "verilated_ports.hpp"

namespace {

constexpr uint64_t SILENCE = 5000;  // less than routers wait with a packet that is stuck
constexpr unsigned LOCAL = 4, NODES = WIDTH * HEIGHT;

struct Options {
    double load = 0.1;
    unsigned pattern = 0, flits = 8, circuits = 1, delay = 0;
    uint64_t warm = 2000, measure = 10000, seed = 1;

    bool measured(uint64_t now) const { return now >= warm && now < warm + measure; }
};

class Router : public VerilatedPorts {
public:
    Router(const Program& program, unsigned number) : VerilatedPorts(program) {
        top_.position = number % WIDTH | number / WIDTH << POSITION_X_BITS;
        top_.incarnation = 0;
        top_.rst = 1;
        for (unsigned k = 0; k < PORTS; ++k) ready(k, true);
        for (int k = 0; k < 3; ++k) settle(), tick();
        top_.rst = 0;
    }
    unsigned errors() const { return top_.errors | top_.dropped << 6; }
};

struct Packet {
    unsigned end, circuit, length;
    uint64_t sequence;
};

// What is told of all ends.
struct Totals {
    uint64_t sent = 0, came = 0, flits = 0, wrong = 0, packets = 0, least = ~uint64_t{0};
    double latency = 0;
};

uint32_t payload(unsigned source, unsigned end, uint64_t sequence, unsigned index) {
    const uint64_t word = uint64_t{source} << 40 | uint64_t{end} << 32 | sequence << 4 | index;
    return word * 0x9E3779B97F4A7C15u >> 32;
}

using Births = std::array<std::deque<uint64_t>, NODES>;  // of packets on their way, by destination

class End {
    const Options& options_;
    Totals& totals_;
    const unsigned address_;
    std::mt19937_64 rng_;  // not Random: a seed goes on giving the traffic that it gave
    std::array<std::deque<Packet>, CIRCUITS> queues_;
    std::array<uint64_t, NODES> next_{}, expected_{};
    std::array<unsigned, CIRCUITS> ticket_{}, limit_{}, came_{}, told_{};
    std::vector<Births>& born_;  // by source
    unsigned index_ = 0, inside_ = 0, turn_ = 0, ticket_now_ = 0;
    bool sends_ = false;

    unsigned other_end() { return rng_() % (NODES - 1); }
    unsigned destination() {
        if (options_.pattern >= 2) return FIXED[options_.pattern - 2][address_];
        if (options_.pattern == 1)  // hot spot
            return rng_() % 8 == 0 ? NODES / 2 + WIDTH / 2 : (address_ + 1 + other_end()) % NODES;
        const unsigned other = other_end();
        return other + (other >= address_);
    }

    void take_data(const Header& h, uint64_t data, uint64_t now) {
        came_[h.circuit] = (came_[h.circuit] + 1) & TICKET_MASK;
        const uint64_t number = expected_[h.source];
        totals_.wrong += h.destination != address_ ||
                         data != payload(h.source, address_, number, h.index);
        ++totals_.flits;
        totals_.came += options_.measured(now);
        if (h.index != h.last) return;
        ++expected_[h.source];
        std::deque<uint64_t>& born = born_[h.source][address_];
        const uint64_t since = born.front();
        born.pop_front();
        if (!options_.measured(since)) return;
        ++totals_.packets;
        totals_.latency += now - since;
        totals_.least = std::min(totals_.least, now - since);
    }

    void generate(uint64_t now) {
        if (std::uniform_real_distribution<>()(rng_) >= options_.load / options_.flits) return;
        const unsigned end = destination();
        if (end == address_) return;
        const unsigned circuit = (address_ + end) % options_.circuits;
        queues_[circuit].push_back({end, circuit, options_.flits, next_[end]++});
        born_[address_][end].push_back(now);
        totals_.sent += options_.measured(now) ? options_.flits : 0;
    }

    // Begins a packet of the most urgent circuit that has room for the largest one.
    void begin_packet() {
        for (unsigned c = 0; c < CIRCUITS && !sends_; ++c) {
            const unsigned room = (limit_[c] - ticket_[c]) & TICKET_MASK;
            if (queues_[c].empty() || room < PACKET_FLITS || room > BUFFER_FLITS) continue;
            sends_ = true;
            inside_ = c;
            index_ = 0;
            ticket_now_ = ticket_[c];
            ticket_[c] = (ticket_[c] + queues_[c].front().length) & TICKET_MASK;
        }
    }

    Header next_data(uint64_t& data) {
        const Packet& packet = queues_[inside_].front();
        Header h;
        h.kind = DATA;
        h.circuit = packet.circuit;
        h.unicast = 1;
        h.destination = packet.end;
        h.source = address_;
        h.sequence = packet.sequence & SEQUENCE_MASK;
        h.index = index_;
        h.last = packet.length - 1;
        h.ticket = ticket_now_;
        data = payload(address_, packet.end, packet.sequence, index_);
        sends_ = ++index_ != packet.length;
        if (!sends_) queues_[inside_].pop_front();
        return h;
    }

    Header hello() const {
        Header h;
        h.kind = HELLO;
        h.incarnation = 9;
        h.knows = h.up = 1;
        h.digest = DIGEST;
        return h;
    }

    void add_limit(Header& h) {
        for (unsigned k = 0; k < CIRCUITS; ++k) {
            const unsigned c = (turn_ + k) % CIRCUITS;
            const unsigned limit = (came_[c] + BUFFER_FLITS) & TICKET_MASK;
            if (limit == told_[c]) continue;
            h.credit_circuit = c;
            h.credit_limit = told_[c] = limit;
            turn_ = c + 1;
            return;
        }
    }

    // Whether there is a flit to send.
    bool next(uint64_t now, bool generates, Header& h, uint64_t& data) {
        if (now == 5) {  // the routers' incarnation is 0
            h = hello();
            return true;
        }
        if (now < 40 + 2 * options_.delay) return false;
        if (generates) generate(now);
        if (!sends_) begin_packet();
        if (sends_) h = next_data(data);
        else h.kind = CREDIT;
        add_limit(h);
        return h.kind == DATA || h.credit_circuit < CIRCUITS;
    }

public:
    End(const Options& options, Totals& totals, unsigned address, std::vector<Births>& born)
        : options_(options), totals_(totals), address_(address),
          rng_(options.seed * 1000 + address), born_(born) {}

    void receive(const Flit& flit, uint64_t now) {
        Header h;
        unpack(flit.header, h);
        if (flit.crc != crc_of(flit.header, flit.data)) {
            ++totals_.wrong;
            return;
        }
        if (h.credit_circuit < CIRCUITS && h.kind != HELLO)
            limit_[h.credit_circuit] = h.credit_limit;
        if (h.kind == DATA) take_data(h, flit.data, now);
    }

    // Whether there is a flit to send in this cycle, in which a packet may be made if `generates`.
    bool send(uint64_t now, bool generates, Flit& flit) {
        Header h;
        flit.data = 0;
        if (!next(now, generates, h, flit.data)) return false;
        flit.header = pack(h);
        flit.crc = crc_of(flit.header, flit.data);
        flit.last = h.kind != DATA || h.index == h.last;
        return true;
    }
};

class Mesh {
    const Options& options_;
    std::deque<Router> routers_;
    std::deque<End> ends_;
    std::vector<Channel> in_, out_;  // into each port of each router; to ends
    std::vector<Births> born_;
    uint64_t now_ = 0, seen_ = 0, since_ = 0;
    Totals totals_;
    unsigned errors_ = 0;

    // Where the flits of a port go: into a neighbour, to the end, or nowhere.
    Channel* behind(unsigned k, unsigned port) {
        const unsigned x = k % WIDTH, y = k / WIDTH;
        switch (port) {
            case 0: return y > 0 ? &in_[(k - WIDTH) * PORTS + 2] : nullptr;
            case 1: return x + 1 < WIDTH ? &in_[(k + 1) * PORTS + 3] : nullptr;
            case 2: return y + 1 < HEIGHT ? &in_[(k + WIDTH) * PORTS] : nullptr;
            case 3: return x > 0 ? &in_[(k - 1) * PORTS + 1] : nullptr;
            default: return &out_[k];
        }
    }

    void step(bool generates) {
        Flit flit;
        bool good;
        for (unsigned k = 0; k < NODES; ++k)
            for (unsigned port = 0; port < PORTS; ++port)
                if (Channel* to = behind(k, port); to && routers_[k].shown(port, flit))
                    to->put(now_, flit);
        for (unsigned k = 0; k < NODES; ++k) {
            if (out_[k].take(now_, flit, good)) ends_[k].receive(flit, now_);
            if (ends_[k].send(now_, generates, flit)) in_[k * PORTS + LOCAL].put(now_, flit);
            for (unsigned port = 0; port < PORTS; ++port) {
                const bool given = in_[k * PORTS + port].take(now_, flit, good);
                routers_[k].give(port, given, flit);
            }
            routers_[k].settle();
            routers_[k].tick();
            errors_ |= routers_[k].errors();
        }
        ++now_;
    }

    // Packets on their way, or that wait to be.
    uint64_t waiting() const {
        uint64_t count = 0;
        for (const Births& births : born_)
            for (const auto& times : births) count += times.size();
        return count;
    }

    // Whether packets wait, and nothing has come to any end for longer than the longest way takes.
    bool wedged() {
        if (totals_.flits != seen_) seen_ = totals_.flits, since_ = now_;
        return now_ - since_ > SILENCE && waiting();
    }

public:
    Mesh(const Program& program, const Options& options) : options_(options), born_(NODES) {
        for (unsigned k = 0; k < NODES; ++k) {
            routers_.emplace_back(program, k);
            ends_.emplace_back(options, totals_, k, born_);
            out_.emplace_back(options.delay, 0, k);
        }
        for (unsigned k = 0; k < NODES * PORTS; ++k) in_.emplace_back(options.delay, 0, k);
    }

    bool run() {
        while (now_ < options_.warm + options_.measure && !wedged()) step(true);
        const uint64_t backlog = waiting();
        while (waiting() && !wedged()) step(false);
        return print(backlog);
    }

    bool print(uint64_t backlog) const {
        const Totals& t = totals_;
        const double each = static_cast<double>(options_.measure) * NODES;
        Json json;
        json.add("offered", t.sent / each);
        json.add("accepted", t.came / each);
        json.add("latency_cycles", t.packets ? t.latency / t.packets : 0, 3);
        json.add("least_cycles", t.packets ? t.least : 0);
        json.add("packets", t.packets);
        json.add("backlog", backlog);
        json.add("left", waiting());
        json.add("wrong", t.wrong);
        json.add("errors", errors_);
        json.add("wedged", waiting() > 0);
        json.add("cycles", now_);
        json.print();
        return !t.wrong && !errors_;
    }
};

}  // namespace

bool run(Program& program) {
    Options options;
    program.read("load", options.load);
    program.read("pattern", options.pattern);
    program.read("flits", options.flits);
    program.read("circuits", options.circuits);
    program.read("delay", options.delay);
    program.read("warm", options.warm);
    program.read("measure", options.measure);
    program.read("seed", options.seed);
    program.finish();
    return Mesh{program, options}.run();
}
