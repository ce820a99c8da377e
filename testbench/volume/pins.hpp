// A Verilated unit whose links and payload have separate pins; wires.py writes what binds them.
#pragma once

#include "flit.hpp"

struct PayloadPins {
    CData *i_valid, *i_ready, *i_last;
    Data* i_data;
    CData *o_valid, *o_ready, *o_last;
    Data* o_data;
};

struct LinkPins {
    CData *m_valid, *m_ready, *m_last;
    Data* m_data;
    QData* m_header;
    IData* m_crc;
    CData *s_valid, *s_ready, *s_last;
    Data* s_data;
    QData* s_header;
    IData* s_crc;

    Flit shown() const { return {*m_header, *m_data, *m_crc, bool(*m_last)}; }
    void give(bool valid, const Flit& flit) const {
        *s_valid = valid;
        *s_last = flit.last;
        *s_data = flit.data;
        *s_header = flit.header;
        *s_crc = flit.crc;
    }
};

class ClockedTop {
    VerilatedContext context_;

protected:
    Top top_{&context_};

    explicit ClockedTop(const Program& program) {
        context_.commandArgs(program.count, program.arguments);
    }
    void clock() {
        top_.clk = 1;
        top_.eval();
        top_.clk = 0;
        top_.eval();
    }
    void reset(int cycles) {
        top_.clk = 0;
        top_.rst = 1;
        for (int k = 0; k < cycles; ++k) clock();
        top_.rst = 0;
    }
};
