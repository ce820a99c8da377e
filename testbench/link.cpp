// Drives both ends of a link over a channel that loses and changes flits, and checks all of it.
//
// usage: Vlink_pair SEED FLITS DELAY FAULTS_PER_MILLION STALL_PERCENT PACKET_FLITS FIXED
//
// Packets of 1 to PACKET_FLITS flits (of exactly so many if FIXED is 1) of pseudo-random data go in with random pauses and must come
// out the same, in order, each once, with their ends where they were. Both directions take DELAY
// cycles, credits too. A fault is a flipped bit, a burst of up to 32 bits, a flit that is lost or
// comes twice, or a run of up to 12 lost flits, in either direction. Prints counts as JSON.
// (Verilator writes the two underscores of a port name as ___05F.)

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "Vlink_pair.h"
#include "verilated.h"

namespace {

struct Flit {
    bool valid = false;
    uint64_t header = 0;  // 48 bits
    uint32_t data = 0, crc = 0;
};

// The error that a fault adds: bit `place` of header, data and CRC in a row.
void flip(Flit& flit, unsigned place) {
    if (place < 48) flit.header ^= uint64_t{1} << place;
    else if (place < 80) flit.data ^= uint32_t{1} << (place - 48);
    else flit.crc ^= uint32_t{1} << (place - 80);
}

struct Channel {
    std::deque<Flit> line;
    uint64_t flipped = 0, bursts = 0, lost = 0, doubled = 0, runs = 0, carried = 0;
    int losing = 0;

    explicit Channel(size_t delay) : line(delay) {}

    Flit pass(const Flit& in, std::mt19937_64& rng, double faults) {
        Flit flit = in;
        if (flit.valid) {
            ++carried;
            if (losing > 0) {
                --losing;
                flit.valid = false;
            } else if (std::uniform_real_distribution<>(0, 1)(rng) < faults) {
                switch (rng() % 5) {
                    case 0: ++flipped; flip(flit, rng() % 112); break;
                    case 1: {
                        ++bursts;
                        const unsigned length = 2 + rng() % 31, first = rng() % (112 - length);
                        flip(flit, first);
                        flip(flit, first + length - 1);
                        for (unsigned k = 1; k + 1 < length; ++k)
                            if (rng() & 1) flip(flit, first + k);
                        break;
                    }
                    case 2: ++lost; flit.valid = false; break;
                    case 3: ++doubled; line.push_back(flit); break;
                    case 4: ++runs; losing = rng() % 12; flit.valid = false; break;
                }
            }
        }
        line.push_back(flit);
        Flit out = line.front();
        line.pop_front();
        // A flit that came twice has made the line longer: an idle cycle makes up for it.
        return out;
    }

    void settle(size_t delay) {
        for (auto it = line.begin(); line.size() > delay && it != line.end();)
            it = it->valid ? it + 1 : line.erase(it);
    }

    uint64_t faults() const { return flipped + bursts + lost + doubled + runs; }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 2;
    std::mt19937_64 rng{std::strtoull(argv[1], nullptr, 10)};
    const uint64_t flits = std::strtoull(argv[2], nullptr, 10);
    const size_t delay = std::strtoul(argv[3], nullptr, 10);
    const double faults = std::atof(argv[4]) * 1e-6;
    const unsigned stall = std::strtoul(argv[5], nullptr, 10);
    const unsigned longest = std::strtoul(argv[6], nullptr, 10);
    const bool fixed = std::strtoul(argv[7], nullptr, 10) != 0;

    VerilatedContext context;
    Vlink_pair top{&context};
    Channel forward{delay}, back{delay};
    std::deque<uint32_t> limits(delay, 0);
    std::deque<uint64_t> expected;  // data, and above it whether the packet ends
    uint64_t sent = 0, matched = 0, wrong = 0, cycles = 0, acks = 0, idle = 0, first = 0, last = 0;
    unsigned left = 0;

