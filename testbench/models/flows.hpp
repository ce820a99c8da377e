// Headers and flows, as an end of a link knows them: docs/reference/protocol.md.
#pragma once

#include <array>
#include <cstdint>

#include "protocol.hpp"

constexpr unsigned mask(unsigned bits) { return (1u << bits) - 1; }

// HEADER_FIELDS has name, place, bits and first value of each field. Those that a flit has not are 0.
struct Header {
#define FIELD(name, low, bits, first) unsigned name = first;
    HEADER_FIELDS(FIELD)
#undef FIELD
};

// Load of the outputs of a router, which it reports with acks, nacks and credits: see
// fred_hw/link/crowding.py.
constexpr unsigned BLOCKED = 8;
inline std::array<unsigned, 4> crowding_of(const Header& h) {
    return {h.index, h.last, h.link_sequence & 15, h.link_sequence >> 4 & 15};
}

// What a port sends of a flow: of `total` packets `begun` have begun, those before `base` are acked.
struct Sending {
    unsigned phase = 0, peer = 0, generation = 0;
    uint64_t total = 0, base = 0, next = 0, begun = 0, since = 0;
    // If sources choose routes: which of two routes it takes, and whether duplicates of its packets
    // may be in flight though all are acked, as no packet sent after these duplicates is acked.
    // It holds packets that were not sent yet, to take the other route when all others are acked.
    bool alternate = false, doubtful = false, holds = false;
    uint64_t behind = 0;  // the first that was not sent with those

    bool in_flight() const { return base != begun || doubtful; }
    void again() {
        doubtful = true;
        holds = false;
        behind = begun;
    }
    void settle() { doubtful &= base <= behind; }
};

// What a port has received of a flow: packets, and flits of the one that is coming in.
struct Receiving {
    unsigned phase = 0, peer = 0, generation = 0, index = 0;
    uint64_t expected = 0, reported = 0, repeated = 0, last_data = 0, owes_since = 0, refused_at = 0;
    bool refused = false, flows = false;
    std::array<bool, KINDS> due{};  // answers

    // Packets that no ack has reported.
    uint64_t owed() const { return expected - reported + repeated; }
};

struct Counts {
    std::array<uint64_t, KINDS> sent{};  // flits
    uint64_t resent = 0, timeouts = 0;
};
