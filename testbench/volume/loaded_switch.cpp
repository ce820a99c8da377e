// Drives switches with endpoints over channels that damage flits, and checks all of it.
//
// See run_switch in testbench/volume/loaded_switch.py, which writes the scenario.

#include <numeric>

#include "conductor.hpp"
#include "watch.hpp"

namespace {

// Flits of one direction of a port: how many, and between which cycles those of data.
struct Count {
    uint64_t flits = 0, data = 0, first = 0, last = 0;

    void add(bool payload, uint64_t now) {
        ++flits;
        if (!payload) return;
        if (!data++) first = now;
        last = now;
    }
    double rate() const { return data ? static_cast<double>(data) / (last - first + 1) : 0; }
};

struct PortWatch : Watch {
    // Circuit and flow of the packet that was begun last, to tell when one overtakes another.
    Incoming* flow = nullptr;
    unsigned circuit = 0;
};

class SwitchBench {
    const Options& options_;
    Tally tally_;
    Scenario scenario_;
    const unsigned npus_, ports_;  // of all switches
    std::deque<CheckingEndpoint> ends_;
    std::deque<VerilatedSwitch> devices_;
    Conductor conductor_;
    std::deque<Channel> to_, from_;  // from the NPUs; from the ports of switches
    std::vector<PortWatch> watches_;
    std::vector<Count> in_, out_;
    std::vector<Random> pauses_;
    std::vector<bool> ready_;
    uint64_t now_ = 0, late_ = 0, overtakings_ = 0;
    bool complete_ = false;

    bool is_npu(unsigned k) const { return scenario_.peers[k] < npus_; }
    // What comes to a port.
    Channel& into(unsigned k) {
        const unsigned peer = scenario_.peers[k];
        return is_npu(k) ? to_[peer] : from_[peer - npus_];
    }

    void note_packet(unsigned k, const Header& h) {
        PortWatch& watch = watches_[k];
        const Incoming* before = watch.flow;
        if (before && h.circuit < watch.circuit &&
            !std::binary_search(before->ends.begin(), before->ends.end(), before->expected))
            ++overtakings_;
        const unsigned place = h.unicast ? PHASES + address_of(h.source) : h.phase;
        watch.flow = place < PHASES + npus_ ? &ends_[scenario_.peers[k]].incoming[place] : nullptr;
        watch.circuit = h.circuit;
    }

    void cycle() {
        Flit flit;
        bool good;
        conductor_.step(now_);
        for (unsigned k = 0; k < ports_; ++k) {
            const bool given = into(k).take(now_, flit, good);
            devices_[k / PORTS].give(k % PORTS, given, flit);
            if (given) in_[k].add(kind_of(flit.header) == DATA, now_);
            ready_[k] = !pauses_[k].percent(options_.stall);
            devices_[k / PORTS].ready(k % PORTS, ready_[k]);
        }
        for (VerilatedSwitch& device : devices_) device.settle();
        for (unsigned k = 0; k < ports_; ++k) {
            const VerilatedSwitch& device = devices_[k / PORTS];
            if (!device.taken(k % PORTS)) tally_.violation(now_, k, "tready is low");
            if (device.shown(k % PORTS, flit)) {
                watches_[k].hold(flit, ready_[k], k, now_, tally_);
                if (ready_[k]) outlet(k, flit);
            } else {
                watches_[k].none(k, now_, tally_);
            }
        }
        for (VerilatedSwitch& device : devices_) device.tick();
        for (unsigned k = 0; k < ports_; ++k) {
            if (!is_npu(k)) continue;
            const unsigned npu = scenario_.peers[k];
            if (from_[k].take(now_, flit, good) && good) ends_[npu].receive(flit, now_);
            if (ends_[npu].send(now_, flit)) to_[npu].put(now_, flit);
        }
        ++now_;
    }

    void outlet(unsigned k, const Flit& flit) {
        Header h;
        const Watch::Verdict verdict = watches_[k].check(flit, h, k, now_, tally_);
        ++tally_.from_switch[std::min(h.kind, static_cast<unsigned>(HANDSHAKE))];
        tally_.stomped += verdict == Watch::STOMPED;
        out_[k].add(h.kind == DATA, now_);
        if (is_npu(k) && h.kind == DATA && h.index == 0) note_packet(k, h);
        late_ += complete_ && h.kind == DATA;
        // An NPU drops a flit that the switch spoils.
        if (verdict == Watch::GOOD || !is_npu(k)) from_[k].put(now_, flit);
    }

    bool done() const {
        return conductor_.done() && std::all_of(ends_.begin(), ends_.end(),
                                                [](const auto& end) { return end.done(); });
    }

    void add_ports(Json& json, const char* name, const std::vector<Count>& counts) const {
        json.open(name, '[');
        for (const Count& count : counts) {
            json.open(nullptr, '{');
            json.add("flits", count.flits);
            json.add("data", count.data);
            json.add("first", count.first);
            json.add("last", count.last);
            json.add("rate", count.rate());
            json.close('}');
        }
        json.close(']');
    }

    void add_arrivals(Json& json) const {
        json.open("arrivals", '{');
        for (unsigned k = 0; k < npus_; ++k)
            for (size_t place = 0; place < ends_[k].incoming.size(); ++place) {
                const Incoming& flow = ends_[k].incoming[place];
                const std::string name = std::to_string(k) + "/" + std::to_string(place);
                if (!flow.arrivals.empty()) json.add_list(name.c_str(), flow.arrivals);
            }
        json.close('}');
    }

