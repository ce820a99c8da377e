// Endpoints around a switch, over links that lose and change flits: payload in, payload out.
//
// See run_switch_with_endpoints in testbench/volume/switch_with_endpoints.py, which writes the
// scenario.

#include <deque>

#include "bus.hpp"
#include "conditions.hpp"
#include "pins.hpp"

namespace {

constexpr unsigned FLOWS = CIRCUITS * PORTS, LINKS = 2 * PORTS;

struct FlowPins : PayloadPins {
    CData *send_phase, *send_peer, *receive_phase, *receive_peer;
};

// Packets of a flow, one after the other, then from the first again.
struct Pool {
    uint64_t at = 0;
    std::vector<std::vector<uint64_t>> packets;

    void read(Reader& next) {
        packets.resize(next());
        for (auto& packet : packets) packet = next.list();
    }
    const std::vector<uint64_t>& packet() const { return packets[at % packets.size()]; }
};

struct Job {
    unsigned phase = 0, peer = 0, pool = 0;
    uint64_t packets = 0;
};

// What goes in, or comes out, on a circuit of a port: flow after flow.
struct Side {
    unsigned index = 0, job = 0;
    uint64_t flits = 0;
    bool offering = false;
    std::vector<Pool> pools;
    std::vector<Job> jobs;

    void read(Reader& next) {
        pools.resize(next());
        for (Pool& pool : pools) pool.read(next);
        jobs.resize(next());
        for (Job& one : jobs)
            one = {unsigned(next()), unsigned(next()), unsigned(next()), next()};
    }
    // Flow after flow: when it has changed, its pins follow.
    void follow(bool may, CData& phase, CData& peer) {
        if (may && jobs[job].packets == 0 && job + 1 < jobs.size()) ++job;
        phase = jobs[job].phase;
        peer = jobs[job].peer;
    }
    bool over() const { return jobs[job].packets == 0; }
    bool all_over() const { return over() && job + 1 == jobs.size(); }
    const std::vector<uint64_t>& packet() const { return pools[jobs[job].pool].packet(); }
    bool last() const { return index + 1 == packet().size(); }
    void step() {
        ++flits;
        if (!last()) {
            ++index;
            return;
        }
        index = 0;
        ++pools[jobs[job].pool].at;
        --jobs[job].packets;
    }
    uint64_t all_flits() const {
        uint64_t count = 0;
        std::vector<Pool> left = pools;
        for (const Job& one : jobs)
            for (uint64_t k = 0; k < one.packets; ++k, ++left[one.pool].at)
                count += left[one.pool].packet().size();
        return count;
    }
};

class SystemBench : ClockedTop {
    const Conditions& conditions_;
    Bus bus_{top_};
    std::array<FlowPins, FLOWS> payload_{{EACH_FLOW(FLOW_PINS)}};
    std::array<LinkPins, LINKS> links_{{EACH_LINK(LINK_PINS)}};
    std::array<Side, FLOWS> sent_, wanted_;
    std::deque<Channel> channels_;  // from each of the links' ends
    Random rng_;
    uint64_t now_ = 0, idle_ = 0, first_ = 0, last_ = 0, wrong_ = 0, errors_ = 0, rewinds_ = 0;

    void configure(Reader& next) {
        for (const Operation& one : read_operations(next))
            bus_.finish(one, [this] { top_.eval(); }, [this] { clock(); });
    }

    void offer(unsigned n) {
        const FlowPins& pins = payload_[n];
        Side& side = sent_[n];
        // An NPU knows what it has got as soon as it has it, and what has been got by its idle.
        side.follow(top_.idle >> n & 1, *pins.send_phase, *pins.send_peer);
        wanted_[n].follow(true, *pins.receive_phase, *pins.receive_peer);
        if (!side.over() && !side.offering) side.offering = !rng_.percent(conditions_.stall);
        *pins.i_valid = side.offering;
        *pins.o_ready = !rng_.percent(conditions_.stall);
        if (!side.offering) return;
        *pins.i_data = side.packet()[side.index];
        *pins.i_last = side.last();
    }

    void move(unsigned n) {
        const PayloadPins& pins = payload_[n];
        if (*pins.i_valid && *pins.i_ready) {
            if (first_ == 0) first_ = now_;
            sent_[n].step();
            sent_[n].offering = false;
            idle_ = 0;
        }
        if (!*pins.o_valid || !*pins.o_ready) return;
        Side& side = wanted_[n];
        last_ = now_;
        idle_ = 0;
        if (side.over()) {
            ++wrong_;
            return;
        }
        wrong_ += *pins.o_data != side.packet()[side.index] || *pins.o_last != side.last();
        side.step();
    }

    void cycle() {
        for (unsigned n = 0; n < FLOWS; ++n) offer(n);
        for (unsigned k = 0; k < LINKS; ++k) {
            Flit flit;
            bool good;
            const bool valid = channels_[(k + PORTS) % LINKS].take(now_, flit, good);
            links_[k].give(valid, flit);
            *links_[k].m_ready = 1;
        }
        top_.eval();
        ++idle_;
        for (unsigned n = 0; n < FLOWS; ++n) move(n);
        for (unsigned k = 0; k < LINKS; ++k)
            if (*links_[k].m_valid) channels_[k].put(now_, links_[k].shown());
        for (unsigned bits = top_.rewinds; bits; bits &= bits - 1) ++rewinds_;
        errors_ += top_.error;
        clock();
        ++now_;
    }

    bool done() const {
        for (unsigned n = 0; n < FLOWS; ++n)
            if (!sent_[n].all_over() || !wanted_[n].all_over()) return false;
        return top_.idle == (1u << FLOWS) - 1;
    }

public:
    SystemBench(const Program& program, const Conditions& conditions)
        : ClockedTop(program), conditions_(conditions), rng_(conditions.seed) {
        for (unsigned k = 0; k < LINKS; ++k)
            channels_.emplace_back(conditions.delay, conditions.faults,
                                   conditions.seed * 100 + k);
    }

    bool run(Reader& next) {
        reset(4);
        configure(next);
        uint64_t wanted = 0, matched = 0;
        for (unsigned n = 0; n < FLOWS; ++n) {
            sent_[n].read(next);
            wanted_[n].read(next);
            wanted += wanted_[n].all_flits();
        }
        while (!done() && idle_ < conditions_.idle_limit) cycle();
        const bool finished = done();
        for (int k = 0; k < 1000; ++k) cycle();
        for (const Side& side : wanted_) matched += side.flits;
        const bool right = finished && matched == wanted && !wrong_ && !errors_ && wanted;
        Json json;
        json.add("right", right);
        json.add("flits", wanted);
        json.add("matched", matched);
        json.add("wrong", wrong_);
        json.add("errors", errors_);
        json.add("cycles", now_);
        json.add("span_cycles", last_ - first_ + 1);
        json.add("rewinds", rewinds_);
        add_faults(json, "faults", channels_);
        json.print();
        return right;
    }
};

}  // namespace

bool run(Program& program) {
    Conditions conditions;
    conditions.read(program);
    program.finish();
    Reader next{program.scenario};
    return SystemBench{program, conditions}.run(next);
}
