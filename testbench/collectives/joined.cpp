// A fabric: each distinct unit Verilated once, links, memories and drivers between them.
//
// See joined.py, which writes joined_model.hpp, and fabric.py for programs and memories. Prints as
// JSON what fabric.v prints, all of a kind together.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <optional>
#include <thread>

#include "joined_model.hpp"
#include "program.hpp"
#include "random.hpp"

namespace {

struct Options {
    uint64_t faults = 0, limit = 100000, seed = 1, plain = 0, threads = 1;
    unsigned stalls = 0;
} options;

// A flit as the wires have it: nothing is read in it, so it is never taken apart.
struct Flit {
    bool valid = false, last = false;
    Data data = 0;
    VlWide<3> user;
};

// Reports of a driver or a memory, each with its cycle; a report is numbers, the first of which is its node.
class Journal {
    struct Entry {
        uint64_t at;
        std::vector<uint64_t> numbers;
    };
    std::vector<Entry> entries_;

public:
    void add(uint64_t at, std::initializer_list<uint64_t> numbers) {
        entries_.push_back({at, numbers});
    }
    // Shows the reports up to a cycle.
    void show(Json& json, uint64_t last) const {
        for (const Entry& one : entries_)
            if (one.at <= last) json.add_list(nullptr, one.numbers);
    }
};

// A direction of a link: loses or flips some flits. Its sender writes those of a window of
// LINK_CYCLES cycles while its taker reads those of the window before. Where it takes a flit every
// few cycles, its sender is informed of the cycle.
class Line {
    const Sends* from_;
    unsigned pace_;
    uint64_t free_at_ = 0;
    const Takes* to_;
    std::vector<Flit> flits_[2]{std::vector<Flit>(LINK_CYCLES), std::vector<Flit>(LINK_CYCLES)};
    Random dice_;

public:
    uint64_t faults = 0;

    Line(Unit& sender, unsigned port, unsigned pace, Unit& unit, unsigned entry, uint64_t seed)
        : from_(&sender.sends[port]), pace_(pace), to_(&unit.takes[entry]), dice_{seed} {}
    void tell(uint64_t now) {
        if (pace_ > 1) *from_->ready = now >= free_at_;
    }
    void sample(uint64_t now) {
        Flit& flit = flits_[now / LINK_CYCLES & 1][now % LINK_CYCLES];
        flit.valid = *from_->valid && now >= free_at_;
        if (!flit.valid) return;
        free_at_ = now + pace_;
        flit.last = *from_->last;
        flit.data = *from_->data;
        flit.user = *from_->user;
        if (options.faults && dice_.below(1000000) < options.faults) {
            ++faults;
            if (dice_() & 1) flit.valid = false;
            else flit.data ^= 1;
        }
    }
    void drive(uint64_t now) {
        const Flit& flit = flits_[~(now / LINK_CYCLES) & 1][now % LINK_CYCLES];
        *to_->valid = flit.valid;
        if (!flit.valid) return;
        *to_->last = flit.last;
        *to_->data = flit.data;
        *to_->user = flit.user;
    }
};

struct Step {
    unsigned code;
    uint32_t address, value, mask;
};

// Carries out a program on AXI4-Lite, as the driver of fabric.v. Step 9 resets the unit at a cycle,
// for a number of cycles, wherever the driver is; it gives the unit another session ID, and the
// program continues behind the step.
class Driver {
    static constexpr unsigned END = 4, RESET = 9;
    Unit* unit_;
    const Bus* bus_;
    unsigned node_;
    std::vector<Step> steps_;
    std::deque<size_t> resets_;  // steps to come
    uint64_t reset_until_ = 0;
    size_t at_ = 0;
    uint64_t left_ = 0, ended_at_ = 0;
    bool waits_ = false, aw_ = false, w_ = false, ar_ = false;
    uint32_t address_ = 0, value_ = 0;

public:
    Journal marks, reads, answers;