    int64_t latency() const {
        uint64_t begun = 0, came = ~uint64_t{0};
        for (unsigned k = 0; k < ports_; ++k) {
            if (in_[k].data) begun = std::max(begun, in_[k].first);
            if (out_[k].data) came = std::min(came, out_[k].first);
        }
        return came == ~uint64_t{0} ? -1 : static_cast<int64_t>(came - begun);
    }

    // The words of registers, when all is over.
    void add_registers(Json& json) {
        std::vector<uint64_t> words;
        for (const Operation& one : scenario_.reads)
            words.push_back(devices_[one.device].finish(one));
        json.add_list("registers", words);
    }

public:
    SwitchBench(const Program& program, const Options& options,
                const std::array<Planned, 2>& planned, unsigned port)
        : options_(options), scenario_(program.scenario), npus_(scenario_.npus),
          ports_(scenario_.switches * PORTS), conductor_(scenario_, ends_, devices_),
          watches_(ports_), in_(ports_), out_(ports_), ready_(ports_) {
        for (unsigned k = 0; k < scenario_.switches; ++k) devices_.emplace_back(program);
        for (unsigned k = 0; k < npus_; ++k) {
            ends_.emplace_back(k, npus_, options, tally_);
            to_.emplace_back(options.delay, options.faults, options.seed * 2000 + 2 * k);
        }
        for (unsigned k = 0; k < ports_; ++k) {
            from_.emplace_back(options.delay, options.faults, options.seed * 2000 + 2 * k + 1);
            pauses_.emplace_back(options.seed * 3000 + k);
        }
        if (port >= npus_) refuse("there is no such port");
        to_[port].planned = planned[0];
        from_[port].planned = planned[1];
    }

    bool run() {
        for (VerilatedSwitch& device : devices_) device.reset();
        for (const Operation& one : scenario_.setup) devices_[one.device].finish(one);
        while (!(complete_ = done()) && now_ - tally_.progress < options_.idle_limit) cycle();
        if (!complete_)
            for (const auto& end : ends_) end.dump(stderr);
        const uint64_t finished = now_;
        // What still goes about must change nothing.
        for (uint64_t k = 2 * options_.delay + TIMEOUT_CYCLES + 200; k && complete_; --k) cycle();
        uint64_t fault_cycle = 0;
        for (const auto* channels : {&to_, &from_})
            for (const Channel& one : *channels) fault_cycle = std::max(fault_cycle, one.fault_cycle);
        const bool right = complete_ && !tally_.wrong && !tally_.violations;
        Json json;
        json.add("right", right);
        json.add("flits", tally_.delivered);
        json.add("packets", tally_.packets);
        json.add("wanted_packets", scenario_.wanted);
        json.add("wrong", tally_.wrong);
        json.add("violations", tally_.violations);
        json.add("cycles", finished);
        json.add("rewrites", conductor_.rewrites);
        json.add("resent", tally_.to_switch.resent);
        json.add("timeouts", tally_.to_switch.timeouts);
        json.add("stomped", tally_.stomped);
        json.add("preemptions", overtakings_);
        json.add("source_preemptions", tally_.preemptions);
        json.add("late_flits", late_);
        json.add("fault_cycle", fault_cycle);
        json.add("latency_cycles", latency());
        add_kinds(json, "to_switch", tally_.to_switch.sent);
        add_kinds(json, "from_switch", tally_.from_switch);
        add_faults(json, "faults_to_switch", to_);
        add_faults(json, "faults_from_switch", from_);
        json.open("link_faults", '[');
        for (const auto* channels : {&to_, &from_})
            for (const Channel& one : *channels) json.add(nullptr, std::accumulate(one.counts.begin(), one.counts.end(), uint64_t{0}));
        json.close(']');
        add_ports(json, "in", in_);
        add_ports(json, "out", out_);
        if (options_.trace) add_arrivals(json);
        add_registers(json);
        json.add_list("messages", tally_.first);
        json.print();
        return right;
    }
};

}  // namespace

bool run(Program& program) {
    Options options;
    unsigned kind = 0, direction = 0, port = 0;
    int64_t at = -1;
    options.read(program);
    program.read("start_spread", options.spread);
    program.read("gap_cycles", options.gap);
    program.read("interval_cycles", options.interval);
    program.read("trace", options.trace);
    program.read("stop_port", options.stop_port);
    program.read("stop_at", options.stop_at);
    program.read("stop_cycles", options.stop_cycles);
    program.read("slow_port", options.slow_port);
    program.read("slow_cycles", options.slow_cycles);
    program.read("written_phase", options.written_phase);
    program.read("fault_kind", kind);
    program.read("fault_at", at);
    program.read("fault_direction", direction);
    program.read("fault_port", port);
    program.finish();
    if (options.delay < 1 || options.stall > 95 || kind >= FAULTS)
        refuse("an option is out of range");
    std::array<Planned, 2> planned;
    if (at >= 0) planned[direction != 0] = {true, static_cast<Fault>(kind), uint64_t(at)};
    return SwitchBench{program, options, planned, port}.run();
}
