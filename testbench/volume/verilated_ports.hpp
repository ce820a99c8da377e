// A Verilated unit with links on its ports: a switch or a router.
#pragma once

#include <type_traits>

#include "flit.hpp"

static_assert(HEADER_BITS == 64 && CRC_BITS == 32, "the header has two words, the CRC the third");

template <size_t Words>
void put_user(VlWide<Words>& to, const Flit& flit) {
    to[0] = flit.header;
    to[1] = flit.header >> 32;
    to[2] = flit.crc;
}
template <size_t Words>
void get_user(const VlWide<Words>& from, Flit& flit) {
    flit.header = from[0] | uint64_t{from[1]} << 32;
    flit.crc = from[2];
}

// Inputs are given before `settle`, outputs hold from there to `tick`.
class VerilatedPorts {
    template <class T>
    using Pin = std::remove_reference_t<T>*;
    struct Port {
        Pin<decltype(Top::s0_axis_tdata)> s_data, m_data;
        Pin<decltype(Top::s0_axis_tuser)> s_user, m_user;
        CData *s_valid, *s_ready, *s_last, *m_valid, *m_ready, *m_last;
    };
    VerilatedContext context_;

protected:
    Top top_{&context_};
    std::array<Port, PORTS> ports_;

public:
    explicit VerilatedPorts(const Program& program) {
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
