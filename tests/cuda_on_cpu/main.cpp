// Runs one kernel as a program of its own: a sanitizer's library cannot be loaded into Python.
//
//     program KERNEL BLOCKS THREADS SHARED_BYTES INPUT OUTPUT
//
// INPUT, in 64-bit words: the number of memory ranges, then of each its bytes and contents; the number of the
// kernel's arguments, then of each its range and the offset in it, or NO_RANGE and an integer. OUTPUT gets the
// contents of the ranges. Each range is a piece of memory of its own, so that an overrun is seen.
#include <dlfcn.h>

using Word = unsigned long long;
constexpr Word NO_RANGE = ~0ull;

static void transfer(size_t (*with)(void*, size_t, size_t, std::FILE*), void* at, Word bytes, std::FILE* file) {
    if (with(at, 1, bytes, file) != bytes) std::exit(3);
}

static Word read_word(std::FILE* file) {
    Word word;
    transfer(std::fread, &word, sizeof word, file);
    return word;
}

int main(int, char** words) {
    auto kernel = reinterpret_cast<void (*)(const void*)>(dlsym(RTLD_DEFAULT, words[1]));
    std::FILE* input = std::fopen(words[5], "rb");
    std::FILE* output = std::fopen(words[6], "wb");
    if (!kernel || !input || !output) return 2;

    struct Range { char* start; Word bytes; };
    std::vector<Range> ranges(read_word(input));
    for (Range& range : ranges) {
        range.bytes = read_word(input);
        range.start = static_cast<char*>(std::malloc(range.bytes));
        transfer(std::fread, range.start, range.bytes, input);
    }
    std::vector<Word> arguments(read_word(input));
    for (Word& argument : arguments) {
        Word range = read_word(input);
        argument = read_word(input);
        if (range != NO_RANGE) argument += reinterpret_cast<Word>(ranges[range].start);
    }

    cuda_on_cpu_launch(kernel, arguments.data(), std::atoi(words[2]), std::atoi(words[3]), std::atoll(words[4]));

    for (const Range& range : ranges) {
        transfer([](void* at, size_t size, size_t count, std::FILE* file) { return std::fwrite(at, size, count, file); },
                 range.start, range.bytes, output);
    }
    return std::fclose(output);
}
