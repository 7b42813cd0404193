// The price of guards: runs each kernel as it is, with guards on the accesses whose address depends on
// memory (`mixed`), and with guards on all accesses (`full`), in turns. Prints medians and ratios, and
// compares the results.
//
// nvcc -O2 -std=c++17 -o prices prices.cu && ./prices
//
// `./prices 25 48` compiles the guarded forms for at most 48 registers, or as many as the original has.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                   \
    do {                                                                                              \
        cudaError_t code = call;                                                                      \
        if (code != cudaSuccess) {                                                                    \
            printf("%s: %s (line %d)\n", #call, cudaGetErrorString(code), __LINE__);                  \
            exit(1);                                                                                  \
        }                                                                                             \
    } while (0)

typedef unsigned long long Word;

struct Memory {
    void *start;
    size_t bytes;
};

struct Argument {
    Memory memory;
    int number;
};

static Argument of(Memory memory) { return {memory, 0}; }
static Argument of(int number) { return {{nullptr, 0}, number}; }

template <class T> Memory filled(const std::vector<T> &list) {
    Memory memory{nullptr, list.size() * sizeof(T)};
    CHECK(cudaMalloc(&memory.start, memory.bytes));
    CHECK(cudaMemcpy(memory.start, list.data(), memory.bytes, cudaMemcpyHostToDevice));
    return memory;
}

static Memory zeros(size_t bytes) { return filled(std::vector<char>(bytes)); }

static std::string read(const std::string &name) {
    std::ifstream file(name);
    if (!file) {
        printf("no file %s\n", name.c_str());
        exit(1);
    }
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
}

static Memory page, record;
static int most_registers;

struct Form {
    std::string name;
    cudaKernel_t kernel;
    std::vector<Word> more; // limits, zeros, record
    int registers;
    std::vector<float> times;
    std::vector<char> result;
};

static Form load(const std::string &kernel, const std::string &form, const std::vector<Argument> &arguments,
                 int original = 0) {
    Form made;
    made.name = form;
    std::string text = read(form == "original" ? "kernels.ptx" : form + "/" + kernel + ".ptx");
    cudaLibrary_t library;
    cudaJitOption option = cudaJitMaxRegisters;
    void *limit = (void *)(size_t)std::max(most_registers, original);
    unsigned options = most_registers && original ? 1 : 0;
    CHECK(cudaLibraryLoadData(&library, text.c_str(), &option, &limit, options, nullptr, nullptr, 0));
    CHECK(cudaLibraryGetKernel(&made.kernel, library, kernel.c_str()));
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, (const void *)made.kernel));
    made.registers = attributes.numRegs;
    if (form == "original") return made;
    std::istringstream limits(read(form + "/" + kernel + ".limits"));
    int parameter;
    Word span, align;
    while (limits >> parameter >> span >> align) {
        Memory memory = arguments[parameter].memory;
        bool is_aligned = (Word)memory.start % align == 0;
        made.more.push_back(is_aligned && memory.bytes >= span ? memory.bytes - span + 1 : 0);
    }
    made.more.push_back((Word)page.start);
    made.more.push_back((Word)record.start);
    return made;
}

static void run(Form &form, std::vector<Argument> &arguments, dim3 grid, dim3 block) {
    std::vector<void *> list;
    for (Argument &it : arguments) list.push_back(it.memory.start ? (void *)&it.memory.start : (void *)&it.number);
    for (Word &it : form.more) list.push_back(&it);
    CHECK(cudaLaunchKernel((const void *)form.kernel, grid, block, list.data(), 0, 0));
}

static float median(std::vector<float> list) {
    std::sort(list.begin(), list.end());
    return list[list.size() / 2];
}

static double logs[2], worst[2];
static int count;

