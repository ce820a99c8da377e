// The Verilated switch, with the bus of its configuration memory.
#pragma once

#include <type_traits>

#include "scenario.hpp"

constexpr unsigned UPPER = HEADER_BITS - 32;  // bits of the header in the second word

template <size_t Words>
void put_user(VlWide<Words>& to, const Flit& flit) {
    to[0] = flit.header;
    to[1] = flit.header >> 32 | flit.crc << UPPER;
    to[2] = flit.crc >> (32 - UPPER);
}
template <size_t Words>
void get_user(const VlWide<Words>& from, Flit& flit) {
    flit.header = from[0] | uint64_t{from[1] & mask(UPPER)} << 32;
    flit.crc = from[1] >> UPPER | from[2] << (32 - UPPER);
}

// The hardware: inputs are given before `settle`, outputs hold from there to `tick`.
class VerilatedSwitch {
    template <class T>
    using Pin = std::remove_reference_t<T>*;
    struct Port {
        Pin<decltype(Top::s0_axis_tdata)> s_data, m_data;
        Pin<decltype(Top::s0_axis_tuser)> s_user, m_user;
        CData *s_valid, *s_ready, *s_last, *m_valid, *m_ready, *m_last;
    };
    VerilatedContext context_;
    Top top_{&context_};
    std::array<Port, PORTS> ports_;

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
    explicit VerilatedSwitch(const Program& program) {
        context_.commandArgs(program.count, program.arguments);
#define BIND(k)                                                                      \
    ports_[k] = {&top_.s##k##_axis_tdata,  &top_.m##k##_axis_tdata,                  \
                 &top_.s##k##_axis_tuser,  &top_.m##k##_axis_tuser,                  \
                 &top_.s##k##_axis_tvalid, &top_.s##k##_axis_tready,                 \
                 &top_.s##k##_axis_tlast,  &top_.m##k##_axis_tvalid,                 \
                 &top_.m##k##_axis_tready, &top_.m##k##_axis_tlast};
        EACH_PORT(BIND)
#undef BIND
    }

    void reset() {
        top_.rst = 1;
        for (Port& port : ports_) *port.s_valid = *port.m_ready = 0;
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

    void settle() {
        top_.clk = 0;
        top_.eval();
    }
    void tick() {
        const Moves moved = busy_ ? moves() : Moves{};
        if (moved.answered) check_answer(top_.s_axil_bresp);
        if (moved.got) {
            check_answer(top_.s_axil_rresp);
            word_ = top_.s_axil_rdata;
        }
        top_.clk = 1;
        top_.eval();
        follow(moved);
    }
    void give(unsigned k, bool valid, const Flit& flit) {
        *ports_[k].s_valid = valid;
        if (!valid) return;
        *ports_[k].s_data = flit.data;
        *ports_[k].s_last = flit.last;
        put_user(*ports_[k].s_user, flit);
    }
    bool taken(unsigned k) const { return *ports_[k].s_ready; }
    void ready(unsigned k, bool ready) { *ports_[k].m_ready = ready; }
    bool shown(unsigned k, Flit& flit) const {
        if (!*ports_[k].m_valid) return false;
        flit.data = *ports_[k].m_data;
        flit.last = *ports_[k].m_last;
        get_user(*ports_[k].m_user, flit);
        return true;
    }
};
