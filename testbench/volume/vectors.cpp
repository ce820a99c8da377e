// Drives one unit of a Verilated bank with pairs of operands, a pair per clock cycle.
//
// usage: Vbank SELECT LATENCY INPUT OUTPUT
//
// INPUT holds pairs of 32-bit words, OUTPUT gets one 32-bit word for each pair: what stood on the
// output LATENCY cycles after the pair. Nothing is judged here; Python compares.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "Vbank.h"
#include "verilated.h"

int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const uint32_t select = std::strtoul(argv[1], nullptr, 10);
    const size_t latency = std::strtoul(argv[2], nullptr, 10);

    std::FILE* input = std::fopen(argv[3], "rb");
    if (!input) return 3;
    std::vector<uint32_t> words;
    uint32_t block[4096];
    for (size_t count; (count = std::fread(block, sizeof *block, 4096, input)) > 0;)
        words.insert(words.end(), block, block + count);
    std::fclose(input);

    VerilatedContext context;
    Vbank bank{&context};
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

    std::FILE* output = std::fopen(argv[4], "wb");
    if (!output) return 4;
    const size_t written = std::fwrite(results.data(), sizeof(uint32_t), pairs, output);
    return std::fclose(output) == 0 && written == pairs ? 0 : 5;
}
