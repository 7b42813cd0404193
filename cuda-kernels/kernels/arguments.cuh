// Kernels with arguments of many kinds that write down the values they got, for tests of argument
// passing.
#pragma once

#include <cuda_runtime.h>

namespace arguments {

/// An enumeration as an argument.
enum class Direction : int {
    Down = -1,
    Up = 1,
};

/// A struct with padding.
struct Padded {
    /// One byte, and seven of padding behind it.
    unsigned char tag;
    /// Eight bytes.
    double value;
    /// Two bytes, and six of padding behind them.
    short tail;
};

/// A struct of structs and arrays.
struct Nested {
    /// Two times three numbers.
    int numbers[2][3];
    /// A struct in a struct.
    Padded padded;
};

/// A struct of stricter alignment than its fields have.
struct __align__(16) Aligned {
    /// Four numbers that can be loaded at once.
    float values[4];
};

/// A struct that contains a pointer.
struct View {
    /// The address of the elements.
    const int* data;
    /// The number of elements.
    size_t count;
};

/// Writes every scalar as a double, in order.
__global__ void scalars(double* out, bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g,
                        unsigned h, long long i, unsigned long long j, float k, double l, size_t m, Direction n);

/// Writes the fields of the structs as doubles, in order, and then the sum over the view.
__global__ void structs(double* out, Padded padded, Nested nested, unsigned char between, Aligned aligned, View view);

/// Writes the number of threads that ran and the words of dynamic shared memory that each block could
/// use: each thread fills its part.
__global__ void shape(unsigned* threads, unsigned* shared_words, unsigned words);

/// Writes one to the first element of each buffer.
__global__ void buffers_4(int* a, int* b, int* c, int* d);

/// Writes one to the first element of each buffer.
__global__ void buffers_16(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i, int* j, int* k, int* l,
                           int* m, int* n, int* o, int* p);

/// One of two kernels of the same name: adds to floats.
__global__ void overloaded(float* data, float value);

/// The other: adds to integers.
__global__ void overloaded(int* data, int value);

/// A kernel that runs only in blocks of up to 64 threads.
__global__ void __launch_bounds__(64) bounded(unsigned* out);

/// Meets all blocks of the grid at a barrier between two steps: each block counts itself, then writes the
/// count that it sees.
__global__ void meet(unsigned* arrived, unsigned* seen);

/// Writes to the elements of `depth` layers of pitched memory, row by row: `value` plus the index of the
/// element.
__global__ void pitched(cudaPitchedPtr to, unsigned depth, int value);

/// Writes twenty numbers.
__global__ void many(int* out, int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m,
                     int n, int o, int p, int q, int r, int s, int t);

/// Scales `n` vectors, and says for each whether its first number is positive.
__global__ void vectors(const float4* in, float4* out, bool* positive, int n);

/// Adds the first numbers of `n` rows to the first row, and swaps the first two addresses in the table.
__global__ void rows(float** table, const float* const* again, int n);

/// Waits until a flag is no longer zero, sets a second one, then waits for a third one of 64 bits.
__global__ void signs(const volatile int* open, volatile int* opened, volatile unsigned long long* close);

}  // namespace arguments
