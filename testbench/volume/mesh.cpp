// A mesh of Verilated routers under open-loop traffic: latency against load, and all payload checked.
//
// Ends send packets of the pattern at random times, whether there is room or not, and take whatever comes; they keep hellos, tickets and limits of
// docs/protocol.md, but number nothing anew: no flit is ever lost here, and one that is, or comes twice or wrong, is counted.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "model.hpp"

namespace {

constexpr unsigned mask(unsigned bits) { return (1u << bits) - 1; }
constexpr uint64_t SILENCE = 5000;  // less than routers wait with a packet that is stuck
constexpr unsigned PORTS = 5, LOCAL = 4, TICKETS = mask(TICKET_BITS), NODES = WIDTH * HEIGHT;

struct Header {
#define FIELD(name, low, bits, first) unsigned name = first;
    HEADER_FIELDS(FIELD)
#undef FIELD
    uint64_t pack() const {
        uint64_t word = 0;
#define FIELD(name, low, bits, first) word |= uint64_t{name & mask(bits)} << low;
        HEADER_FIELDS(FIELD)
#undef FIELD
        return word;
    }
    explicit Header(uint64_t word) {
#define FIELD(name, low, bits, first) name = word >> low & mask(bits);
        HEADER_FIELDS(FIELD)
#undef FIELD
    }
    Header() = default;
};

struct Flit {
    bool valid = false;
    uint32_t data = 0;
    uint64_t header = 0;
    uint32_t crc = 0;
};

std::array<uint32_t, 256> crc_table() {
    std::array<uint32_t, 256> table;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        uint32_t rest = byte;
        for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ (rest & 1 ? CRC_REFLECTED : 0);
        table[byte] = rest;
    }
    return table;
}

uint32_t crc_of(const Flit& flit) {
    static const auto table = crc_table();
    uint32_t state = ~0u;
    const auto add = [&](uint64_t word, unsigned bytes) {
        for (unsigned k = 0; k < bytes; ++k) state = state >> 8 ^ table[(state ^ word >> 8 * k) & 255];
    };
    add(flit.header, HEADER_BITS / 8);
    add(flit.data, 4);
    return ~state;
}

// One direction of a link: what is put in comes out so many cycles later.
class Line {
    std::deque<Flit> inside_;

public:
    explicit Line(unsigned delay) : inside_(delay) {}
    Flit step(const Flit& flit) {
        if (inside_.empty()) return flit;
        const Flit out = inside_.front();
        inside_.pop_front();
        inside_.push_back(flit);
        return out;
    }
};

class Router {
    VerilatedContext context_;
    Top top_{&context_};

    template <class Data, class User>
    static void give(const Flit& flit, CData& valid, Data& data, User& user) {
        valid = flit.valid;
        data = flit.data;
        user[0] = flit.header;
        user[1] = flit.header >> 32 | flit.crc << (HEADER_BITS - 32);
        user[2] = flit.crc >> (64 - HEADER_BITS);
    }
    template <class Data, class User>
    static Flit get(CData valid, const Data& data, const User& user) {
        Flit flit;
        flit.valid = valid;
        flit.data = data;
        flit.header = user[0] | uint64_t{user[1] & mask(HEADER_BITS - 32)} << 32;
        flit.crc = user[1] >> (HEADER_BITS - 32) | user[2] << (64 - HEADER_BITS);
        return flit;
    }

public:
    Router(unsigned x, unsigned y, int count, char** arguments) {
        context_.commandArgs(count, arguments);  // those with a plus choose a fault
        top_.position = x | y << POSITION_X_BITS;
        top_.incarnation = 0;
        top_.rst = 1;
#define READY(k) top_.m##k##_axis_tready = 1;
        EACH_PORT(READY)
#undef READY
    }
    void release() { top_.rst = 0; }
    void put(const std::array<Flit, PORTS>& in) {
#define PUT(k) give(in[k], top_.s##k##_axis_tvalid, top_.s##k##_axis_tdata, top_.s##k##_axis_tuser);
        EACH_PORT(PUT)
#undef PUT
    }
    std::array<Flit, PORTS> out() const {
        std::array<Flit, PORTS> out;
#define GET(k) out[k] = get(top_.m##k##_axis_tvalid, top_.m##k##_axis_tdata, top_.m##k##_axis_tuser);
        EACH_PORT(GET)
#undef GET
        return out;
    }
    void tick() {
        top_.clk = 0;
        top_.eval();
        top_.clk = 1;
        top_.eval();
    }
    unsigned errors() const { return top_.errors | top_.dropped << 6; }
};

struct Packet {
    unsigned end, circuit, length;
    uint64_t born, sequence;
};

struct Run {
    double load = 0.1;
    unsigned pattern = 0, flits = 8, circuits = 1, delay = 0;
    uint64_t warm = 2000, measure = 10000, seed = 1;
};

