// Two endpoints over a link that loses and changes flits: drives six flows, and checks all of it.
//
// See run_link in testbench/volume/link.py.
//
// Flow f goes from end f / 3 to the other one, on data circuit f % 3. Packets of pseudo-random data
// go in with random pauses and must come out the same, in order, each once, with their ends where
// they were; what each end puts on the link must keep docs/protocol.md. Prints counts as JSON.

#include <deque>

#include "conditions.hpp"
#include "pins.hpp"
#include "violations.hpp"

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

// Checks what an end puts on the link, and knows the limits that have reached it.
class Watch {
    Violations& rules_;
    const unsigned end_;
    bool held_ = false, open_ = false;
    Flit flit_;
    Header packet_;
    std::array<unsigned, CIRCUITS> ticket_{}, limit_;

    void broken(uint64_t now, const char* text, uint64_t detail) {
        rules_.violation(now, end_, "%s (%" PRIx64 ")", text, detail);
    }

public:
    std::array<uint64_t, KINDS> kinds{};

    Watch(Violations& rules, unsigned end) : rules_(rules), end_(end) { limit_.fill(0); }

    void told(const Header& h) {
        if (h.credit_circuit < CIRCUITS) limit_[h.credit_circuit] = h.credit_limit;
    }

    // An offered flit stays until it is taken.
    void offered(bool valid, const Flit& flit, uint64_t now) {
        if (held_ && (!valid || flit != flit_))
            broken(now, "an offered flit changed", flit.header);
        held_ = valid;
        flit_ = flit;
    }

    void gone(uint64_t now) {
        held_ = false;
        Header h;
        if (!unpack(flit_.header, h) || h.kind > HELLO)
            return broken(now, "not a header", flit_.header);
        ++kinds[h.kind];
        if (flit_.crc != crc_of(flit_.header, flit_.data))
            broken(now, "wrong CRC", flit_.crc);
        if (flit_.last != ends(h)) broken(now, "wrong tlast", flit_.header);
        if (h.kind != DATA && flit_.data) broken(now, "data", flit_.data);
        if (h.kind == DATA) return data(h, now);
        if (h.circuit != (h.kind == SYNC ? h.circuit % CIRCUITS : CONTROL))
            broken(now, "wrong circuit", flit_.header);
        if (h.kind == ASK) broken(now, "a source that asks", flit_.header);
        if (h.kind == SYNC && h.ticket != ticket_[h.circuit % CIRCUITS])
            broken(now, "a sync with another ticket than the next", flit_.header);
    }

    void data(const Header& h, uint64_t now) {
        if (h.circuit >= CIRCUITS) return broken(now, "wrong circuit", flit_.header);
        if (h.index ? !open_ || h.index != packet_.index + 1 || h.last != packet_.last ||
                          h.circuit != packet_.circuit || h.sequence != packet_.sequence ||
                          h.ticket != packet_.ticket || h.phase != packet_.phase ||
                          h.unicast != packet_.unicast
                    : open_)
            broken(now, "a packet is cut", flit_.header);
        if (h.index == 0) {
            const unsigned room = (limit_[h.circuit] - h.ticket) & TICKET_MASK;
            if (h.ticket != ticket_[h.circuit]) broken(now, "ticket", flit_.header);
            if (room <= h.last || room > BUFFER_FLITS) broken(now, "credit", flit_.header);
            ticket_[h.circuit] = (h.ticket + h.last + 1) & TICKET_MASK;
        }
        packet_ = h;
        open_ = h.index != h.last;
    }
};

class LinkBench : ClockedTop {
    const Options& options_;
    std::array<FlowPins, FLOWS> flow_pins_{{EACH_FLOW(FLOW_PINS)}};
    std::array<LinkPins, 2> links_{{EACH_LINK(LINK_PINS)}};
    Random rng_;
    std::array<PayloadStream, FLOWS> flows_;
    std::array<Channel, 2> channels_;
    Violations rules_;
    std::array<Watch, 2> watches_{Watch{rules_, 0}, Watch{rules_, 1}};
    uint64_t now_ = 0, idle_ = 0, first_ = 0, last_ = 0, wrong_ = 0, rewinds_ = 0,
             dropped_ = 0, errors_ = 0;

    // Flows are renamed in each round: phases turn, and the last is the default index.
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
            watches_[end].told(h);
        }
        links_[end].give(valid, flit);
        *links_[end].m_ready = !rng_.percent(options_.link_stall);
    }

    void send(unsigned end) {
        const LinkPins& pins = links_[end];
        const Flit flit = pins.shown();
        watches_[end].offered(*pins.m_valid, flit, now_);
        if (!*pins.m_valid || !*pins.m_ready) return;
        watches_[end].gone(now_);
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
            cycle();
            top_.clear = 0;
            for (unsigned f = 0; f < FLOWS; ++f)
                if (options_.flows >> f & 1) flows_[f].wanted += share(parts++, parts_in_all);
            while (!done() && idle_ < options_.idle_limit) cycle();
            // Until nothing is said of these flows.
            while (top_.idle != (1u << FLOWS) - 1 && idle_ < options_.idle_limit) cycle();
            finished += top_.idle == (1u << FLOWS) - 1;
            for (uint64_t k = 0; k < 4 * (options_.delay + PATIENCE_CYCLES + IDLE_CYCLES); ++k)
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
