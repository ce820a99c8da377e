// What happens when: NPUs begin bursts, and software writes phases while others go on.
#pragma once

#include <set>

#include "checking_endpoint.hpp"
#include "verilated_switch.hpp"

class Conductor {
    Scenario& scenario_;
    std::deque<CheckingEndpoint>& ends_;
    std::deque<VerilatedSwitch>& devices_;
    std::set<size_t> ready_;
    // Bursts that others are behind, with the packets that their sources have then sent.
    struct Running {
        size_t step;
        std::vector<std::pair<const Outgoing*, uint64_t>> sources;
    };
    std::vector<Running> running_;
    std::deque<size_t> writing_;
    std::array<const Phase*, PHASES> phases_{};
    size_t operation_ = 0, started_ = 0;
    uint64_t wait_until_ = 0;

    void end(size_t number) {
        for (size_t other : scenario_.steps[number].before)
            if (--scenario_.steps[other].behind == 0) ready_.insert(other);
    }

    void expect(Incoming& flow, uint64_t packets) {
        flow.total += packets;
        flow.ends.push_back(flow.total);
    }

    void start_burst(const Step& step, Running& running) {
        const Phase& phase = *phases_[step.number];
        for (unsigned k = 0; k < scenario_.npus; ++k) {
            if (phase.outputs[k]) expect(ends_[k].incoming[step.number], step.packets);
            if (!phase.inputs[k]) continue;
            Outgoing& out = ends_[k].outgoing[step.number];
            ends_[k].add_burst(phase.circuit, out, step.packets);
            running.sources.emplace_back(&out, out.total);
        }
    }

    void start_unicast(const Step& step, Running& running) {
        Outgoing& out = ends_[step.from].outgoing[PHASES + step.to];
        Incoming& in = ends_[step.to].incoming[PHASES + step.from];
        if (!out.pool) {
            out.pool = in.pool = scenario_.online(step.from, step.to);
            out.phase = in.phase = PHASES;
            out.peer = address_of(step.to);
            in.peer = address_of(step.from);
            out.destinations.push_back(&in);
        }
        ends_[step.from].add_burst(step.circuit, out, step.packets);
        expect(in, step.packets);
        running.sources.emplace_back(&out, out.total);
    }

    // The phase is as it is written now.
    void install(const Phase& phase) {
        phases_[phase.number] = &phase;
        for (CheckingEndpoint& one : ends_) one.install(phase);
        for (unsigned k = 0; k < scenario_.npus; ++k)
            for (unsigned other = 0; other < scenario_.npus; ++other)
                if (phase.inputs[k] && phase.outputs[other] == phase.inputs[k])
                    ends_[k].outgoing[phase.number].destinations.push_back(
                        &ends_[other].incoming[phase.number]);
    }

    void start(size_t number) {
        const Step& step = scenario_.steps[number];
        ++started_;
        if (step.kind == Step::WRITE) {
            writing_.push_back(number);
            return;
        }
        Running running{number, {}};
        if (step.kind == Step::BURST) start_burst(step, running);
        else start_unicast(step, running);
        if (!step.before.empty()) running_.push_back(std::move(running));
    }

    // Writes of one phase after the other.
    void write(uint64_t now) {
        while (!writing_.empty()) {
            const Step& step = scenario_.steps[writing_.front()];
            if (operation_ && devices_[step.operations[operation_ - 1].device].busy()) return;
            if (now < wait_until_) return;
            if (operation_ == step.operations.size()) {
                install(step.phase);
                end(writing_.front());
                writing_.pop_front();
                rewrites += operation_ != 0;
                operation_ = 0;
                continue;
            }
            const Operation& one = step.operations[operation_++];
            if (one.kind == Operation::WAIT) wait_until_ = now + one.value;
            else devices_[one.device].begin(one);
        }
    }

public:
    uint64_t rewrites = 0;

    Conductor(Scenario& scenario, std::deque<CheckingEndpoint>& ends,
              std::deque<VerilatedSwitch>& devices)
        : scenario_(scenario), ends_(ends), devices_(devices) {
        for (size_t k = 0; k < scenario.steps.size(); ++k)
            if (!scenario.steps[k].behind) ready_.insert(k);
    }

    void step(uint64_t now) {
        for (size_t k = 0; k < running_.size();) {
            const auto& sources = running_[k].sources;
            if (!std::all_of(sources.begin(), sources.end(), [](const auto& one) {
                    return one.first->base >= one.second;
                })) {
                ++k;
                continue;
            }
            end(running_[k].step);
            running_.erase(running_.begin() + k);
        }
        write(now);
        while (!ready_.empty()) {
            const size_t first = *ready_.begin();
            ready_.erase(ready_.begin());
            start(first);
            write(now);
        }
    }

    bool done() const { return started_ == scenario_.steps.size() && writing_.empty(); }
};
