// Options, the scenario and JSON of every harness, and its main: what program.hpp declares.
#include "program.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

void refuse(const std::string& text) {
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(2);
}

Reader::Reader(const char* path) {
    std::FILE* file = path ? std::fopen(path, "rb") : nullptr;
    if (!file) refuse("cannot read the scenario");
    char part[1 << 16];
    for (size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text_.append(part, got);
    std::fclose(file);
    at_ = text_.c_str();
}

uint64_t Reader::operator()() {
    char* end;
    const uint64_t value = std::strtoull(at_, &end, 10);
    if (end == at_) refuse("the scenario ends too early");
    at_ = end;
    return value;
}

std::vector<uint64_t> Reader::list() {
    std::vector<uint64_t> values((*this)());
    for (uint64_t& value : values) value = (*this)();
    return values;
}

void Json::begin(const char* name) {
    if (!std::strchr("{[", text_.back())) text_ += ", ";
    if (name) text_ += '"' + std::string(name) + "\": ";
}

void Json::open(const char* name, char bracket) {
    begin(name);
    text_ += bracket;
}

void Json::add(const char* name, double value, int digits) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    begin(name);
    put(text);
}

void Json::print() { std::printf("%s}\n", text_.c_str()); }

Program::Program(int argc, const char** argv) : count(argc), arguments(argv) {
    for (int k = 1; k < argc; ++k) {
        const char* sign = std::strchr(argv[k], '=');
        if (*argv[k] == '+') continue;
        if (sign)
            options_.push_back({{argv[k], static_cast<size_t>(sign - argv[k])},
                                std::atof(sign + 1), false});
        else if (k == 1) scenario = argv[k];
        else refuse(std::string("unknown argument ") + argv[k]);
    }
}

void Program::finish() const {
    for (const Option& option : options_)
        if (!option.known) refuse("unknown option " + option.name);
}

// Exits with 0 if all was right, 1 if not, 2 if it could not start.
int main(int argc, char** argv) {
    Program program{argc, const_cast<const char**>(argv)};
    return run(program) ? 0 : 1;
}
