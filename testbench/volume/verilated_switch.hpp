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

    void wait(const char* what, CData& done) {
        for (int k = 0; k < 100000; ++k) {
            settle();
            const bool over = done;
            tick();
            if (over) return;
        }
        refuse(std::string("the configuration memory gives no ") + what);
    }

    void write(uint64_t address, uint64_t value) {
        top_.s_axil_awaddr = address;
        top_.s_axil_wdata = value;
        top_.s_axil_wstrb = 0xF;
        top_.s_axil_awvalid = top_.s_axil_wvalid = 1;
        for (int k = 0; top_.s_axil_awvalid || top_.s_axil_wvalid; ++k) {
            settle();
            const bool taken_address = top_.s_axil_awready, taken_value = top_.s_axil_wready;
            tick();
            if (taken_address) top_.s_axil_awvalid = 0;
            if (taken_value) top_.s_axil_wvalid = 0;
            if (k > 100000) refuse("the configuration memory takes no write");
        }
        top_.s_axil_bready = 1;
        wait("answer to a write", top_.s_axil_bvalid);
        top_.s_axil_bready = 0;
        if (top_.s_axil_bresp) refuse("a write of address " + std::to_string(address) + " failed");
    }

    uint64_t read(uint64_t address) {
        top_.s_axil_araddr = address;
        top_.s_axil_arvalid = 1;
        wait("word", top_.s_axil_arready);
        top_.s_axil_arvalid = 0;
        for (int k = 0; k < 100000; ++k) {
            settle();
            if (top_.s_axil_rvalid) {
                const uint64_t value = top_.s_axil_rdata;
                if (top_.s_axil_rresp)
                    refuse("a read of address " + std::to_string(address) + " failed");
                top_.s_axil_rready = 1;
                tick();
                top_.s_axil_rready = 0;
                return value;
            }
            tick();
        }
        refuse("the configuration memory gives no value");
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

    void configure(const std::vector<Operation>& operations) {
        top_.rst = 1;
        for (Port& port : ports_) *port.s_valid = *port.m_ready = 0;
        top_.s_axil_awvalid = top_.s_axil_wvalid = top_.s_axil_arvalid = 0;
        top_.s_axil_bready = top_.s_axil_rready = 0;
        for (int k = 0; k < 4; ++k) settle(), tick();
        top_.rst = 0;
        for (const Operation& one : operations) {
            if (!one.poll) {
                write(one.address, one.value);
                continue;
            }
            for (int k = 0; (read(one.address) & one.select) != one.value; ++k)
                if (k > 10000)
                    refuse("address " + std::to_string(one.address) + " does not become " +
                           std::to_string(one.value));
        }
    }

    void settle() {
        top_.clk = 0;
        top_.eval();
    }
    void tick() {
        top_.clk = 1;
        top_.eval();
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
