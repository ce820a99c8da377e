// A fabric: each distinct unit Verilated once, links, memories and drivers between them.
//
// See testbench/volume/joined.py, which writes joined_model.hpp, and testbench/collectives for
// programs and memories. What comes out is what testbench/collectives/fabric.v says too.

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "joined_model.hpp"

namespace {

struct Options {
    uint64_t faults = 0, stalls = 0, limit = 100000, seed = 1, sleep = 1;
} options;

struct Random {
    uint64_t state;
    uint32_t operator()() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 33;
    }
};

struct Flit {
    bool valid = false;
    Data data = 0;
    VlWide<3> user;
};

// Runs a unit, but for cycles in which it stands still. A unit is all that its state says, inputs
// among it: one that an edge has left as it was will be left so by all edges, until an input
// changes. Counters of clock cycles, which software alone reads, are excepted; they catch up.
class Runner {
    static constexpr unsigned PATIENCE = 8;  // calm cycles from one look at the state to the next
    Unit* unit_;
    std::vector<char> before_;
    std::vector<IData> counts_, rates_;  // of counters: their last values, and how fast they go
    unsigned calm_ = 0;
    uint64_t slept_ = 0;
    bool asleep_ = false;

    void look() {
        before_.assign(unit_->state, unit_->state + unit_->bytes);
        counts_.clear();
        for (const IData* one : unit_->counters) counts_.push_back(*one);
    }
    bool stands() {
        rates_.clear();
        for (size_t k = 0; k < counts_.size(); ++k) {
            IData& count = *unit_->counters[k];
            rates_.push_back(count - counts_[k]);
            std::swap(count, counts_[k]);
        }
        const bool same = !std::memcmp(before_.data(), unit_->state, unit_->bytes);
        for (size_t k = 0; k < counts_.size(); ++k) *unit_->counters[k] = counts_[k];
        return same;
    }
    void wake() {
        for (size_t k = 0; k < rates_.size(); ++k) {
            IData& count = *unit_->counters[k];
            count = std::min<uint64_t>(UINT32_MAX, count + slept_ * rates_[k]);
        }
        slept_ = 0;
        asleep_ = false;
    }

public:
    uint64_t steps = 0;

    explicit Runner(Unit& unit) : unit_(&unit) {}
    void edge() {
        if (asleep_ && !unit_->touched) {
            ++slept_;
            return;
        }
        if (asleep_) wake();
        const bool looks = options.sleep && !unit_->touched && ++calm_ % PATIENCE == 0;
        if (looks) look();
        unit_->touched = false;
        unit_->step();
        ++steps;
        asleep_ = looks && stands();
    }
};

// Sets inputs of a unit; it is touched if that changes one.
template <class T>
void set(Unit& unit, T* pin, const T& value) {
    if (*pin == value) return;
    *pin = value;
    unit.touched = true;
}

// A direction of a link: loses or flips some flits.
class Line {
    const Sends* from_;
    Unit* unit_;
    const Takes* to_;
    std::vector<Flit> flits_{LINK_CYCLES};
    size_t at_ = 0;
    Random dice_;

public:
    Line(const Sends& from, Unit& unit, unsigned entry, uint64_t seed)
        : from_(&from), unit_(&unit), to_(&unit.takes[entry]), dice_{seed} {}
    void sample() {
        Flit& flit = flits_[at_];
        flit.valid = *from_->valid;
        if (!flit.valid) return;
        flit.data = *from_->data;
        flit.user = *from_->user;
        if (options.faults && dice_() % 1000000 < options.faults) {
            if (dice_() & 1) flit.valid = false;
            else flit.data ^= 1;
        }
    }
    void drive() {
        at_ = at_ + 1 == LINK_CYCLES ? 0 : at_ + 1;
        const Flit& flit = flits_[at_];
        set(*unit_, to_->valid, CData{flit.valid});
        if (!flit.valid) return;
        unit_->touched = true;
        *to_->data = flit.data;
        *to_->user = flit.user;
    }
};

struct Step {
    unsigned code;
    uint32_t address, value, mask;
};

// Carries out a program on AXI4-Lite, as the driver of fabric.v.
class Driver {
    Unit* unit_;
    const Bus* bus_;
    unsigned node_;
    std::vector<Step> steps_;
    size_t at_ = 0;
    uint64_t left_ = 0;
    bool waits_ = false, aw_ = false, w_ = false, ar_ = false;
    uint32_t address_ = 0, value_ = 0;

public:
    Driver(Unit& unit, unsigned node) : unit_(&unit), bus_(&unit.bus), node_(node) {
        std::ifstream file("program_" + std::to_string(node) + ".hex");
        for (std::string line; std::getline(file, line);) {
            auto part = [&](int from, int size) {
                return uint32_t(std::stoul(line.substr(from, size), nullptr, 16));
            };
            steps_.push_back({part(0, 4), part(4, 8), part(12, 8), part(20, 8)});
        }
    }
    bool ended() const { return steps_[at_].code == 4; }
    size_t at() const { return at_; }
    void sample(uint64_t now) {
        if (aw_ && *bus_->awready) aw_ = false;
        if (w_ && *bus_->wready) w_ = false;
        if (ar_ && *bus_->arready) ar_ = false;
        const Step& step = steps_[at_];
        if (step.code == 4) return;
        if (left_) {
            --left_;
        } else if (step.code == 0) {
            left_ = step.value;
            ++at_;
        } else if (step.code == 7) {
            std::printf("MARK %u %" PRIu64 "\n", node_, now);
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
            if (*bus_->bresp) std::printf("ANSWER %u %u %u\n", node_, step.address, *bus_->bresp);
        } else if (*bus_->rvalid) {
            waits_ = false;
            const uint32_t got = *bus_->rdata;
            if (step.code == 3)
                std::printf("READ %u %u %u %" PRIu64 "\n", node_, step.address, got, now);
            const uint32_t part = got & step.mask;
            if (step.code == 3 || part == step.value || (step.code == 8 && part > step.value)) ++at_;
        }
    }
    void drive() {
        set(*unit_, bus_->awaddr, SData(address_));
        set(*unit_, bus_->araddr, SData(address_));
        set(*unit_, bus_->wdata, value_);
        set(*unit_, bus_->awvalid, CData{aw_});
        set(*unit_, bus_->wvalid, CData{w_});
        set(*unit_, bus_->arvalid, CData{ar_});
    }
};

