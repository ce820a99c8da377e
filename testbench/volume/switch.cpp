// Drives all ports of a switch with NPUs over channels that damage flits, and checks all of it.
//
// usage: PROGRAM SCENARIO [NAME=VALUE ...]; see testbench/volume/switch.py, which writes the scenario, puts
// the sizes of the switch and the other parts of the harness before this file, and builds it with
// Verilator, or with hub.cpp in place of the hardware. Prints one JSON object; exits with 0 if all
// packets came right, 1 if not, 2 if it could not start.

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

// What a switch puts on a link must keep the protocol before anything damages it.
class Watch {
    Header before_;
    bool inside_ = false, held_ = false;
    Flit flit_;
    std::array<unsigned, CIRCUITS> tickets_{}, limits_;

    void check_data(const Header& h, bool stomped, unsigned port, uint64_t now, Report& report) {
        if (h.circuit >= CIRCUITS) return report.violation(now, port, "data of circuit 3");
        if (stomped && inside_) {
            inside_ = false;
            return;
        }
        if (inside_) {
            if (h.index != before_.index + 1 || h.last != before_.last ||
                h.phase != before_.phase || h.peer != before_.peer ||
                h.sequence != before_.sequence || h.ticket != before_.ticket ||
                h.circuit != before_.circuit)
                report.violation(now, port, "flit %u of phase %u packet %u follows flit %u of "
                                 "phase %u packet %u", h.index, h.phase, h.sequence,
                                 before_.index, before_.phase, before_.sequence);
        } else {
            if (h.index != 0)
                report.violation(now, port, "a packet begins with flit %u", h.index);
            if (h.ticket != tickets_[h.circuit])
                report.violation(now, port, "ticket %u of circuit %u, want %u", h.ticket,
                                 h.circuit, tickets_[h.circuit]);
            tickets_[h.circuit] = (h.ticket + 1) & TICKET_MASK;
        }
        inside_ = h.index != h.last && !stomped;
        before_ = h;
    }

    // Room that was promised is not taken back.
    void check_limit(const Header& h, unsigned port, uint64_t now, Report& report) {
        if (h.credit_circuit >= CIRCUITS) return;
        unsigned& limit = limits_[h.credit_circuit];
        if (((h.credit_limit - limit) & TICKET_MASK) > TICKET_MASK / 2)
            report.violation(now, port, "limit of circuit %u goes from %u back to %u",
                             h.credit_circuit, limit, h.credit_limit);
        limit = h.credit_limit;
    }

public:
    Watch() { limits_.fill(BUFFER_PACKETS); }

    // Circuit and flow of the packet that was begun last, to tell when one overtakes another.
    Receiving* flow = nullptr;
    unsigned circuit = 0;

    void hold(const Flit& flit, bool moves, unsigned port, uint64_t now, Report& report) {
        if (held_ && (flit.header != flit_.header || flit.data != flit_.data ||
                      flit.crc != flit_.crc || flit.last != flit_.last))
            report.violation(now, port, "a flit that was offered has changed: header %" PRIx64
                             ", data %" PRIx64 ", CRC %x became %" PRIx64 ", %" PRIx64 ", %x",
                             flit_.header, flit_.data, flit_.crc, flit.header, flit.data, flit.crc);
        held_ = !moves;
        flit_ = flit;
    }
    void none(unsigned port, uint64_t now, Report& report) {
        if (held_) report.violation(now, port, "a flit that was offered has gone");
        held_ = false;
    }

