// The bus of registers of a Verilated unit, and what is done on it.
#pragma once

#include <string>
#include <vector>

#include "model.hpp"
#include "program.hpp"

// What is done on the bus of a switch: writes, reads until bits have a value, cycles to wait, or
// writes that may be refused, of some bytes.
struct Operation {
    enum : uint64_t { WRITE, POLL, WAIT, ATTEMPT };
    uint64_t kind, device, address, select, value;  // of an attempt the bytes in place of the bits
};

inline std::vector<Operation> read_operations(Reader& next) {
    std::vector<Operation> operations(next());
    for (Operation& one : operations)
        for (uint64_t* part : {&one.kind, &one.device, &one.address, &one.select, &one.value})
            *part = next();
    return operations;
}

class Bus {
    Top& top_;
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
    explicit Bus(Top& top) : top_(top) {}

    void reset() {
        top_.s_axil_awvalid = top_.s_axil_wvalid = top_.s_axil_arvalid = 0;
        top_.s_axil_bready = top_.s_axil_rready = 0;
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

    // Goes on at a rising edge of the clock, which `edge` makes.
    template <class Edge>
    void tick(Edge edge) {
        const Moves moved = busy_ ? moves() : Moves{};
        if (moved.answered) check_answer(top_.s_axil_bresp);
        if (moved.got) {
            check_answer(top_.s_axil_rresp);
            word_ = top_.s_axil_rdata;
        }
        edge();
        follow(moved);
    }

    // Does all of it, while nothing comes and goes, and returns the word that was read.
    template <class Settle, class Edge>
    uint64_t finish(const Operation& one, Settle settle, Edge edge) {
        begin(one);
        for (int k = 0; busy_; ++k) {
            if (k > 100000)
                refuse("address " + std::to_string(one.address) + " gives no " +
                       std::to_string(one.value));
            settle();
            tick(edge);
        }
        return word_;
    }
};