    auto clock = [&] {
        top.clk = 1;
        top.eval();
        top.clk = 0;
        top.eval();
    };
    top.clk = 0;
    top.rst = 1;
    top.i___05Fvalid = 0;
    top.o___05Fready = 0;
    top.link_i___05Fvalid = 0;
    top.control_i___05Fvalid = 0;
    top.limit_i = 0;
    top.phase = 3;
    top.circuit = 1;
    for (int k = 0; k < 3; ++k) clock();
    top.rst = 0;
    bool offering = false;
    // Without progress for so long, something is lost for good.
    while (matched < flits && idle < 200000) {
        if (!offering && sent < flits && rng() % 100 >= stall) {
            if (left == 0) left = fixed ? longest : 1 + rng() % longest;
            offering = true;
            top.i___05Fdata = static_cast<uint32_t>(rng());
            top.i___05Flast = left == 1 || sent + 1 == flits;
        }
        top.i___05Fvalid = offering;
        top.o___05Fready = stall == 0 || rng() % 100 >= stall;
        const Flit f = forward.pass(
            {static_cast<bool>(top.link_o___05Fvalid), top.link_o___05Fheader, top.link_o___05Fdata,
             top.link_o___05Fcrc}, rng, faults);
        forward.settle(delay);
        const Flit c = back.pass(
            {static_cast<bool>(top.control_o___05Fvalid), top.control_o___05Fheader,
             top.control_o___05Fdata, top.control_o___05Fcrc}, rng, faults);
        back.settle(delay);
        acks += top.control_o___05Fvalid;
        limits.push_back(top.limit_o);
        top.link_i___05Fvalid = f.valid;
        top.link_i___05Fheader = f.header;
        top.link_i___05Fdata = f.data;
        top.link_i___05Fcrc = f.crc;
        top.control_i___05Fvalid = c.valid;
        top.control_i___05Fheader = c.header;
        top.control_i___05Fdata = c.data;
        top.control_i___05Fcrc = c.crc;
        top.limit_i = limits.front();
        limits.pop_front();
        top.eval();
        ++idle;
        if (top.i___05Fvalid && top.i___05Fready) {
            if (sent == 0) first = cycles;
            expected.push_back(uint64_t{top.i___05Fdata} | uint64_t{top.i___05Flast} << 32);
            ++sent;
            left = top.i___05Flast ? 0 : left - 1;
            offering = false;
            idle = 0;
        }
        if (top.o___05Fvalid && top.o___05Fready) {
            const uint64_t got = uint64_t{top.o___05Fdata} | uint64_t{top.o___05Flast} << 32;
            if (expected.empty() || expected.front() != got) ++wrong;
            if (!expected.empty()) expected.pop_front();
            ++matched;
            last = cycles;
            idle = 0;
        }
        clock();
        ++cycles;
    }
    std::printf(
        "{\"flits\": %" PRIu64 ", \"matched\": %" PRIu64 ", \"wrong\": %" PRIu64
        ", \"cycles\": %" PRIu64 ", \"link_flits\": %" PRIu64 ", \"control_flits\": %" PRIu64
        ", \"faults\": %" PRIu64 ", \"flipped\": %" PRIu64 ", \"bursts\": %" PRIu64
        ", \"lost\": %" PRIu64 ", \"doubled\": %" PRIu64 ", \"runs\": %" PRIu64
        ", \"control_faults\": %" PRIu64 ", \"retransmissions\": %u, \"span_cycles\": %" PRIu64
        "}\n",
        flits, matched, wrong, cycles, forward.carried, acks,
        forward.faults() + back.faults(), forward.flipped + back.flipped,
        forward.bursts + back.bursts, forward.lost + back.lost, forward.doubled + back.doubled,
        forward.runs + back.runs, back.faults(), top.retransmissions, last - first + 1);
    return matched == flits && wrong == 0 ? 0 : 1;
}
