// The Verilated switch, with the bus of its configuration memory.
#pragma once

#include "scenario.hpp"
#include "verilated_ports.hpp"

class VerilatedSwitch : public VerilatedPorts {
    Operation doing_;
    bool busy_ = false;
    uint64_t word_ = 0;

    // What the bus does until its next edge, and what the pins are behind it.
    struct Moves {
        bool address, value, answered, asked, got;
    };
    Moves moves() const {
        return {top_.s_axil_awvalid && top_.s_axil_awready, top_.s_axil_wvalid && top_.s_axil_wready,
                top_.s_axil_bready && top_.s_axil_bvalid, top_.s_axil_arvalid && top_.s_axil_arready,
                top_.s_axil_rready && top_.s_axil_rvalid};
    }

    void check_answer(unsigned response) const {
        if (response && doing_.kind != Operation::ATTEMPT) refuse("address " + std::to_string(doing_.address) + " was refused");
    }

    void follow(const Moves& moves) {
        if (moves.address) top_.s_axil_awvalid = 0;
        if (moves.value) top_.s_axil_wvalid = 0;
        if (moves.asked) top_.s_axil_arvalid = 0;
        if (moves.answered) top_.s_axil_bready = busy_ = 0;
        if (!moves.got) return;
        top_.s_axil_rready = busy_ = 0;
        if ((word_ & doing_.select) != doing_.value) begin(doing_);
    }

public:
    using VerilatedPorts::VerilatedPorts;

    void reset() {
        top_.rst = 1;
        for (auto& port : ports_) *port.s_valid = *port.m_ready = 0;
        top_.s_axil_awvalid = top_.s_axil_wvalid = top_.s_axil_arvalid = 0;
        top_.s_axil_bready = top_.s_axil_rready = 0;
        for (int k = 0; k < 4; ++k) settle(), tick();
        top_.rst = 0;
    }

    // Begins a write, or reads of a word until it is what is wanted; goes on with `tick`.
    void begin(const Operation& one) {
        doing_ = one;
        busy_ = true;
        if (one.kind == Operation::POLL) {
            top_.s_axil_araddr = one.address;
            top_.s_axil_arvalid = top_.s_axil_rready = 1;
        } else {
            top_.s_axil_awaddr = one.address;
            top_.s_axil_wdata = one.value;
            top_.s_axil_wstrb = one.kind == Operation::ATTEMPT ? one.select : 0xF;
            top_.s_axil_awvalid = top_.s_axil_wvalid = top_.s_axil_bready = 1;
        }
    }
    bool busy() const { return busy_; }

    // Does all of it, while nothing comes and goes, and returns the word that was read.
    uint64_t finish(const Operation& one) {
        begin(one);
        for (int k = 0; busy_; ++k) {
            if (k > 100000)
                refuse("address " + std::to_string(one.address) + " gives no " +
                       std::to_string(one.value));
            settle();
            tick();
        }
        return word_;
    }

    void tick() {
        const Moves moved = busy_ ? moves() : Moves{};
        if (moved.answered) check_answer(top_.s_axil_bresp);
        if (moved.got) {
            check_answer(top_.s_axil_rresp);
            word_ = top_.s_axil_rdata;
        }
        VerilatedPorts::tick();
        follow(moved);
    }
};
