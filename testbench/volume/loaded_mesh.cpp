// A mesh of Verilated routers under open-loop traffic: latency against load; all payload is checked.
//
// See run_mesh in testbench/volume/loaded_mesh.py.
//
// Ends send packets of the pattern at random times, whether there is space or not, and take whatever
// comes. Without faults on links each packet must come the first time that it is sent; with them no
// flit may be wrong that an end takes. Prints counts as JSON.

#include <deque>

#include "conditions.hpp"
#include "verilated_ports.hpp"

namespace {

constexpr unsigned LOCAL = PORTS - 1;

struct Options : Conditions {
    double load = 0.1;
    unsigned pattern = 0, flits = 8, circuits = 1, timeout = SIZES.timeout_cycles;
    uint64_t warm = 2000, measure = 10000;

    bool measured(uint64_t now) const { return now >= warm && now < warm + measure; }
};

class Router : public VerilatedPorts {
public:
    Router(const Program& program, unsigned number) : VerilatedPorts(program) {
        top_.position = POSITIONS[number];
        top_.session_id = 0;
        top_.rst = 1;
        for (unsigned k = 0; k < PORTS; ++k) ready(k, true);
        for (int k = 0; k < 3; ++k) settle(), tick();
        top_.rst = 0;
    }
    unsigned errors() const { return top_.errors; }
    bool dropped() const { return top_.dropped; }
};

// Counts of all endpoints.
struct Totals {
    uint64_t sent = 0, came = 0, flits = 0, wrong = 0, packets = 0, least = ~uint64_t{0};
    // Choices of the alternate route, and routes that were left because they were blocked.
    uint64_t alternate = 0, left_routes = 0;
    double latency = 0;
    Counts counts;
};

uint32_t payload(unsigned source, unsigned end, uint64_t sequence, unsigned index) {
    const uint64_t word = uint64_t{source} << 40 | uint64_t{end} << 32 | sequence << 4 | index;
    return word * 0x9E3779B97F4A7C15u >> 32;
}

using Births = std::array<std::deque<uint64_t>, NODES>;  // of packets on their way, by destination

class End final : private Endpoint {
    const Options& options_;
    Totals& totals_;
    Random rng_;
    std::array<Sending, NODES> outgoing_;    // by destination
    std::array<Receiving, NODES> incoming_;  // by source
    std::vector<Births>& born_;              // by source
    const Sending* going_ = nullptr;
    uint64_t number_ = 0;  // of the packet that is going out

    Sending* sending(const Header& h) override {
        return h.unicast && h.source < NODES ? &outgoing_[h.source] : nullptr;
    }
    Receiving* receiving(const Header& h) override {
        return h.unicast && h.source < NODES ? &incoming_[h.source] : nullptr;
    }
    unsigned begin(unsigned, const Sending& flow) override {
        going_ = &flow;
        number_ = flow.next;
        return options_.flits;
    }
    // If there are two routes: whether fewer packets wait at the router for the alternate one.
    bool alternates(const Sending& flow) override {
        const auto [named, other] = CHOICES[address_][flow.peer];
        totals_.alternate += crowding_[other] < crowding_[named];
        return crowding_[other] < crowding_[named];
    }
    // Where it is blocked there and would not be on the other one.
    bool leaves(const Sending& flow) override {
        const auto [named, other] = CHOICES[address_][flow.peer];
        const bool left = blocked(flow.alternate ? other : named) && !blocked(flow.alternate ? named : other);
        totals_.left_routes += left && !flow.holds;
        return left;
    }
    uint64_t payload(unsigned index) override {
        return ::payload(address_, going_->peer, number_, index);
    }
    void take(Receiving& flow, const Header& h, uint64_t data) override {
        totals_.wrong += h.last + 1 != options_.flits ||
                         data != ::payload(flow.peer, address_, flow.expected, flow.index);
        if (flow.index != h.last) return;
        totals_.flits += options_.flits;
        totals_.came += options_.measured(now_) ? options_.flits : 0;
        std::deque<uint64_t>& born = born_[flow.peer][address_];
        const uint64_t since = born.front();
        born.pop_front();
        if (!options_.measured(since)) return;
        ++totals_.packets;
        totals_.latency += now_ - since;
        totals_.least = std::min(totals_.least, now_ - since);
    }
    unsigned consume(unsigned circuit) override { return circuits_[circuit].waiting; }
    bool pauses() override { return rng_.percent(options_.stall); }

    bool blocked(unsigned direction) const { return crowding_[direction] & BLOCKED; }
    unsigned other_end() { return rng_.below(NODES - 1); }
    unsigned destination() {
        if (options_.pattern >= 2) return FIXED[options_.pattern - 2][address_];
        if (options_.pattern == 1)  // hot spot
            return rng_.below(8) == 0 ? HOT_SPOT : (address_ + 1 + other_end()) % NODES;
        const unsigned other = other_end();
        return other + (other >= address_);
    }

    void generate(uint64_t now) {
        if (rng_.unit() >= options_.load / options_.flits) return;
        const unsigned end = destination();
        if (end == address_) return;
        Endpoint::send((address_ + end) % options_.circuits, outgoing_[end], 1);
        born_[address_][end].push_back(now);
        totals_.sent += options_.measured(now) ? options_.flits : 0;
    }

    // Whether a flit of data is the next one of its packet, and that the next of its source.
    bool is_next(const Header& h) const {
        const Receiving& flow = incoming_[h.source];
        return h.sequence == (flow.expected & SEQUENCE_MASK) && h.index == flow.index;
    }

public:
    using Endpoint::all_sent;