// `changed` is the argument whose contents are reset in front of each run, and compared behind it.
static void measure(const char *what, const std::string &kernel, std::vector<Argument> arguments, int changed,
                    dim3 grid, dim3 block, bool is_exact = true) {
    std::vector<Form> forms;
    for (const char *form : {"original", "mixed", "full"}) {
        forms.push_back(load(kernel, form, arguments, forms.empty() ? 0 : forms[0].registers));
    }
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    Memory to = arguments[changed].memory, saved = to;
    CHECK(cudaMalloc(&saved.start, saved.bytes));
    CHECK(cudaMemcpy(saved.start, to.start, to.bytes, cudaMemcpyDeviceToDevice));
    for (int round = 0; round < 33; ++round) {
        for (size_t at = 0; at < forms.size(); ++at) {
            Form &form = forms[(at + round) % forms.size()];
            CHECK(cudaMemcpy(to.start, saved.start, to.bytes, cudaMemcpyDeviceToDevice));
            CHECK(cudaEventRecord(begin));
            run(form, arguments, grid, block);
            CHECK(cudaEventRecord(end));
            CHECK(cudaEventSynchronize(end));
            float time;
            CHECK(cudaEventElapsedTime(&time, begin, end));
            if (round > 2) form.times.push_back(time);
            if (round == 0) {
                form.result.resize(to.bytes);
                CHECK(cudaMemcpy(form.result.data(), to.start, to.bytes, cudaMemcpyDeviceToHost));
            }
        }
    }
    CHECK(cudaMemcpy(to.start, saved.start, to.bytes, cudaMemcpyDeviceToDevice));
    CHECK(cudaFree(saved.start));
    std::vector<char> noted(record.bytes);
    CHECK(cudaMemcpy(noted.data(), record.start, record.bytes, cudaMemcpyDeviceToHost));
    bool failed = std::count(noted.begin(), noted.end(), 0) != (long)noted.size();
    bool same = !is_exact || (forms[0].result == forms[1].result && forms[0].result == forms[2].result);
    float base = median(forms[0].times);
    printf("%-28s %8.3f ms", what, base);
    for (int at = 1; at < 3; ++at) {
        double ratio = median(forms[at].times) / base;
        logs[at - 1] += std::log(ratio);
        worst[at - 1] = std::max(worst[at - 1], ratio);
        printf("   %s %.3f", forms[at].name.c_str(), ratio);
    }
    ++count;
    printf("   registers %d %d %d%s%s\n", forms[0].registers, forms[1].registers, forms[2].registers,
           same ? "" : "   RESULTS DIFFER", failed ? "   A GUARD HAS FAILED" : "");
    CHECK(cudaMemset(record.start, 0, record.bytes));
    if (failed || !same) exit(1);
}

static std::vector<int> numbers(size_t count, int span, int seed) {
    std::mt19937 random(seed);
    std::vector<int> list(count);
    for (int &it : list) it = random() % span;
    return list;
}

