// Broken rules of docs/reference/protocol.md: how many, and what the first were.
#pragma once

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>
#include <vector>

struct Violations {
    uint64_t violations = 0;
    std::vector<std::string> first;

    __attribute__((format(printf, 4, 5))) void violation(uint64_t now, unsigned port,
                                                         const char* format, ...) {
        if (++violations > 8) return;
        char text[256];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        first.push_back("cycle " + std::to_string(now) + ", port " + std::to_string(port) + ": " +
                        text);
    }
};
