// What an NPU sends and expects, and what is counted of it.
#pragma once

#include "conditions.hpp"
#include "flit.hpp"
#include "violations.hpp"

struct Options : Conditions {
    unsigned spread = 0, gap = 0, interval = 0, stop_port = 0, written_phase = ~0u, slow_port = 0;
    uint64_t stop_at = 0, stop_cycles = 0, slow_cycles = 0;
    bool trace = false;

    // Whether anything may become of a phase, as its entry is written meanwhile.
    bool any(unsigned phase) const { return phase == written_phase; }
    bool stops(unsigned port, uint64_t now) const {
        return port == stop_port && now >= stop_at && now - stop_at < stop_cycles;
    }
    bool slow(unsigned port) const { return slow_cycles && port == slow_port; }
};

struct View {
    const uint64_t* flits;
    unsigned length;
};

// Packets to send or to expect, one after the other, then from the first again.
class Pool {
    std::vector<uint64_t> flits_;
    std::vector<size_t> ends_{0};

public:
    void add(const std::vector<uint64_t>& packet) {
        flits_.insert(flits_.end(), packet.begin(), packet.end());
        ends_.push_back(flits_.size());
    }
    View at(uint64_t number) const {
        const size_t k = number % (ends_.size() - 1);
        return {&flits_[ends_[k]], static_cast<unsigned>(ends_[k + 1] - ends_[k])};
    }
};

// What comes of a flow: `total` packets, in bursts that end with these.
struct Incoming : Receiving {
    Pool* pool = nullptr;
    uint64_t total = 0;
    std::vector<uint64_t> ends, arrivals;  // of bursts, in packets; of packets, in cycles
};

struct Outgoing : Sending {
    Pool* pool = nullptr;
    std::vector<Incoming*> destinations;
};

// Flow that each NPU sends and receives, numbered from 1; 0 for none. With the packets.
struct Phase {
    unsigned number = 0, circuit = 0, generation = 0;
    std::vector<uint64_t> inputs, outputs;
    std::vector<Pool*> sent, wanted;
};

// What all NPUs have sent and got, and which rules the switch broke.
struct Tally : Violations {
    uint64_t wrong = 0, delivered = 0, packets = 0, preemptions = 0, stomped = 0, progress = 0;
    Counts to_switch;
    std::array<uint64_t, KINDS> from_switch{};  // flits
};

// Address of an NPU; see testbench/stimulus/addresses.py.
constexpr unsigned address_of(unsigned npu) { return ADDRESSES - 1 - npu; }