    Driver(Unit& unit, unsigned node) : unit_(&unit), bus_(&unit.bus), node_(node) {
        std::ifstream file("program_" + std::to_string(node) + ".hex");
        for (std::string line; std::getline(file, line);) {
            auto part = [&](int from, int size) {
                return uint32_t(std::stoul(line.substr(from, size), nullptr, 16));
            };
            steps_.push_back({part(0, 4), part(4, 8), part(12, 8), part(20, 8)});
            if (steps_.back().code == RESET) resets_.push_back(steps_.size() - 1);
        }
    }
    bool ended() const { return steps_[at_].code == END; }
    uint64_t ended_at() const { return ended_at_; }
    size_t at() const { return at_; }
    void sample(uint64_t now) {
        if (aw_ && *bus_->awready) aw_ = false;
        if (w_ && *bus_->wready) w_ = false;
        if (ar_ && *bus_->arready) ar_ = false;
        if (!resets_.empty() && now >= steps_[resets_.front()].address) reset(now);
        if (now < reset_until_ || ended()) return;
        carry_on(now);
        if (ended()) ended_at_ = now;
    }
    void drive(uint64_t now) {
        *unit_->rst = now < reset_until_;
        *bus_->awaddr = address_;
        *bus_->araddr = address_;
        *bus_->wdata = value_;
        *bus_->awvalid = aw_;
        *bus_->wvalid = w_;
        *bus_->arvalid = ar_;
    }

private:
    void reset(uint64_t now) {
        at_ = resets_.front() + 1;
        resets_.pop_front();
        reset_until_ = now + steps_[at_ - 1].value;
        left_ = 0;
        waits_ = aw_ = w_ = ar_ = false;
        ++*unit_->session_id;
    }
    void carry_on(uint64_t now) {
        const Step& step = steps_[at_];
        if (step.code == RESET) return;
        if (left_) {
            --left_;
        } else if (step.code == 0) {
            left_ = step.value;
            ++at_;
        } else if (step.code == 7) {
            marks.add(now, {node_, now});
            ++at_;
        } else if (!waits_) {
            waits_ = true;
            address_ = step.address;
            value_ = step.value;
            if (step.code == 1) aw_ = w_ = true;
            else ar_ = true;
        } else if (step.code == 1) {
            if (!*bus_->bvalid) return;
            waits_ = false;
            ++at_;
            if (*bus_->bresp) answers.add(now, {node_, step.address, *bus_->bresp});
        } else if (*bus_->rvalid) {
            waits_ = false;
            const uint32_t got = *bus_->rdata;
            if (step.code == 3) reads.add(now, {node_, step.address, got, now});
            const uint32_t part = got & step.mask;
            if (step.code == 3 || part == step.value || (step.code == 8 && part > step.value)) ++at_;
        }
    }
};

// A memory of flits, with a port to write, and one or two to read, each in its order.
class Memory {
    const Unit* unit_;
    const MemoryPins* pins_;
    unsigned node_;
    std::vector<Data> words_;
    std::vector<std::deque<std::pair<uint64_t, Data>>> queues_;  // of each port to read
    struct Wrote {
        uint64_t place = UINT64_MAX, at = 0;
    } wrote_;  // the last flit written, and when
    struct Undo {
        uint64_t at, place;
        Data word;
        Wrote wrote;
    };
    std::vector<Undo> undo_;  // of this window
    Random dice_;

    uint64_t place(uint64_t address) const {
        const uint64_t found = address / sizeof(Data);
        if (found < words_.size()) return found;
        std::fprintf(stderr, "an address is beyond memory\n");
        std::_Exit(2);  // other threads go on
    }
    bool calm() { return !dice_.percent(options.stalls); }

public:
    Journal wrote;

