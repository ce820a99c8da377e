// Two endpoints over a link that loses and changes flits: drives six flows, and checks all of it.
//
// See run_link in testbench/volume/link.py.
//
// Flow f goes from end f / 3 to the other one, on virtual channel f % 3. Packets of pseudo-random data
// go in with random pauses and must come out the same, in order, each once, with their ends where
// they were; what each end puts on the link must keep docs/reference/protocol.md. Prints counts as JSON.

#include <deque>

#include "conditions.hpp"
#include "pins.hpp"
#include "watch.hpp"

namespace {

constexpr unsigned FLOWS = 2 * CIRCUITS;

struct Options : Conditions {
    uint64_t flits = 0;
    unsigned link_stall = 0, packet_flits = 1, flows = 0, rounds = 1;
    bool fixed = false;
};

struct FlowPins : PayloadPins {
    CData* phase;
};

struct PayloadStream {
    std::deque<uint64_t> expected;  // data, and below it whether the packet ends
    uint64_t wanted = 0, sent = 0, matched = 0, data = 0;
    unsigned left = 0;
    bool offering = false, last = false, held = false;
    uint64_t held_word = 0;
};

// What an end puts on the link, and the limits and acks of its unicasts that have reached it.
struct EndWatch : Watch {
    Sending unicasts;
    std::array<unsigned, CIRCUITS> limits{};
    std::array<uint64_t, KINDS> kinds{};
};

class LinkBench : ClockedTop {
    const Options& options_;
    std::array<FlowPins, FLOWS> flow_pins_{{EACH_FLOW(FLOW_PINS)}};
    std::array<LinkPins, 2> links_{{EACH_LINK(LINK_PINS)}};
    Random rng_;
    std::array<PayloadStream, FLOWS> flows_;
    std::array<Channel, 2> channels_;
    Violations rules_;
    std::array<EndWatch, 2> watches_;
    uint64_t now_ = 0, idle_ = 0, first_ = 0, last_ = 0, wrong_ = 0, rewinds_ = 0,
             dropped_ = 0, errors_ = 0, changes_ = 0;

    // Flows are renamed in each round: phases turn, and the last is that of unicasts.
    void name_flows(unsigned round) {
        for (unsigned f = 0; f < FLOWS; ++f) {
            const unsigned turn = (f % CIRCUITS + round) % CIRCUITS;
            *flow_pins_[f].phase = turn == 2 ? PHASES : (turn + round) % PHASES;
        }
    }

    void offer(PayloadStream& flow, const PayloadPins& ports) {
        if (!flow.offering && flow.sent < flow.wanted && !rng_.percent(options_.stall)) {
            if (flow.left == 0)
                flow.left = options_.fixed ? options_.packet_flits
                                           : 1 + rng_.below(options_.packet_flits);
            flow.offering = true;
            flow.data = rng_() & DATA_MASK;
            flow.last = flow.left == 1 || flow.sent + 1 == flow.wanted;
        }
        *ports.i_valid = flow.offering;
        *ports.i_data = flow.data;
        *ports.i_last = flow.last;
        *ports.o_ready = !rng_.percent(options_.stall);
    }

    void move(PayloadStream& flow, const PayloadPins& ports) {
        if (*ports.i_valid && *ports.i_ready) {
            if (first_ == 0) first_ = now_;
            flow.expected.push_back(flow.data << 1 | flow.last);
            ++flow.sent;
            flow.left = flow.last ? 0 : flow.left - 1;
            flow.offering = false;
            idle_ = 0;
        }
        const uint64_t got = uint64_t{*ports.o_data} << 1 | *ports.o_last;
        if (flow.held && (!*ports.o_valid || got != flow.held_word))
            rules_.violation(now_, &flow - flows_.data(), "an offered payload changed (%" PRIx64 ")",
                             got);
        flow.held = *ports.o_valid && !*ports.o_ready;
        flow.held_word = got;
        if (!*ports.o_valid || !*ports.o_ready) return;
        if (flow.expected.empty() || flow.expected.front() != got) ++wrong_;
        if (!flow.expected.empty()) flow.expected.pop_front();
        ++flow.matched;
        last_ = now_;
        idle_ = 0;
    }