    End(const Options& options, const Sizes& sizes, Totals& totals, unsigned address,
        std::vector<Births>& born)
        : Endpoint(sizes, totals.counts, address), options_(options), totals_(totals),
          rng_(options.seed * 1000 + address), born_(born) {
        for (unsigned k = 0; k < NODES; ++k) {
            outgoing_[k].phase = incoming_[k].phase = PHASES;
            outgoing_[k].peer = incoming_[k].peer = k;
        }
        together = ~size_t{0};
        greet(9);  // that of routers is 0
    }

    void receive(const Flit& flit, uint64_t now) {
        Header h;
        unpack(flit.header, h);
        const uint32_t crc = crc_of(flit.header, flit.data);
        if (flit.crc != crc) {
            // What a router spoils is of a packet that was cut on a link.
            totals_.wrong += !options_.faults || flit.crc != ~crc;
            return;
        }
        if (h.kind == DATA)
            totals_.wrong += !receiving(h) || !is_mine(h) || (!options_.faults && !is_next(h));
        Endpoint::receive(now, h, flit.data);
    }

    // Whether there is a flit to send in this cycle, in which a packet may be made if `generates`.
    bool send(uint64_t now, bool generates, Flit& flit) {
        Header h;
        pass(now);
        if (generates && now >= 40 + 2 * options_.delay) generate(now);
        if (!next(h, flit.data)) return false;
        flit = flit_of(h, flit.data);
        return true;
    }
};

class Mesh {
    const Options& options_;
    Sizes sizes_ = SIZES;
    std::deque<Router> routers_;
    std::deque<End> ends_;
    std::vector<Channel> from_, to_, between_;  // ends, and into each other port of each router
    std::vector<Births> born_;
    uint64_t now_ = 0, seen_ = 0, since_ = 0;
    Totals totals_;
    unsigned errors_ = 0;
    uint64_t dropped_ = 0;

    Channel& into(unsigned k, unsigned port) {
        return port == LOCAL ? from_[k] : between_[k * LOCAL + port];
    }

    // Where the flits of a port go: into a neighbour, to the end, or nowhere.
    Channel* behind(unsigned k, unsigned port) {
        if (port == LOCAL) return &to_[k];
        const int entry = ENTRIES[k][port];
        return entry < 0 ? nullptr : &into(entry / PORTS, entry % PORTS);
    }

    void step(bool generates) {
        Flit flit;
        bool good;
        for (unsigned k = 0; k < NODES; ++k)
            for (unsigned port = 0; port < PORTS; ++port)
                if (Channel* to = behind(k, port); to && routers_[k].shown(port, flit))
                    to->put(now_, flit);
        for (unsigned k = 0; k < NODES; ++k) {
            if (to_[k].take(now_, flit, good) && good) ends_[k].receive(flit, now_);
            if (ends_[k].send(now_, generates, flit)) from_[k].put(now_, flit);
            for (unsigned port = 0; port < PORTS; ++port) {
                const bool given = into(k, port).take(now_, flit, good);
                routers_[k].give(port, given, flit);
            }
            routers_[k].settle();
            routers_[k].tick();
            errors_ |= routers_[k].errors();
            dropped_ += routers_[k].dropped();
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

    // Whether all packets have come and are acknowledged.
    bool done() const {
        return !waiting() && std::all_of(ends_.begin(), ends_.end(),
                                         [](const End& end) { return end.all_sent(); });
    }

    // Whether packets wait, and nothing has come to any end for longer than the longest route takes.
    bool wedged() {
        if (totals_.flits != seen_) seen_ = totals_.flits, since_ = now_;
        return now_ - since_ > options_.idle_limit && !done();
    }

public:
    Mesh(const Program& program, const Options& options) : options_(options), born_(NODES) {
        sizes_.timeout_cycles = options.timeout;
        uint64_t seed = options.seed * 2000;
        for (unsigned k = 0; k < NODES; ++k) {
            routers_.emplace_back(program, k);
            ends_.emplace_back(options, sizes_, totals_, k, born_);
            from_.emplace_back(options.delay, options.faults, seed++);
            to_.emplace_back(options.delay, options.faults, seed++);
        }
        for (unsigned k = 0; k < NODES * LOCAL; ++k)
            between_.emplace_back(options.delay, options.faults, seed++);
    }

    bool run() {
        while (now_ < options_.warm + options_.measure && !wedged()) step(true);
        const uint64_t backlog = waiting();
        while (!done() && !wedged()) step(false);
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
        json.add("dropped", dropped_);
        json.add("wedged", !done());
        json.add("resent", t.counts.resent);
        json.add("alternate", t.alternate);
        json.add("left_routes", t.left_routes);
        json.add("cycles", now_);
        add_faults(json, "faults_from_ends", from_);
        add_faults(json, "faults_to_ends", to_);
        add_faults(json, "faults_between", between_);
        json.print();
        return !t.wrong && !errors_;
    }
};

}  // namespace

bool run(Program& program) {
    Options options;
    options.read(program);
    program.read("load", options.load);
    program.read("pattern", options.pattern);
    program.read("flits", options.flits);
    program.read("circuits", options.circuits);
    program.read("timeout_cycles", options.timeout);
    program.read("warm", options.warm);
    program.read("measure", options.measure);
    program.finish();
    return Mesh{program, options}.run();
}
