// What NPUs send and expect, and how switches are joined and written, read from a file of numbers.
#pragma once

#include <deque>

#include "bus.hpp"
#include "npu.hpp"

// What happens when all steps have ended that it is behind; a burst ends when it is acknowledged.
struct Step {
    enum : uint64_t { WRITE, BURST, UNICAST };
    uint64_t kind = WRITE, packets = 0;
    unsigned circuit = 0, number = 0, from = 0, to = 0;  // number of a phase
    std::vector<Operation> operations;
    Phase phase;
    unsigned behind = 0;  // so many
    std::vector<size_t> before;
};

struct Scenario {
    Reader next;
    const unsigned switches, npus;
    // What is at each port of each switch: an NPU, or `npus` and the number of another one.
    std::vector<uint64_t> peers;
    std::deque<Pool> pools;
    std::vector<Operation> setup, reads;  // before and after all
    unsigned unicast_packets = 0, unicast_flits = 0;  // 0 for any
    std::deque<Step> steps;
    uint64_t wanted = 0;  // packets

    void read_phase(Phase& phase) {
        phase.number = next();
        phase.circuit = next();
        phase.generation = next();
        phase.inputs = next.list();
        phase.outputs = next.list();
        for (unsigned k = 0; k < npus; ++k) {
            phase.sent.push_back(phase.inputs[k] ? &pools.emplace_back() : nullptr);
            phase.wanted.push_back(phase.outputs[k] ? &pools.emplace_back() : nullptr);
        }
        for (uint64_t left = next(); left; --left)
            for (unsigned k = 0; k < npus; ++k)
                for (Pool* pool : {phase.sent[k], phase.wanted[k]})
                    if (pool) pool->add(next.list());
    }

    void read_step(Step& step, const Step* (&written)[PHASES]) {
        step.kind = next();
        for (uint64_t left = next(); left; --left, ++step.behind) {
            const uint64_t other = next();
            if (other + 1 >= steps.size()) refuse("a step is behind one that comes later");
            steps[other].before.push_back(steps.size() - 1);
        }
        if (step.kind == Step::WRITE) {
            step.operations = read_operations(next);
            read_phase(step.phase);
            written[step.phase.number] = &step;
        } else if (step.kind == Step::BURST) {
            step.number = next();
            step.packets = next();
            if (!written[step.number]) refuse("a burst of a phase that is not there");
            const auto& outputs = written[step.number]->phase.outputs;
            wanted += step.packets * (npus - std::count(outputs.begin(), outputs.end(), 0));
        } else {
            step.circuit = next();
            step.from = next();
            step.to = next();
            wanted += step.packets = next();
        }
    }

public:
    explicit Scenario(const char* path)
        : next(path), switches(next()), npus(next()), peers(next.list()), setup(read_operations(next)),
          unicast_packets(next()), unicast_flits(next()) {
        const Step* written[PHASES] = {};
        for (uint64_t left = next(); left; --left) read_step(steps.emplace_back(), written);
        reads = read_operations(next);
    }

    // What NPU `from` sends to `to` as unicasts.
    Pool* online(unsigned from, unsigned to) {
        Random rng{1 + from * npus + to};
        Pool& pool = pools.emplace_back();
        for (unsigned k = 0; k < unicast_packets; ++k) {
            std::vector<uint64_t> packet(unicast_flits ? unicast_flits : 1 + rng.below(PACKET_FLITS));
            for (uint64_t& flit : packet) flit = rng() & DATA_MASK;
            pool.add(packet);
        }
        return &pool;
    }
};