    Memory(Unit& unit, unsigned node, uint64_t seed)
        : unit_(&unit), pins_(&unit.memory), node_(node), queues_(pins_->reads.size()), dice_{seed} {
        std::ifstream file("memory_" + std::to_string(node) + ".hex");
        for (std::string line; std::getline(file, line);)
            words_.push_back(std::stoull(line, nullptr, 16));
    }
    void sample(uint64_t now) {
        if (*unit_->rst) {
            for (auto& queue : queues_) queue.clear();
            return;
        }
        for (size_t port = 0; port < queues_.size(); ++port) {
            const ReadPins& read = pins_->reads[port];
            if (*read.valid && *read.ready)
                queues_[port].emplace_back(now + MEMORY_CYCLES, words_[place(*read.address)]);
            if (*read.data_valid && *read.data_ready) queues_[port].pop_front();
        }
        if (*pins_->write_valid && *pins_->write_ready) {
            const uint64_t at = place(*pins_->write_address);
            undo_.push_back({now, at, words_[at], wrote_});
            if (at != wrote_.place + 1) tell_wrote(now);
            wrote_ = {at, now};
            words_[at] = *pins_->write_data;
        }
    }
    // Tells the last flit of what was written in a row.
    void tell_wrote(uint64_t now) {
        if (wrote_.place != UINT64_MAX) wrote.add(now, {node_, wrote_.place, wrote_.at});
    }
    void begin_window() { undo_.clear(); }
    // Takes back what was written in this window behind a cycle.
    void back_to(uint64_t last) {
        for (; !undo_.empty() && undo_.back().at > last; undo_.pop_back()) {
            words_[undo_.back().place] = undo_.back().word;
            wrote_ = undo_.back().wrote;
        }
    }
    void drive(uint64_t now) {
        for (const ReadPins& read : pins_->reads) *read.ready = calm();
        *pins_->write_ready = calm();
        for (size_t port = 0; port < queues_.size(); ++port) {
            const ReadPins& read = pins_->reads[port];
            const auto& queue = queues_[port];
            const bool valid = !queue.empty() && queue.front().first <= now;
            *read.data_valid = valid;
            if (valid) *read.data = queue.front().second;
        }
    }
    void write() const {
        std::ofstream file("result_" + std::to_string(node_) + ".hex");
        char text[32];
        for (Data word : words_) {
            std::snprintf(text, sizeof text, "%0*" PRIx64 "\n", int(2 * sizeof(Data)), uint64_t{word});
            file << text;
        }
    }
};

// A unit with all that only it has to do with.
struct Node {
    Unit* unit;
    std::optional<Driver> driver;
    std::optional<Memory> memory;
    std::vector<Line*> out, in;

    explicit Node(Unit& one) : unit(&one) {}
    // Simulates cycles of a window. Nothing that other units do in it comes here before it is over.
    void run(uint64_t from, uint64_t to) {
        if (memory) memory->begin_window();
        for (uint64_t now = from; now < to; ++now) {
            if (now) drive(now);
            for (Line* one : out) one->sample(now);
            if (driver) driver->sample(now);
            if (memory) memory->sample(now);
            unit->step();
        }
    }

private:
    void drive(uint64_t now) {
        for (Line* one : in) one->drive(now);
        for (Line* one : out) one->tell(now);
        if (driver) driver->drive(now);
        if (memory) memory->drive(now);
    }
};

// Simulates windows of all units, on the given number of threads.
class Crew {
    std::vector<Node>& nodes_;
    std::atomic<size_t> next_ = 0;
    std::barrier<> meet_;
    std::vector<std::thread> others_;
    uint64_t from_ = 0, to_ = 0;

    void work() {
        for (size_t k; (k = next_.fetch_add(1)) < nodes_.size();)
            nodes_[nodes_.size() - 1 - k].run(from_, to_);  // large units first
    }

public:
    Crew(std::vector<Node>& nodes, size_t threads) : nodes_(nodes), meet_(threads) {
        while (others_.size() + 1 < threads)
            others_.emplace_back([this] {
                while (meet_.arrive_and_wait(), from_ < to_) work(), meet_.arrive_and_wait();
            });
    }
    ~Crew() {
        run(0, 0);
        for (std::thread& one : others_) one.join();
    }
    void run(uint64_t from, uint64_t to) {
        next_ = 0;
        from_ = from;
        to_ = to;
        meet_.arrive_and_wait();
        if (from == to) return;
        work();
        meet_.arrive_and_wait();
    }
};

bool ended(const std::vector<Node>& nodes) {
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const Node& one) { return !one.driver || one.driver->ended(); });
}