    // Whether the flit's CRC is right.
    bool check(const Flit& flit, Header& h, unsigned port, uint64_t now, Report& report) {
        const uint32_t crc = crc_of(flit.header, flit.data);
        const bool good = flit.crc == crc, stomped = flit.crc == ~crc;
        const bool zero = Header::unpack(flit.header, h);
        ++report.from_switch[std::min(h.kind, static_cast<unsigned>(ASK))];
        report.stomped += stomped;
        if (!good && !stomped) report.violation(now, port, "CRC %x, want %x", flit.crc, crc);
        if (!zero) report.violation(now, port, "header %" PRIx64 " beyond its fields", flit.header);
        if (h.kind > ASK) report.violation(now, port, "kind %u", h.kind);
        if (flit.last != (h.kind != DATA || h.index == h.last) && good)
            report.violation(now, port, "tlast %u at flit %u of %u", flit.last, h.index, h.last);
        if (good) check_limit(h, port, now, report);
        if (h.kind == DATA) {
            check_data(h, stomped, port, now, report);
            return good;
        }
        if (flit.data) report.violation(now, port, "data in a control flit");
        if (h.kind == SYNC) {
            if (h.circuit >= CIRCUITS || h.ticket != tickets_[h.circuit])
                report.violation(now, port, "sync of circuit %u with ticket %u", h.circuit,
                                 h.ticket);
        } else if (h.circuit != CONTROL) {
            report.violation(now, port, "kind %u on circuit %u", h.kind, h.circuit);
        }
        return good;
    }
};

class Bench {
    Options& options_;
    Report report_;
    std::deque<End> ends_;
    Scenario scenario_;
    Device device_;
    std::deque<Channel> to_, from_;
    std::vector<Watch> watches_;
    std::vector<Count> in_, out_;
    std::vector<Random> pauses_;
    std::vector<bool> ready_, given_;
    uint64_t now_ = 0, late_ = 0, overtakings_ = 0;
    bool complete_ = false;

    static std::deque<End> make_ends(const Options& options, Report& report) {
        std::deque<End> ends;
        for (unsigned k = 0; k < PORTS; ++k) ends.emplace_back(k, options, report);
        return ends;
    }

    void note_packet(unsigned k, unsigned phase, unsigned peer, unsigned circuit) {
        Watch& watch = watches_[k];
        const Receiving* before = watch.flow;
        if (before && circuit < watch.circuit &&
            !std::binary_search(before->ends.begin(), before->ends.end(), before->expected))
            ++overtakings_;
        const unsigned place = phase < PHASES ? phase : PHASES + peer;
        watch.flow = place < PHASES + PORTS ? &ends_[k].incoming[place] : nullptr;
        watch.circuit = circuit;
    }

    void cycle() {
        Flit flit;
        for (unsigned k = 0; k < PORTS; ++k) {
            bool good;
            if constexpr (LINK) given_[k] = to_[k].take(now_, flit, good);
            else given_[k] = ends_[k].send(now_, flit);
            device_.give(k, given_[k], flit);
            if (given_[k] && LINK) in_[k].add((flit.header & mask(KIND_BITS)) == DATA, now_);
            ready_[k] = !pauses_[k].percent(options_.stall);
            if (!LINK && options_.stops(k, now_)) ready_[k] = false;
            device_.ready(k, ready_[k]);
        }
        device_.settle();
        for (unsigned k = 0; k < PORTS; ++k) {
            inlet(ends_[k], k);
            if (device_.shown(k, flit)) {
                watches_[k].hold(flit, ready_[k], k, now_, report_);
                if (ready_[k]) outlet(k, flit);
            } else {
                watches_[k].none(k, now_, report_);
            }
        }
        device_.tick();
        if constexpr (LINK) {
            bool good;
            for (unsigned k = 0; k < PORTS; ++k) {
                if (from_[k].take(now_, flit, good) && good) ends_[k].receive(flit, now_);
                if (ends_[k].send(now_, flit)) to_[k].put(now_, flit);
            }
        }
        ++now_;
    }

    template <class T>
    void inlet(T& end, unsigned k) {
        if constexpr (LINK) {
            if (!device_.taken(k)) report_.violation(now_, k, "tready is low");
        } else {
            if (!given_[k] || !device_.taken(k)) return;
            end.taken(now_);
            in_[k].add(true, now_);
        }
    }

    void outlet(unsigned k, const Flit& flit) {
        if constexpr (LINK) {
            Header h;
            const bool good = watches_[k].check(flit, h, k, now_, report_);
            out_[k].add(h.kind == DATA, now_);
            if (h.kind == DATA && h.index == 0) note_packet(k, h.phase, h.peer, h.circuit);
            late_ += complete_ && h.kind == DATA;
            // A flit that the switch spoils is dropped at the other end.
            if (good) from_[k].put(now_, flit);
        } else {
            out_[k].add(true, now_);
            ++report_.from_switch[DATA];
            ends_[k].receive(flit, now_);
        }
    }