int main(int argc, char **argv) {
    // `./prices 12` is a short run, to try the program itself.
    const int scale = argc > 1 ? atoi(argv[1]) : 25;
    most_registers = argc > 2 ? atoi(argv[2]) : 0;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    printf("%s\n", device.name);
    page = zeros(4096);
    record = zeros(40);
    const int n = 1 << scale;
    Memory wide = filled(std::vector<float>(n, 1)), out = zeros(4ul * n);
    for (int span : {n >> 9, n >> 5, n}) {
        std::string of_span = ", span 2^" + std::to_string((int)std::log2(span));
        Memory index = filled(numbers(n, span, 1)), bins = zeros(4ul * span);
        measure(("gather" + of_span).c_str(), "gather", {of(index), of(wide), of(out), of(n)}, 2, n / 256, 256);
        measure(("scatter" + of_span).c_str(), "scatter", {of(index), of(wide), of(out), of(n)}, 2, n / 256, 256);
        measure(("histogram" + of_span).c_str(), "histogram", {of(index), of(bins), of(n)}, 1, n / 256, 256);
        const int rows = n / 32;
        std::vector<int> row(rows + 1);
        for (int at = 0; at <= rows; ++at) row[at] = 32 * at;
        Memory starts = filled(row), sums = zeros(4ul * rows);
        std::vector<Argument> product{of(starts), of(index), of(wide), of(wide), of(sums), of(rows)};
        measure(("sparse" + of_span).c_str(), "sparse", product, 4, (rows + 255) / 256, 256);
        measure(("sparse_warp" + of_span).c_str(), "sparse_warp", product, 4, (rows + 7) / 8, 256);
        CHECK(cudaFree(index.start));
        CHECK(cudaFree(bins.start));
        CHECK(cudaFree(starts.start));
        CHECK(cudaFree(sums.start));
    }
    {
        const int vertices = n >> 4, edges = 16 * vertices;
        std::vector<int> row(vertices + 1), depth(vertices, -1);
        for (int at = 0; at <= vertices; ++at) row[at] = 16 * at;
        for (int at = 0; at < vertices; at += 3) depth[at] = 0;
        Memory starts = filled(row), column = filled(numbers(edges, vertices, 2)), depths = filled(depth);
        Memory rank = filled(std::vector<float>(vertices, 1)), next = zeros(4ul * vertices), flag = zeros(4);
        measure("visit", "visit", {of(starts), of(column), of(depths), of(flag), of(0), of(vertices)}, 2,
                vertices / 256, 256);
        measure("push", "push", {of(starts), of(column), of(rank), of(next), of(vertices)}, 3, vertices / 256, 256,
                false);
    }
    {
        const int tokens = n >> 10, width = 768 / 4, words = 50257;
        Memory token = filled(numbers(tokens, words, 3)), table = filled(std::vector<float>(words * 768, 2));
        Memory rows = zeros(16ul * tokens * width);
        measure("embedding", "embedding", {of(token), of(table), of(rows), of(width), of(tokens * width)}, 2,
                (tokens * width + 255) / 256, 256);
    }
    {
        const int slots = n >> 3, mask = slots - 1;
        std::vector<int> keys(slots, -1), values(slots, 5);
        for (int key : numbers(slots / 2, 1 << 30, 4)) {
            unsigned at = key * 0x9e3779b1u & mask;
            while (keys[at] != -1 && keys[at] != key) at = (at + 1) & mask;
            keys[at] = key;
        }
        Memory wanted = filled(numbers(n / 2, 1 << 30, 4)), found = zeros(2ul * n);
        measure("lookup", "lookup", {of(wanted), of(filled(keys)), of(filled(values)), of(found), of(mask), of(n / 2)},
                3, n / 2 / 256, 256);
    }
    {
        const int size = scale < 20 ? 64 : 2048;
        Memory a = filled(std::vector<float>(size * size, 1)), c = zeros(4ul * size * size);
        measure("product by tiles", "product", {of(a), of(a), of(c), of(size)}, 2, dim3(size / 32, size / 32),
                dim3(32, 32));
    }
    for (int at = 0; at < 2; ++at) {
        printf("%s: geometric mean %.3f, worst %.3f of %d\n", at ? "full" : "mixed", std::exp(logs[at] / count),
               worst[at], count);
    }
    // What guards are for: an index that is wrong is noted, and the context is alive.
    std::vector<int> wrong(256, 0);
    wrong[77] = 1 << 30;
    std::vector<Argument> arguments{of(filled(wrong)), of(wide), of(out), of(256)};
    Form form = load("gather", "mixed", arguments);
    run(form, arguments, 1, 256);
    CHECK(cudaDeviceSynchronize());
    unsigned noted[10];
    CHECK(cudaMemcpy(noted, record.start, sizeof noted, cudaMemcpyDeviceToHost));
    bool is_right = noted[0] == 1 && noted[2] == 0 && noted[3] == 1 && noted[7] == 77;
    printf("a wrong index: check %u, offset 0x%x%08x, thread %u: %s\n", noted[1], noted[3], noted[2], noted[7],
           is_right ? "named" : "NOT NAMED");
    return !is_right;
}
