// The Verilated switch, with the bus of its configuration memory.
#pragma once

#include "scenario.hpp"
#include "verilated_ports.hpp"

class VerilatedSwitch : public VerilatedPorts {
    Bus bus_{top_};

public:
    using VerilatedPorts::VerilatedPorts;

    void reset() {
        top_.rst = 1;
        for (auto& port : ports_) *port.s_valid = *port.m_ready = 0;
        bus_.reset();
        for (int k = 0; k < 4; ++k) settle(), tick();
        top_.rst = 0;
    }

    void begin(const Operation& one) { bus_.begin(one); }
    bool busy() const { return bus_.busy(); }
    uint64_t finish(const Operation& one) {
        return bus_.finish(one, [this] { settle(); }, [this] { VerilatedPorts::tick(); });
    }
    void tick() {
        bus_.tick([this] { VerilatedPorts::tick(); });
    }
};