    void receive(unsigned end) {
        Flit flit;
        bool good = true;
        const bool valid = channels_[1 - end].take(now_, flit, good);
        if (valid && good) {
            Header h;
            unpack(flit.header, h);
            if (h.credit_circuit < CIRCUITS)
                watches_[end].limits[h.credit_circuit] = h.credit_limit;
            if (CHOOSES) pass_router(end, h, flit);
        }
        links_[end].give(valid, flit);
        *links_[end].m_ready = !rng_.percent(options_.link_stall);
    }

    // If sources choose routes: report a random load of their outputs, as a router would, and note
    // acks.
    void pass_router(unsigned end, Header& h, Flit& flit) {
        if (h.kind != ACK && h.kind != NACK && h.kind != CREDIT) return;
        h.index = rng_.below(16);
        h.last = rng_.below(16);
        h.link_sequence = rng_.below(256);
        flit = flit_of(h, flit.data);
        Sending& flow = watches_[end].unicasts;
        const unsigned ahead = (h.sequence - flow.base) & SEQUENCE_MASK;
        if (h.kind != ACK || !h.unicast || ahead > flow.begun - flow.base) return;
        flow.base += ahead;
        flow.settle();
    }

    // A unicast packet takes the route of those before it, unless none of them can be in flight.
    void check_route(unsigned end, const Header& h) {
        Sending& flow = watches_[end].unicasts;
        const unsigned ahead = (h.sequence - flow.base) & SEQUENCE_MASK;
        const bool alternate = h.alternate;
        // One that has just been acked may be on its way here.
        const uint64_t number = flow.base + ahead - (ahead > WINDOW_PACKETS ? SEQUENCE_MASK + 1 : 0);
        if (number < flow.begun) flow.again();
        if (alternate != flow.alternate) {
            ++changes_;
            if (flow.in_flight())
                rules_.violation(now_, end, "a route that changes at packet %u", h.sequence);
        }
        flow.alternate = alternate;
        flow.begun = std::max(flow.begun, number + 1);
    }

    void send(unsigned end) {
        const LinkPins& pins = links_[end];
        EndWatch& watch = watches_[end];
        if (!*pins.m_valid) return watch.none(end, now_, rules_);
        const Flit flit = pins.shown();
        watch.hold(flit, *pins.m_ready, end, now_, rules_);
        if (!*pins.m_ready) return;
        Header h;
        if (watch.check(flit, h, end, now_, rules_) == Watch::STOMPED)
            rules_.violation(now_, end, "a source that spoils a flit");
        if (h.kind <= HANDSHAKE) ++watch.kinds[h.kind];
        if (h.kind == ASK) rules_.violation(now_, end, "a source that asks");
        if (CHOOSES && h.unicast && h.kind == DATA && h.index == 0) check_route(end, h);
        if (h.kind == DATA && h.index == 0 && h.circuit < CIRCUITS) {
            const unsigned space = (watch.limits[h.circuit] - h.link_sequence) & LINK_SEQUENCE_MASK;
            if (space <= h.last || space > BUFFER_FLITS)
                rules_.violation(now_, end, "no credit for link sequence number %u", h.link_sequence);
        }
        channels_[end].put(now_, flit);
    }

