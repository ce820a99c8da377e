// What the NPUs send and expect, and how the switch is configured, read from a file of numbers.
#pragma once

#include <deque>

#include "checking_endpoint.hpp"

struct Operation {
    uint64_t poll, address, select, value;
};

struct Scenario {
    std::vector<Operation> operations;
    std::vector<Phase> phases;
    std::deque<Pool> pools;

    // What port `from` sends to port `to` at the default index.
    Pool* online(unsigned from, unsigned to, unsigned size, bool longest) {
        Random rng{1 + from * PORTS + to};
        Pool& pool = pools.emplace_back();
        for (unsigned k = 0; k < size; ++k) {
            std::vector<uint64_t> packet(longest ? PACKET_FLITS : 1 + rng.below(PACKET_FLITS));
            for (uint64_t& flit : packet) flit = rng() & DATA_MASK;
            pool.add(packet);
        }
        return &pool;
    }

    void read_phase(Reader& next, std::deque<CheckingEndpoint>& ends) {
        Phase phase;
        phase.number = next();
        phase.circuit = next();
        for (unsigned& flow : phase.inputs) flow = next();
        for (unsigned& flow : phase.outputs) flow = next();
        std::array<Pool*, PORTS> sent, wanted;
        for (Pool*& pool : sent) pool = &pools.emplace_back();
        for (Pool*& pool : wanted) pool = &pools.emplace_back();
        const uint64_t size = next();
        for (uint64_t k = 0; k < size; ++k)
            for (unsigned port = 0; port < PORTS; ++port) {
                if (phase.inputs[port]) sent[port]->add(next.list());
                if (phase.outputs[port]) wanted[port]->add(next.list());
            }
        for (unsigned port = 0; port < PORTS; ++port) {
            if (phase.outputs[port]) {
                Incoming& flow = ends[port].incoming[phase.number];
                flow.phase = phase.number;
                flow.generation = phase.number & mask(GENERATION_BITS);
                flow.pool = wanted[port];
            }
            if (phase.inputs[port]) {
                Outgoing& flow = ends[port].outgoing[phase.number];
                flow.phase = phase.number;
                flow.generation = phase.number & mask(GENERATION_BITS);
                flow.pool = sent[port];
                for (unsigned other = 0; other < PORTS; ++other)
                    if (phase.outputs[other] == phase.inputs[port])
                        flow.destinations.push_back(&ends[other].incoming[phase.number]);
            }
        }
        phases.push_back(phase);
    }

    void expect(Incoming& flow, uint64_t packets) {
        flow.total += packets;
        flow.ends.push_back(flow.total);
    }

    void read_burst(Reader& next, std::deque<CheckingEndpoint>& ends, unsigned pool_size, bool longest) {
        const unsigned circuit = next(), number = next(), from = next(), to = next();
        const uint64_t packets = next();
        if (number < PHASES) {
            const auto found = std::find_if(phases.begin(), phases.end(), [&](const Phase& phase) {
                return phase.number == number;
            });
            if (found == phases.end()) refuse("a burst of a phase that is not there");
            for (unsigned port = 0; port < PORTS; ++port) {
                if (found->inputs[port])
                    ends[port].add_burst(circuit, &ends[port].outgoing[number], packets);
                if (found->outputs[port]) expect(ends[port].incoming[number], packets);
            }
            return;
        }
        Outgoing& out = ends[from].outgoing[PHASES + to];
        Incoming& in = ends[to].incoming[PHASES + from];
        if (!out.pool) {
            out.pool = in.pool = online(from, to, pool_size, longest);
            out.phase = in.phase = PHASES;
            out.peer = address_of(to);
            in.peer = address_of(from);
            out.destinations.push_back(&in);
        }
        ends[from].add_burst(circuit, &out, packets);
        expect(in, packets);
    }

    Scenario(const char* path, std::deque<CheckingEndpoint>& ends) {
        Reader next{path};
        for (uint64_t left = next(); left; --left) {
            Operation one;
            for (uint64_t* part : {&one.poll, &one.address, &one.select, &one.value})
                *part = next();
            operations.push_back(one);
        }
        for (uint64_t left = next(); left; --left) read_phase(next, ends);
        const unsigned pool_size = next();
        const bool longest = next() != 0;
        for (uint64_t left = next(); left; --left) read_burst(next, ends, pool_size, longest);
    }
};