    bool done() const {
        return std::all_of(ends_.begin(), ends_.end(), [](const End& end) { return end.done(); });
    }

    void add_list(std::string& text, const char* name, const std::vector<Count>& counts) const {
        char part[160];
        text += std::string(", \"") + name + "\": [";
        for (unsigned k = 0; k < PORTS; ++k) {
            std::snprintf(part, sizeof part,
                          "%s{\"flits\": %" PRIu64 ", \"data\": %" PRIu64 ", \"first\": %" PRIu64
                          ", \"last\": %" PRIu64 ", \"rate\": %.6f}", k ? ", " : "",
                          counts[k].flits, counts[k].data, counts[k].first, counts[k].last,
                          counts[k].rate());
            text += part;
        }
        text += "]";
    }

    static void add_kinds(std::string& text, const char* name, const std::array<uint64_t, 6>& sums) {
        constexpr const char* kinds[] = {"data", "ack", "nack", "credit", "sync", "ask"};
        text += std::string(", \"") + name + "\": {";
        for (unsigned kind = 0; kind < 6; ++kind)
            text += std::string(kind ? ", \"" : "\"") + kinds[kind] + "\": " +
                    std::to_string(sums[kind]);
        text += "}";
    }

    void add_faults(std::string& text, const char* name, const std::deque<Channel>& channels) const {
        text += std::string(", \"") + name + "\": {";
        for (unsigned kind = 0; kind < FAULTS; ++kind) {
            uint64_t sum = 0;
            for (const Channel& channel : channels) sum += channel.counts[kind];
            text += std::string(kind ? ", \"" : "\"") + FAULT_NAMES[kind] + "\": " +
                    std::to_string(sum);
        }
        text += "}";
    }

    void add_arrivals(std::string& text) const {
        text += ", \"arrivals\": {";
        bool first = true;
        for (unsigned k = 0; k < PORTS; ++k)
            for (size_t place = 0; place < ends_[k].incoming.size(); ++place) {
                const Receiving& flow = ends_[k].incoming[place];
                if (flow.arrivals.empty()) continue;
                text += std::string(first ? "\"" : ", \"") + std::to_string(k) + "/" +
                        std::to_string(place) + "\": [";
                for (size_t n = 0; n < flow.arrivals.size(); ++n)
                    text += (n ? ", " : "") + std::to_string(flow.arrivals[n]);
                text += "]";
                first = false;
            }
        text += "}";
    }

    int64_t latency() const {
        uint64_t begun = 0, came = ~uint64_t{0};
        for (unsigned k = 0; k < PORTS; ++k) {
            if (in_[k].data) begun = std::max(begun, in_[k].first);
            if (out_[k].data) came = std::min(came, out_[k].first);
        }
        return came == ~uint64_t{0} ? -1 : static_cast<int64_t>(came - begun);
    }

public:
    Bench(const char* path, Options& options, const std::array<Planned, 2>& planned, unsigned port)
        : options_(options), ends_(make_ends(options, report_)), scenario_(path, ends_),
          device_(scenario_.phases, options.seed), watches_(PORTS), in_(PORTS), out_(PORTS),
          ready_(PORTS), given_(PORTS) {
        for (unsigned k = 0; k < PORTS; ++k) {
            to_.emplace_back(options.delay, options.faults, options.seed * 2000 + 2 * k);
            from_.emplace_back(options.delay, options.faults, options.seed * 2000 + 2 * k + 1);
            pauses_.emplace_back(options.seed * 3000 + k);
        }
        to_[port].planned = planned[0];
        from_[port].planned = planned[1];
    }