    void cycle() {
        for (unsigned f = 0; f < FLOWS; ++f) offer(flows_[f], flow_pins_[f]);
        // What an end offers must not depend on what comes in this cycle, so it may be seen after.
        for (unsigned end = 0; end < 2; ++end) receive(end);
        top_.eval();
        ++idle_;
        for (unsigned f = 0; f < FLOWS; ++f) move(flows_[f], flow_pins_[f]);
        for (unsigned end = 0; end < 2; ++end) send(end);
        for (unsigned bits = top_.rewinds; bits; bits &= bits - 1) ++rewinds_;
        for (unsigned bits = top_.dropped; bits; bits &= bits - 1) ++dropped_;
        if (top_.error) ++errors_;
        clock();
        ++now_;
    }

    // Flits of one part of all: no two differ by more than one, and together they are all.
    uint64_t share(uint64_t part, uint64_t parts) const {
        return options_.flits * (part + 1) / parts - options_.flits * part / parts;
    }

    bool done() const {
        for (const PayloadStream& flow : flows_)
            if (flow.matched < flow.wanted) return false;
        return true;
    }

public:
    LinkBench(const Program& program, const Options& options)
        : ClockedTop(program), options_(options), rng_(options.seed),
          channels_{Channel{options.delay, options.faults, 2 * options.seed},
                    Channel{options.delay, options.faults, 2 * options.seed + 1}} {}

    bool run() {
        unsigned active = 0, finished = 0;
        for (unsigned bits = options_.flows; bits; bits &= bits - 1) ++active;
        uint64_t parts = 0;
        const uint64_t parts_in_all = uint64_t{active} * options_.rounds;
        top_.clear = 0;
        name_flows(0);
        reset(3);
        for (unsigned round = 0; round < options_.rounds && idle_ < options_.idle_limit; ++round) {
            name_flows(round);
            top_.clear = round > 0;
            for (EndWatch& watch : watches_) watch.unicasts = {};
            cycle();
            top_.clear = 0;
            for (unsigned f = 0; f < FLOWS; ++f)
                if (options_.flows >> f & 1) flows_[f].wanted += share(parts++, parts_in_all);
            while (!done() && idle_ < options_.idle_limit) cycle();
            // Until nothing is said of these flows.
            while (top_.idle != (1u << FLOWS) - 1 && idle_ < options_.idle_limit) cycle();
            finished += top_.idle == (1u << FLOWS) - 1;
            for (uint64_t k = 0; k < 4 * (options_.delay + PACKET_TIMEOUT_CYCLES + NACK_TIMEOUT_CYCLES); ++k)
                cycle();
        }
        return print(finished == options_.rounds);
    }

    bool print(bool finished) {
        uint64_t wanted = 0, matched = 0, left = 0;
        for (const PayloadStream& flow : flows_) {
            wanted += flow.wanted;
            matched += flow.matched;
            left += flow.expected.size();
        }
        const bool right = finished && matched == wanted && !wrong_ && !left &&
                           !rules_.violations && wanted > 0 && !errors_;
        Json json;
        json.add("right", right);
        json.add("flits", wanted);
        json.add("matched", matched);
        json.add("wrong", wrong_);
        json.add("violations", rules_.violations);
        json.add_list("messages", rules_.first);
        json.add("cycles", now_);
        json.add("span_cycles", last_ - first_ + 1);
        json.add("rewinds", rewinds_);
        json.add("dropped", dropped_);
        json.add("errors", errors_);
        json.add("changes", changes_);
        add_kinds(json, "from_0", watches_[0].kinds);
        add_kinds(json, "from_1", watches_[1].kinds);
        add_faults(json, "faults", channels_);
        json.print();
        return right;
    }
};

}  // namespace

bool run(Program& program) {
    Options options;
    options.read(program);
    program.read("flits", options.flits);
    program.read("link_stall_percent", options.link_stall);
    program.read("packet_flits", options.packet_flits);
    program.read("flows", options.flows);
    program.read("rounds", options.rounds);
    program.read("fixed", options.fixed);
    program.finish();
    if (options.packet_flits < 1 || options.packet_flits > PACKET_FLITS || options.rounds < 1)
        refuse("an option is out of range");
    return LinkBench{program, options}.run();
}
