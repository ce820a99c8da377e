// What a port puts on a link must keep docs/reference/protocol.md before anything damages it.
#pragma once

#include "flit.hpp"
#include "violations.hpp"

class Watch {
    Header before_;
    bool inside_ = false, held_ = false;
    Flit flit_;
    std::array<unsigned, CIRCUITS> link_sequences_{}, limits_;

    void check_data(const Header& h, bool stomped, unsigned port, uint64_t now, Violations& rules) {
        if (h.circuit >= CIRCUITS) return rules.violation(now, port, "data of virtual channel 3");
        if (stomped && inside_) {
            inside_ = false;
            return;
        }
        if (inside_) {
            if (h.index != before_.index + 1 || h.last != before_.last ||
                h.unicast != before_.unicast || h.phase != before_.phase ||
                h.generation != before_.generation || h.destination != before_.destination ||
                h.source != before_.source || h.sequence != before_.sequence || h.link_sequence != before_.link_sequence ||
                h.circuit != before_.circuit)
                rules.violation(now, port, "flit %u of phase %u packet %u follows flit %u of "
                                "phase %u packet %u", h.index, h.phase, h.sequence,
                                before_.index, before_.phase, before_.sequence);
        } else {
            if (h.index != 0)
                rules.violation(now, port, "a packet begins with flit %u", h.index);
            if (h.link_sequence != link_sequences_[h.circuit])
                rules.violation(now, port, "link sequence number %u of virtual channel %u, want %u", h.link_sequence,
                                h.circuit, link_sequences_[h.circuit]);
            link_sequences_[h.circuit] = (h.link_sequence + h.last + 1) & LINK_SEQUENCE_MASK;
        }
        inside_ = h.index != h.last && !stomped;
        before_ = h;
    }

    // Space that was promised is not taken back.
    void check_limit(const Header& h, unsigned port, uint64_t now, Violations& rules) {
        if (h.credit_circuit >= CIRCUITS) return;
        unsigned& limit = limits_[h.credit_circuit];
        if (((h.credit_limit - limit) & LINK_SEQUENCE_MASK) > BUFFER_FLITS)
            rules.violation(now, port, "limit of virtual channel %u goes from %u back to %u",
                            h.credit_circuit, limit, h.credit_limit);
        limit = h.credit_limit;
    }

public:
    Watch() { limits_.fill(0); }

    void hold(const Flit& flit, bool moves, unsigned port, uint64_t now, Violations& rules) {
        if (held_ && flit != flit_)
            rules.violation(now, port, "a flit that was offered has changed: header %" PRIx64
                            ", data %" PRIx64 ", CRC %x became %" PRIx64 ", %" PRIx64 ", %x",
                            flit_.header, flit_.data, flit_.crc, flit.header, flit.data, flit.crc);
        held_ = !moves;
        flit_ = flit;
    }
    void none(unsigned port, uint64_t now, Violations& rules) {
        if (held_) rules.violation(now, port, "a flit that was offered has gone");
        held_ = false;
    }

    // Whether the flit's CRC is right, or that of one that is spoilt.
    enum Verdict { GOOD, STOMPED, BAD };
    Verdict check(const Flit& flit, Header& h, unsigned port, uint64_t now, Violations& rules) {
        const uint32_t crc = crc_of(flit.header, flit.data);
        const bool good = flit.crc == crc, stomped = flit.crc == ~crc;
        const bool zero = unpack(flit.header, h);
        if (!good && !stomped) rules.violation(now, port, "CRC %x, want %x", flit.crc, crc);
        if (!zero) rules.violation(now, port, "header %" PRIx64 " beyond its fields", flit.header);
        if (h.kind > HANDSHAKE) rules.violation(now, port, "kind %u", h.kind);
        if (flit.last != ends(h) && good)
            rules.violation(now, port, "tlast %u at flit %u of %u", flit.last, h.index, h.last);
        if (good) check_limit(h, port, now, rules);
        const Verdict verdict = good ? GOOD : stomped ? STOMPED : BAD;
        if (h.kind == DATA) {
            check_data(h, stomped, port, now, rules);
            return verdict;
        }
        if (flit.data) rules.violation(now, port, "data in a control flit");
        if (h.kind == SYNC) {
            if (h.circuit >= CIRCUITS || h.link_sequence != link_sequences_[h.circuit])
                rules.violation(now, port, "sync of virtual channel %u with link sequence number %u", h.circuit,
                                h.link_sequence);
        } else if (h.circuit != CONTROL) {
            rules.violation(now, port, "kind %u on virtual channel %u", h.kind, h.circuit);
        }
        return verdict;
    }
};