// A memory of flits.
class Memory {
    Unit* unit_;
    const MemoryPins* pins_;
    unsigned node_;
    std::vector<Data> words_;
    std::deque<std::pair<uint64_t, Data>> queue_;
    uint64_t wrote_ = UINT64_MAX, wrote_at_ = 0;  // the last flit written, and when
    Random dice_;

    uint64_t place(uint64_t address) const {
        const uint64_t found = address / sizeof(Data);
        if (found < words_.size()) return found;
        std::printf("FAILED address beyond memory\n");
        std::exit(1);
    }
    bool calm() { return !options.stalls || dice_() % 100 >= options.stalls; }

public:
    Memory(Unit& unit, unsigned node, uint64_t seed)
        : unit_(&unit), pins_(&unit.memory), node_(node), dice_{seed} {
        std::ifstream file("memory_" + std::to_string(node) + ".hex");
        for (std::string line; std::getline(file, line);)
            words_.push_back(std::stoull(line, nullptr, 16));
    }
    void sample(uint64_t now) {
        if (*pins_->read_valid && *pins_->read_ready)
            queue_.emplace_back(now + MEMORY_CYCLES, words_[place(*pins_->read_address)]);
        if (*pins_->data_valid && *pins_->data_ready) queue_.pop_front();
        if (*pins_->write_valid && *pins_->write_ready) {
            const uint64_t at = place(*pins_->write_address);
            if (at != wrote_ + 1) say_wrote();
            wrote_ = at;
            wrote_at_ = now;
            words_[at] = *pins_->write_data;
        }
    }
    // Says the last flit of what was written in a row.
    void say_wrote() const {
        if (wrote_ != UINT64_MAX)
            std::printf("WROTE %u %" PRIu64 " %" PRIu64 "\n", node_, wrote_, wrote_at_);
    }
    void drive(uint64_t now) {
        set(*unit_, pins_->read_ready, CData{calm()});
        set(*unit_, pins_->write_ready, CData{calm()});
        const bool valid = !queue_.empty() && queue_.front().first <= now;
        set(*unit_, pins_->data_valid, CData{valid});
        if (valid) set(*unit_, pins_->data, queue_.front().second);
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

}  // namespace

int main(int count, char** arguments) {
    for (int k = 1; k < count; ++k) {
        const std::string one = arguments[k];
        const size_t equals = one.find('=');
        const std::string name = one.substr(1, equals - 1);
        const uint64_t value = std::stoull(one.substr(equals + 1));
        if (name == "faults") options.faults = value;
        if (name == "stalls") options.stalls = value;
        if (name == "limit") options.limit = value;
        if (name == "seed") options.seed = value;
        if (name == "sleep") options.sleep = value;
    }
    VerilatedContext context;
    std::vector<Unit> units = make_units(&context);  // endpoints first
    std::vector<Runner> runners(units.begin(), units.end());
    std::vector<Driver> drivers;
    std::vector<Memory> memories;
    std::vector<Line> lines;
    uint64_t seed = options.seed;
    for (unsigned k = 0; k < units.size(); ++k) {
        if (units[k].bus.awvalid) drivers.emplace_back(units[k], k);
        if (k < NPUS) memories.emplace_back(units[k], k, ++seed);
    }
    for (const auto& [unit, port, other, entry] : LINKS)
        lines.emplace_back(units[unit].sends[port], units[other], entry, ++seed);
    const auto begun = std::chrono::steady_clock::now();
    const std::clock_t work = std::clock();
    for (Unit& unit : units) {
        *unit.rst = 1;
        *unit.clk = 0;
        unit.eval();
        for (int k = 0; k < 8; ++k) unit.step();
        *unit.rst = 0;
    }
    uint64_t now = 0;
    for (bool over = false; !over; ++now) {
        for (Line& one : lines) one.sample();
        for (Driver& one : drivers) one.sample(now);
        for (Memory& one : memories) one.sample(now);
        for (Runner& one : runners) one.edge();
        for (Line& one : lines) one.drive();
        for (Driver& one : drivers) one.drive();
        for (Memory& one : memories) one.drive(now + 1);
        over = true;
        for (const Driver& one : drivers) over = over && one.ended();
        if (now > options.limit) {
            for (unsigned k = 0; k < drivers.size(); ++k)
                if (!drivers[k].ended()) std::printf("LATE %u, at step %zu\n", k, drivers[k].at());
            return 1;
        }
    }
    for (const Memory& one : memories) one.say_wrote(), one.write();
    const double cpu_s = double(std::clock() - work) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begun;
    uint64_t steps = 0;
    for (const Runner& one : runners) steps += one.steps;
    std::printf("SPEED %.3f s, %.3f s of CPU, %.3f of all steps\nENDED %" PRIu64 "\n", wall.count(),
                cpu_s, double(steps) / units.size() / now, now);
}
