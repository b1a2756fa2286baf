// Runs kernels at the same time as a program of their own: a sanitizer's library cannot be loaded into Python.
//
//     program INPUT OUTPUT (KERNEL BLOCKS THREADS SHARED_BYTES)...
//
// INPUT, in 64-bit words: the number of memory ranges, then of each its alignment, bytes and contents; for each
// kernel the number of arguments, then of each its range and the offset in it, or NO_RANGE and an integer. OUTPUT
// gets the contents of the ranges. Each range is a piece of memory of its own, so that an overrun is seen, and begins
// as many bytes after a multiple of 16 as it does in Python.
#include <dlfcn.h>
#include <thread>

using FileWord = unsigned long long;
constexpr FileWord NO_RANGE = ~0ull;

static void demand(bool condition, const char* what) {
    if (condition) return;
    std::perror(what);
    std::exit(2);
}

static void read_bytes(void* to, FileWord bytes, std::FILE* file) {
    demand(std::fread(to, 1, bytes, file) == bytes, "input");
}

static FileWord read_word(std::FILE* file) {
    FileWord word;
    read_bytes(&word, sizeof word, file);
    return word;
}

int main(int count, char** words) {
    std::FILE* input = std::fopen(words[1], "rb");
    std::FILE* output = std::fopen(words[2], "wb");
    demand(input && output, "files");

    struct Range { char* start; FileWord bytes; };
    std::vector<Range> ranges(read_word(input));
    for (Range& range : ranges) {
        FileWord alignment = read_word(input);
        range.bytes = read_word(input);
        range.start = static_cast<char*>(std::malloc(alignment + range.bytes)) + alignment;
        read_bytes(range.start, range.bytes, input);
    }

    struct Kernel { cuda_on_cpu::Kernel start; std::vector<FileWord> arguments; char** shape; };
    std::vector<Kernel> kernels;
    for (int k = 3; k < count; k += 4) {
        auto start = reinterpret_cast<cuda_on_cpu::Kernel>(dlsym(RTLD_DEFAULT, words[k]));
        demand(start, words[k]);
        kernels.push_back({start, std::vector<FileWord>(read_word(input)), words + k + 1});
        for (FileWord& argument : kernels.back().arguments) {
            FileWord range = read_word(input);
            argument = read_word(input);
            if (range != NO_RANGE) argument += reinterpret_cast<FileWord>(ranges[range].start);
        }
    }

    std::vector<std::thread> running;
    for (const Kernel& kernel : kernels) {
        running.emplace_back([&kernel] {
            cuda_on_cpu_launch(kernel.start, kernel.arguments.data(), std::atoi(kernel.shape[0]),
                               std::atoi(kernel.shape[1]), std::atoll(kernel.shape[2]));
        });
    }
    for (std::thread& launch : running) launch.join();

    for (const Range& range : ranges) {
        demand(std::fwrite(range.start, 1, range.bytes, output) == range.bytes, "output");
    }
    return std::fclose(output);
}
