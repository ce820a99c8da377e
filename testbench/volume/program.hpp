// What every harness shares: options, the scenario, results as JSON. Independent of any model.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

// Ends the program: it could not start, or the model does not answer.
[[noreturn]] void refuse(const std::string& text);

// Numbers of a file, one after the other.
class Reader {
    std::string text_;
    const char* at_ = nullptr;

public:
    explicit Reader(const char* path);
    uint64_t operator()();
    std::vector<uint64_t> list();
};

// One JSON object, written member by member; in a list members have no names.
class Json {
    std::string text_ = "{";

    void begin(const char* name);
    void put(const std::string& text) { text_ += text; }

public:
    void open(const char* name, char bracket);
    void close(char bracket) { text_ += bracket; }
    template <class T>
    void add(const char* name, const T& value) {
        begin(name);
        if constexpr (std::is_same_v<T, bool>) put(value ? "true" : "false");
        else if constexpr (std::is_arithmetic_v<T>) put(std::to_string(value));
        else put('"' + std::string(value) + '"');
    }
    // A number with so many digits behind the point.
    void add(const char* name, double value, int digits);
    template <class Values>
    void add_list(const char* name, const Values& values) {
        open(name, '[');
        for (const auto& value : values) add(nullptr, value);
        close(']');
    }
    void print();
};

// The command line: [SCENARIO] NAME=VALUE ... +PLUSARG ...; plusargs are for the model.
class Program {
    struct Option {
        std::string name;
        double value;
        bool known;
    };
    std::vector<Option> options_;

public:
    const int count;
    const char** const arguments;
    const char* scenario = nullptr;

    Program(int argc, const char** argv);
    // The value given, or the one that `to` has already.
    template <class T>
    void read(const char* name, T& to) {
        for (Option& option : options_)
            if (option.name == name) {
                to = static_cast<T>(option.value);
                option.known = true;
            }
    }
    // After all are read: whether there was one that nobody knows.
    void finish() const;
};

// Each harness defines it; returns whether all was right.
bool run(Program& program);
