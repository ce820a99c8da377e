// Flits as docs/reference/protocol.md has them, their CRC, and the channel that damages them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "endpoint.hpp"
#include "model.hpp"
#include "program.hpp"
#include "random.hpp"

constexpr uint64_t DATA_MASK = ~uint64_t{0} >> (64 - DATA_BITS);

constexpr unsigned SEQUENCE_MASK = mask(SEQUENCE_BITS), LINK_SEQUENCE_MASK = mask(LINK_SEQUENCE_BITS);

inline unsigned kind_of(uint64_t header) { return header >> KIND_LOW & mask(KIND_BITS); }

inline uint64_t pack(const Header& header) {
    uint64_t word = 0;
#define FIELD(name, low, bits, first) word |= uint64_t{header.name & mask(bits)} << low;
    HEADER_FIELDS(FIELD)
#undef FIELD
    return word;
}

// Whether the bits of no field are 0.
inline bool unpack(uint64_t word, Header& header) {
#define FIELD(name, low, bits, first) header.name = word >> low & mask(bits);
    HEADER_FIELDS(FIELD)
#undef FIELD
#define ABSENT(name) header.name = 0;
    if (header.kind == HANDSHAKE) {
        ABSENT_FROM_HANDSHAKES(ABSENT)
    } else if (header.unicast) {
        ABSENT_FROM_UNICASTS(ABSENT)
    } else {
        ABSENT_FROM_PHASES(ABSENT)
    }
#undef ABSENT
    return pack(header) == word;
}

struct Flit {
    uint64_t header = 0, data = 0;
    uint32_t crc = 0;
    bool last = false;

    bool operator==(const Flit&) const = default;
};

// CRC-32C of header, then data. It is linear: a table for each byte and a constant.
class Crc {
    static constexpr unsigned HEADER_BYTES = HEADER_BITS / 8, BYTES = HEADER_BYTES + DATA_BITS / 8;
    std::array<std::array<uint32_t, 256>, BYTES> table_;
    uint32_t zero_;

    static uint32_t plain(unsigned place, unsigned byte) {
        uint32_t state = ~uint32_t{0};
        for (unsigned k = 0; k < BYTES; ++k) {
            state ^= k == place ? byte : 0;
            for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? CRC_REFLECTED : 0);
        }
        return ~state;
    }

public:
    Crc() : zero_(plain(0, 0)) {
        for (unsigned place = 0; place < BYTES; ++place)
            for (unsigned byte = 0; byte < 256; ++byte)
                table_[place][byte] = plain(place, byte) ^ zero_;
    }

    uint32_t operator()(uint64_t header, uint64_t data) const {
        uint32_t crc = zero_;
        for (unsigned k = 0; k < HEADER_BYTES; ++k) crc ^= table_[k][header >> 8 * k & 255];
        for (unsigned k = HEADER_BYTES; k < BYTES; ++k)
            crc ^= table_[k][data >> 8 * (k - HEADER_BYTES) & 255];
        return crc;
    }
};

inline const Crc crc_of;

// Whether a flit is the last one of its packet.
inline bool ends(const Header& h) { return h.kind != DATA || h.index == h.last; }

// What a sound sender puts on a link.
inline Flit flit_of(const Header& h, uint64_t data) {
    const uint64_t header = pack(h);
    return {header, data, crc_of(header, data), ends(h)};
}

// A fault to set at a given place: the flit that is `at`-th on its channel, from 0.
struct Planned {
    bool wanted = false;
    Fault kind = LOST;
    uint64_t at = 0;
};

// One direction of a link: it delays flits, keeps their order, and damages some.
class Channel {
    struct Entry {
        uint64_t due;
        Flit flit;
        bool good;
    };
    // Doubled flits make the line longer until an idle cycle comes; not beyond this.
    static constexpr size_t SLACK = 64;
    std::vector<Entry> ring_;
    size_t head_ = 0, used_ = 0;
    uint64_t delay_, until_fault_ = 0;
    double faults_;
    Random rng_;
    unsigned losing_ = 0;

    void push(uint64_t now, const Flit& flit, bool good) {
        ring_[(head_ + used_++) % ring_.size()] = {now + delay_, flit, good};
    }

