// Drives one unit of a Verilated bank with pairs of operands, a pair per clock cycle.
//
// The scenario holds pairs of 32-bit words; for each pair a word goes to standard output: what stood
// on the output `latency` cycles after the pair. Nothing is judged here; Python compares.

#include <cstdio>

#include "model.hpp"
#include "program.hpp"

#if VM_COVERAGE
#include "verilated_cov.h"
#endif

bool run(Program& program) {
    unsigned select = 0;
    size_t latency = 0;
    program.read("select", select);
    program.read("latency", latency);
    program.finish();

    std::FILE* input = std::fopen(program.scenario, "rb");
    if (!input) refuse("cannot read the pairs");
    std::vector<uint32_t> words;
    uint32_t block[4096];
    for (size_t count; (count = std::fread(block, sizeof *block, 4096, input)) > 0;)
        words.insert(words.end(), block, block + count);
    std::fclose(input);

    VerilatedContext context;
    context.commandArgs(program.count, program.arguments);
    Top bank{&context};
    const size_t pairs = words.size() / 2;
    std::vector<uint32_t> results;
    results.reserve(pairs);
    bank.clk = 0;
    bank.select = select;
    for (size_t cycle = 0; cycle < pairs + latency; ++cycle) {
        const size_t pair = cycle < pairs ? cycle : pairs - 1;
        bank.i0 = words[2 * pair];
        bank.i1 = words[2 * pair + 1];
        bank.eval();
        if (cycle >= latency) results.push_back(bank.o);
        bank.clk = 1;
        bank.eval();
        bank.clk = 0;
    }
#if VM_COVERAGE
    context.coveragep()->write();
#endif
    return std::fwrite(results.data(), sizeof(uint32_t), pairs, stdout) == pairs;
}
