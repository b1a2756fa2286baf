// Runs one kernel as a program of its own: a sanitizer's library cannot be loaded into Python.
//
//     program KERNEL BLOCKS THREADS SHARED_BYTES INPUT OUTPUT
//
// INPUT, in 64-bit words: the number of memory ranges, then of each its alignment, bytes and contents; the
// number of arguments, then of each its range and the offset in it, or NO_RANGE and an integer. OUTPUT gets the
// contents of the ranges. Each range is a piece of memory of its own, so that an overrun is seen, and begins as
// many bytes after a multiple of 16 as it does in Python.
#include <dlfcn.h>

using Word = unsigned long long;
constexpr Word NO_RANGE = ~0ull;

static void demand(bool condition, const char* what) {
    if (condition) return;
    std::perror(what);
    std::exit(2);
}

static void read_bytes(void* to, Word bytes, std::FILE* file) {
    demand(std::fread(to, 1, bytes, file) == bytes, "input");
}

static Word read_word(std::FILE* file) {
    Word word;
    read_bytes(&word, sizeof word, file);
    return word;
}

int main(int, char** words) {
    auto kernel = reinterpret_cast<void (*)(const void*)>(dlsym(RTLD_DEFAULT, words[1]));
    std::FILE* input = std::fopen(words[5], "rb");
    std::FILE* output = std::fopen(words[6], "wb");
    demand(kernel, words[1]);
    demand(input && output, "files");

    struct Range { char* start; Word bytes; };
    std::vector<Range> ranges(read_word(input));
    for (Range& range : ranges) {
        Word alignment = read_word(input);
        range.bytes = read_word(input);
        range.start = static_cast<char*>(std::malloc(alignment + range.bytes)) + alignment;
        read_bytes(range.start, range.bytes, input);
    }
    std::vector<Word> arguments(read_word(input));
    for (Word& argument : arguments) {
        Word range = read_word(input);
        argument = read_word(input);
        if (range != NO_RANGE) argument += reinterpret_cast<Word>(ranges[range].start);
    }

    int blocks = std::atoi(words[2]), threads = std::atoi(words[3]);
    cuda_on_cpu_launch(kernel, arguments.data(), blocks, threads, std::atoll(words[4]));

    for (const Range& range : ranges) {
        demand(std::fwrite(range.start, 1, range.bytes, output) == range.bytes, "output");
    }
    return std::fclose(output);
}