// What is told of all ends.
struct Totals {
    uint64_t sent = 0, came = 0, flits = 0, wrong = 0, packets = 0, cycles = 0, least = ~0ull, waiting = 0;
    double latency = 0;
};

uint32_t payload(unsigned source, unsigned end, uint64_t sequence, unsigned index) {
    uint64_t word = (uint64_t{source} << 40 | uint64_t{end} << 32 | sequence << 4 | index) * 0x9E3779B97F4A7C15ull;
    return word >> 32;
}

class End {
    const Run& run_;
    Totals& totals_;
    const unsigned address_;
    std::mt19937_64 rng_;
    std::deque<Packet> queues_[CIRCUITS];
    std::array<uint64_t, NODES> next_{}, expected_{};
    std::array<unsigned, CIRCUITS> ticket_{}, limit_{}, came_{}, told_{};
    std::array<std::deque<uint64_t>, NODES>* born_;
    unsigned index_ = 0, inside_ = 0, turn_ = 0, ticket_now_ = 0;
    bool sends_ = false;

    unsigned destination() {
        switch (run_.pattern) {
            case 0: {
                const unsigned other = rng_() % (NODES - 1);
                return other + (other >= address_);
            }
            case 1: return rng_() % 8 == 0 ? NODES / 2 + WIDTH / 2 : (address_ + 1 + rng_() % (NODES - 1)) % NODES;  // hot spot
            default: return FIXED[run_.pattern - 2][address_];
        }
    }

    void take(const Flit& flit, uint64_t now) {
        const Header h(flit.header);
        if (crc_of(flit) != flit.crc) { ++totals_.wrong; return; }
        if (h.credit_circuit < CIRCUITS && h.kind != HELLO) limit_[h.credit_circuit] = h.credit_limit;
        if (h.kind != DATA) return;
        came_[h.circuit] = (came_[h.circuit] + 1) & TICKETS;
        const uint64_t number = expected_[h.source];
        if (h.destination != address_ || flit.data != payload(h.source, address_, number, h.index)) ++totals_.wrong;
        ++totals_.flits;
        totals_.came += now >= run_.warm && now < run_.warm + run_.measure;
        if (h.index != h.last) return;
        ++expected_[h.source];
        std::deque<uint64_t>& born = born_[h.source][address_];
        const uint64_t since = born.front();
        born.pop_front();
        if (since >= run_.warm && since < run_.warm + run_.measure) {
            ++totals_.packets;
            totals_.latency += now - since;
            totals_.least = std::min<uint64_t>(totals_.least, now - since);
        }
    }

    Flit make(Header h, uint32_t data) {
        for (unsigned k = 0; k < CIRCUITS && h.kind != HELLO; ++k) {
            const unsigned c = (turn_ + k) % CIRCUITS, room = (came_[c] + BUFFER_FLITS) & TICKETS;
            if (room == told_[c]) continue;
            h.credit_circuit = c;
            h.credit_limit = told_[c] = room;
            turn_ = c + 1;
            break;
        }
        Flit flit;
        flit.valid = h.kind != CREDIT || h.credit_circuit < CIRCUITS;
        flit.data = data;
        flit.header = h.pack();
        flit.crc = crc_of(flit);
        return flit;
    }

public:
    End(const Run& run, Totals& totals, unsigned address, std::array<std::deque<uint64_t>, NODES>* born)
        : run_(run), totals_(totals), address_(address), rng_(run.seed * 1000 + address), born_(born) {}

    Flit step(const Flit& flit, uint64_t now, bool generates) {
        if (flit.valid) take(flit, now);
        if (now == 5) {  // the routers' incarnation is 0
            Header hello;
            hello.kind = HELLO;
            hello.circuit = CONTROL;
            hello.incarnation = 9;
            hello.knows = hello.up = 1;
            hello.digest = SIZES.digest;
            return make(hello, 0);
        }
        if (now < 40 + 2 * run_.delay) return {};
        const bool measured = now >= run_.warm && now < run_.warm + run_.measure;
        if (generates && std::uniform_real_distribution<>()(rng_) < run_.load / run_.flits) {
            const unsigned end = destination();
            if (end != address_) {
                const unsigned circuit = (address_ + end) % run_.circuits;
                queues_[circuit].push_back({end, circuit, run_.flits, now, next_[end]++});
                born_[address_][end].push_back(now);
                totals_.sent += measured ? run_.flits : 0;
            }
        }
        if (!sends_) {
            for (unsigned c = 0; c < CIRCUITS && !sends_; ++c) {
                const unsigned room = (limit_[c] - ticket_[c]) & TICKETS;
                if (queues_[c].empty() || room < SIZES.packet_flits || room > BUFFER_FLITS) continue;
                sends_ = true;
                inside_ = c;
                index_ = 0;
                ticket_now_ = ticket_[c];
                ticket_[c] = (ticket_[c] + queues_[c].front().length) & TICKETS;
            }
        }
        Header h;
        h.kind = CREDIT;
        h.circuit = CONTROL;
        if (!sends_) return make(h, 0);
        const Packet& packet = queues_[inside_].front();
        h.kind = DATA;
        h.circuit = packet.circuit;
        h.unicast = 1;
        h.destination = packet.end;
        h.source = address_;
        h.sequence = packet.sequence & mask(SEQUENCE_BITS);
        h.index = index_;
        h.last = packet.length - 1;
        h.ticket = ticket_now_;
        const Flit made = make(h, payload(address_, packet.end, packet.sequence, index_));
        if (++index_ == packet.length) {
            queues_[inside_].pop_front();
            sends_ = false;
        }
        return made;
    }

