// Random numbers of all harnesses.
#pragma once

#include <cstdint>

class Random {
    uint64_t state_;

public:
    // Of two seeds beside each other, neither's numbers are the other's a step later.
    explicit Random(uint64_t seed) : state_(seed) { state_ = (*this)(); }

    // splitmix64 (Steele, Lea and Flood, OOPSLA 2014)
    uint64_t operator()() {
        uint64_t z = state_ += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        return z ^ z >> 31;
    }

    unsigned below(unsigned most) { return most ? ((*this)() >> 32) * most >> 32 : 0; }
    bool percent(unsigned share) { return share && below(100) < share; }
    double unit() { return ((*this)() >> 11) * 0x1p-53; }
};