    void draw() {
        if (faults_ <= 0) until_fault_ = ~uint64_t{0};  // which no double holds
        else if (faults_ >= 1) until_fault_ = 0;
        else until_fault_ = std::log(1 - rng_.unit()) / std::log1p(-faults_);
    }

    void flip(Flit& flit, unsigned place) const {
        if (place < HEADER_BITS) flit.header ^= uint64_t{1} << place;
        else if (place < HEADER_BITS + DATA_BITS) flit.data ^= uint64_t{1} << (place - HEADER_BITS);
        else flit.crc ^= 1u << (place - HEADER_BITS - DATA_BITS);
    }

    // Whether the flit comes out at all.
    bool damage(Fault kind, uint64_t now, Flit& flit, bool& good) {
        constexpr unsigned bits = HEADER_BITS + DATA_BITS + CRC_BITS;
        switch (kind) {
            case FLIPPED:
                flip(flit, rng_.below(bits));
                good = false;
                break;
            case BURSTS: {
                const unsigned length = 2 + rng_.below(31), first = rng_.below(bits - length + 1);
                flip(flit, first);
                flip(flit, first + length - 1);
                for (unsigned k = 1; k + 1 < length; ++k)
                    if (rng_.below(2)) flip(flit, first + k);
                good = false;
                break;
            }
            case LOST: ++counts[LOST]; return false;
            case DOUBLED:
                if (used_ > delay_ + SLACK - 2) return true;
                push(now, flit, good);
                break;
            case RUNS:
                losing_ = rng_.below(12);
                ++counts[RUNS];
                return false;
            default: ++counts[LOST_ACKS]; return false;
        }
        ++counts[kind];
        return true;
    }

public:
    std::array<uint64_t, FAULTS> counts{};
    uint64_t carried = 0, fault_cycle = 0;
    Planned planned;

    Channel(uint64_t delay, double faults, uint64_t seed)
        : ring_(delay + SLACK), delay_(delay), faults_(faults), rng_(seed) {
        draw();
    }

    void put(uint64_t now, const Flit& sent) {
        Flit flit = sent;
        bool good = true, here = true;
        if (losing_) {
            --losing_;
            here = false;
        } else if (planned.wanted && carried == planned.at) {
            fault_cycle = now;
            here = damage(planned.kind, now, flit, good);
        } else if (until_fault_ == 0) {
            draw();
            here = damage(static_cast<Fault>(rng_.below(LOST_ACKS)), now, flit, good);
        } else {
            --until_fault_;
            // Acks are few, so they get more than their share.
            if (faults_ > 0 && kind_of(sent.header) == ACK &&
                rng_.unit() < std::min(0.3, 10 * faults_))
                here = damage(LOST_ACKS, now, flit, good);
        }
        ++carried;
        if (!here) return;
        if (!good) {
            // A port tells the last flit by the header that it sees.
            Header header;
            unpack(flit.header, header);
            flit.last = ends(header);
        }
        push(now, flit, good);
    }

    // Whether a flit comes out in this cycle, and whether it is undamaged.
    bool take(uint64_t now, Flit& flit, bool& good) {
        if (!used_ || ring_[head_].due > now) return false;
        flit = ring_[head_].flit;
        good = ring_[head_].good;
        head_ = (head_ + 1) % ring_.size();
        --used_;
        return true;
    }

    bool empty() const { return used_ == 0; }
};

// Counts of faults by kind, those of all channels together.
template <class Channels>
void add_faults(Json& json, const char* name, const Channels& channels) {
    json.open(name, '{');
    for (unsigned kind = 0; kind < FAULTS; ++kind) {
        uint64_t sum = 0;
        for (const Channel& channel : channels) sum += channel.counts[kind];
        json.add(FAULT_NAMES[kind], sum);
    }
    json.close('}');
}

// Counts of flits by kind.
template <class Counts>
void add_kinds(Json& json, const char* name, const Counts& counts) {
    json.open(name, '{');
    for (size_t kind = 0; kind < counts.size(); ++kind) json.add(KIND_NAMES[kind], counts[kind]);
    json.close('}');
}
