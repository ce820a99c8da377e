// Conditions of a run that harnesses with links have in common; conditions.py gives all of them.
#pragma once

#include "program.hpp"

struct Conditions {
    uint64_t seed = 1, delay = 0, idle_limit = 0;
    double faults = 0;   // per flit
    unsigned stall = 0;  // of 100 cycles

    void read(Program& program) {
        double per_million = 0;
        program.read("seed", seed);
        program.read("delay", delay);
        program.read("idle_limit", idle_limit);
        program.read("faults_per_million", per_million);
        program.read("stall_percent", stall);
        faults = per_million * 1e-6;
    }
};
