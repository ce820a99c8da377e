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

inline bool carries(unsigned kind) { return kind == DATA || kind == TURNED; }

// How crowded the ways out of a router are, as it tells with acks, nacks and credits: see
// fred_hw/link/crowding.py.
constexpr unsigned BLOCKED = 8;
inline std::array<unsigned, 4> crowding_of(const Header& h) {
    return {h.index, h.last, h.link_sequence & 15, h.link_sequence >> 4 & 15};
}

// What a port sends of a flow: of `total` packets `begun` have begun, those before `base` are acked.
struct Sending {
    unsigned phase = 0, peer = 0, generation = 0;
    uint64_t total = 0, base = 0, next = 0, begun = 0, since = 0;
    // Where sources choose ways: which of two it goes, and whether packets of it may be under way
    // though all are acked: some were sent twice, and none that was sent after them is acked.
    // It holds what was not sent yet to go the other way when all is acked.
    bool turned = false, doubtful = false, holds = false;
    uint64_t behind = 0;  // the first that was not sent with those

    bool under_way() const { return base != begun || doubtful; }
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
    uint64_t expected = 0, told = 0, repeated = 0, last_data = 0, owes_since = 0, refused_at = 0;
    bool refused = false, flows = false;
    std::array<bool, KINDS> due{};  // answers

    // Packets that no ack has told of.
    uint64_t owed() const { return expected - told + repeated; }
};

struct Counts {
    std::array<uint64_t, KINDS> sent{};  // flits
    uint64_t resent = 0, timeouts = 0;
};