    bool run() {
        device_.configure(scenario_.operations);
        while (!(complete_ = done()) && now_ - report_.progress < options_.idle_limit) cycle();
        if (!complete_)
            for (const End& end : ends_) end.dump(stderr);
        if (!complete_) device_.dump(stderr);
        const uint64_t finished = now_;
        // What still goes about must change nothing.
        for (uint64_t k = 2 * options_.delay + TIMEOUT_CYCLES + 200; k && complete_; --k) cycle();
        uint64_t wanted = 0, fault_cycle = 0;
        for (unsigned k = 0; k < PORTS; ++k) {
            for (const Receiving& flow : ends_[k].incoming) wanted += flow.total;
            fault_cycle = std::max({fault_cycle, to_[k].fault_cycle, from_[k].fault_cycle});
        }
        const bool right = complete_ && !report_.wrong && !report_.violations;
        std::string text = "{\"right\": ";
        text += right ? "true" : "false";
        const std::pair<const char*, uint64_t> numbers[] = {
            {"flits", report_.delivered}, {"packets", report_.packets},
            {"wanted_packets", wanted},   {"wrong", report_.wrong},
            {"violations", report_.violations}, {"cycles", finished},
            {"resent", report_.resent},   {"timeouts", report_.timeouts},
            {"stomped", report_.stomped}, {"preemptions", overtakings_},
            {"source_preemptions", report_.preemptions}, {"late_flits", late_},
            {"fault_cycle", fault_cycle},
        };
        for (const auto& [name, value] : numbers)
            text += std::string(", \"") + name + "\": " + std::to_string(value);
        text += ", \"latency_cycles\": " + std::to_string(latency());
        add_kinds(text, "to_switch", report_.to_switch);
        add_kinds(text, "from_switch", report_.from_switch);
        add_faults(text, "faults_to_switch", to_);
        add_faults(text, "faults_from_switch", from_);
        add_list(text, "in", in_);
        add_list(text, "out", out_);
        if (options_.trace) add_arrivals(text);
        text += ", \"messages\": [";
        for (size_t k = 0; k < report_.first.size(); ++k)
            text += (k ? ", \"" : "\"") + report_.first[k] + "\"";
        std::printf("%s]}\n", text.c_str());
        return right;
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) refuse("usage: PROGRAM SCENARIO [NAME=VALUE ...]");
    Options options;
    std::array<Planned, 2> planned;
    double kind = 0, at = -1, direction = 0, port = 0, seed = 1, delay = 1, faults = 0, stall = 0,
           spread = 0, gap = 0, interval = 0, trace = 0, idle_limit = 500000, stop_port = 0,
           stop_at = 0, stop_cycles = 0;
    const std::pair<const char*, double*> names[] = {
        {"seed", &seed},           {"delay", &delay},         {"faults_per_million", &faults},
        {"stall_percent", &stall}, {"start_spread", &spread}, {"gap_cycles", &gap},
        {"interval_cycles", &interval}, {"trace", &trace},    {"idle_limit", &idle_limit},
        {"fault_kind", &kind},     {"fault_at", &at},         {"fault_direction", &direction},
        {"fault_port", &port},     {"stop_port", &stop_port},
        {"stop_at", &stop_at},     {"stop_cycles", &stop_cycles},
    };
    for (int k = 2; k < argc; ++k) {
        const char* sign = std::strchr(argv[k], '=');
        const auto found = std::find_if(std::begin(names), std::end(names), [&](const auto& one) {
            return sign && std::string(argv[k], sign - argv[k]) == one.first;
        });
        if (found == std::end(names)) refuse(std::string("unknown option ") + argv[k]);
        *found->second = std::atof(sign + 1);
    }
    options.seed = seed;
    options.delay = delay;
    options.faults = faults * 1e-6;
    options.stall = stall;
    options.spread = spread;
    options.gap = gap;
    options.interval = interval;
    options.trace = trace != 0;
    options.idle_limit = idle_limit;
    options.stop_port = stop_port;
    options.stop_at = stop_at;
    options.stop_cycles = stop_cycles;
    if (delay < 1 || stall < 0 || stall > 95 || port < 0 || port >= PORTS || kind < 0 ||
        kind >= FAULTS)
        refuse("an option is out of range");
    if (at >= 0)
        planned[direction != 0] = {true, static_cast<Fault>(static_cast<int>(kind)),
                                   static_cast<uint64_t>(at)};
    Bench bench{argv[1], options, planned, static_cast<unsigned>(port)};
    return bench.run() ? 0 : 1;
}