    uint64_t waiting() const {
        uint64_t count = 0;
        for (unsigned end = 0; end < NODES; ++end) count += born_[address_][end].size();
        return count;
    }
};

class Mesh {
    const Run& run_;
    std::vector<std::unique_ptr<Router>> routers_;
    std::vector<End> ends_;
    std::vector<Line> lines_, out_, in_;  // into each port of each router; to and from ends
    std::vector<std::array<std::deque<uint64_t>, NODES>> born_;
    uint64_t seen_ = 0, since_ = 0;

public:
    Totals totals;
    unsigned errors = 0;

    Mesh(const Run& run, int count, char** arguments) : run_(run), born_(NODES) {
        for (unsigned k = 0; k < NODES; ++k) {
            routers_.push_back(std::make_unique<Router>(k % WIDTH, k / WIDTH, count, arguments));
            ends_.emplace_back(run_, totals, k, born_.data());
            out_.emplace_back(run.delay);
        }
        for (unsigned k = 0; k < NODES * PORTS; ++k) lines_.emplace_back(run.delay);
        for (auto& router : routers_) for (int k = 0; k < 3; ++k) router->tick();
        for (auto& router : routers_) router->release();
    }

    void step(uint64_t now, bool generates) {
        std::vector<std::array<Flit, PORTS>> out, in(NODES);
        for (auto& router : routers_) out.push_back(router->out());
        for (unsigned k = 0; k < NODES; ++k) {
            const unsigned x = k % WIDTH, y = k / WIDTH;
            if (y > 0) in[k][0] = out[k - WIDTH][2];
            if (x + 1 < WIDTH) in[k][1] = out[k + 1][3];
            if (y + 1 < HEIGHT) in[k][2] = out[k + WIDTH][0];
            if (x > 0) in[k][3] = out[k - 1][1];
            in[k][LOCAL] = ends_[k].step(out_[k].step(out[k][LOCAL]), now, generates);
            for (unsigned port = 0; port < PORTS; ++port) in[k][port] = lines_[k * PORTS + port].step(in[k][port]);
        }
        for (unsigned k = 0; k < NODES; ++k) {
            routers_[k]->put(in[k]);
            routers_[k]->tick();
            errors |= routers_[k]->errors();
        }
    }

    uint64_t waiting() const {
        uint64_t count = 0;
        for (const End& end : ends_) count += end.waiting();
        return count;
    }

    // Whether packets wait, and nothing has come to any end for longer than the longest way takes.
    bool wedged(uint64_t now) {
        if (totals.flits != seen_) seen_ = totals.flits, since_ = now;
        return now - since_ > SILENCE && waiting();
    }
};

}  // namespace

int main(int count, char** arguments) {
    Run run;
    const auto number = [&](int place, double otherwise) { return count > place ? std::atof(arguments[place]) : otherwise; };
    run.load = number(1, 0.1);
    run.pattern = number(2, 0);
    run.flits = number(3, 8);
    run.circuits = number(4, 1);
    run.delay = number(5, 0);
    run.warm = number(6, 2000);
    run.measure = number(7, 10000);
    run.seed = number(8, 1);
    Mesh mesh(run, count, arguments);
    uint64_t now = 0;
    for (; now < run.warm + run.measure && !mesh.wedged(now); ++now) mesh.step(now, true);
    const uint64_t backlog = mesh.waiting();
    for (; mesh.waiting() && !mesh.wedged(now); ++now) mesh.step(now, false);
    const Totals& t = mesh.totals;
    const double each = double(run.measure) * NODES;
    std::printf("{\"offered\": %.6f, \"accepted\": %.6f, \"latency_cycles\": %.3f, \"least_cycles\": %llu, "
                "\"packets\": %llu, \"backlog\": %llu, \"left\": %llu, \"wrong\": %llu, \"errors\": %u, \"wedged\": %s, \"cycles\": %llu}\n",
                t.sent / each, t.came / each, t.packets ? t.latency / t.packets : 0, (unsigned long long)(t.packets ? t.least : 0),
                (unsigned long long)t.packets, (unsigned long long)backlog, (unsigned long long)mesh.waiting(),
                (unsigned long long)t.wrong, mesh.errors, mesh.waiting() ? "true" : "false", (unsigned long long)now);
    return t.wrong || mesh.errors ? 1 : 0;
}