// Shows the reports of all nodes of a kind, in a list.
template <class Show>
void add_told(Json& json, const char* name, const std::vector<Node>& nodes, const Show& show) {
    json.open(name, '[');
    for (unsigned k = 0; k < nodes.size(); ++k) show(nodes[k], k);
    json.close(']');
}

void print(const std::vector<Node>& nodes, const std::deque<Line>& lines, uint64_t last,
           double wall_s) {
    Json json;
    const auto of_drivers = [&](const char* name, Journal Driver::*kind) {
        add_told(json, name, nodes, [&](const Node& one, unsigned) {
            if (one.driver) ((*one.driver).*kind).show(json, last);
        });
    };
    of_drivers("marks", &Driver::marks);
    of_drivers("reads", &Driver::reads);
    of_drivers("answers", &Driver::answers);
    add_told(json, "wrote", nodes, [&](const Node& one, unsigned) {
        if (one.memory) one.memory->wrote.show(json, last);
    });
    add_told(json, "late", nodes, [&](const Node& one, unsigned k) {
        if (one.driver && !one.driver->ended())
            json.add_list(nullptr, std::array<uint64_t, 2>{k, one.driver->at()});
    });
    json.open("faults", '[');
    for (const Line& one : lines) json.add(nullptr, one.faults);
    json.close(']');
    json.add("wall_s", wall_s, 3);
    json.open("ended", '[');
    if (last <= options.limit) json.add(nullptr, last + 1);
    json.close(']');
    json.print();
}

// Returns the cycle in which the last program ended.
uint64_t simulate(std::vector<Node>& nodes) {
    Crew crew(nodes, std::clamp<size_t>(options.threads, 1, nodes.size()));
    const uint64_t window = options.plain ? 1 : LINK_CYCLES;
    uint64_t last = UINT64_MAX, now = 0;
    while (last == UINT64_MAX && now <= options.limit + 1) {
        const uint64_t end = std::min<uint64_t>(now + window, options.limit + 2);
        crew.run(now, end);
        now = end;
        if (ended(nodes)) {
            last = 0;
            for (Node& one : nodes)
                if (one.driver) last = std::max(last, one.driver->ended_at());
        }
    }
    return last;
}

}  // namespace

bool run(Program& program) {
    program.read("faults", options.faults);
    program.read("stalls", options.stalls);
    program.read("limit", options.limit);
    program.read("seed", options.seed);
    program.read("plain", options.plain);
    program.read("threads", options.threads);
    program.finish();
    std::vector<Unit> units = make_units();  // endpoints first
    std::vector<Node> nodes(units.begin(), units.end());
    std::deque<Line> lines;
    uint64_t seed = options.seed;
    for (unsigned k = 0; k < units.size(); ++k) {
        if (units[k].bus.awvalid) nodes[k].driver.emplace(units[k], k);
        if (k < NPUS) nodes[k].memory.emplace(units[k], k, ++seed);
    }
    for (const auto& [unit, port, other, entry, pace] : LINKS) {
        lines.emplace_back(units[unit], port, pace, units[other], entry, ++seed);
        nodes[unit].out.push_back(&lines.back());
        nodes[other].in.push_back(&lines.back());
    }
    const auto begun = std::chrono::steady_clock::now();
    for (Unit& unit : units) {
        *unit.rst = 1;
        for (int k = 0; k < 8; ++k) unit.step();
        *unit.rst = 0;
    }
    const uint64_t last = simulate(nodes);
    for (unsigned k = 0; k < NPUS; ++k) {
        nodes[k].memory->back_to(last);
        nodes[k].memory->tell_wrote(last);
        nodes[k].memory->write();
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    print(nodes, lines, last, wall.count());
    return last <= options.limit;
}
