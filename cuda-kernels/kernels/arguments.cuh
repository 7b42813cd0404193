// Kernels that take arguments of many kinds and write down what they got, for tests of how arguments are
// passed.
#pragma once

#include <cuda_runtime.h>

namespace arguments {

/// An enumeration as an argument.
enum class Direction : int {
    Down = -1,
    Up = 1,
};

/// A struct with bytes that belong to no field.
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

/// A struct that carries a pointer.
struct View {
    /// Where the elements are.
    const int* data;
    /// How many there are.
    size_t count;
};

/// Writes every scalar as a double, in order.
__global__ void scalars(double* out, bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g,
                        unsigned h, long long i, unsigned long long j, float k, double l, size_t m, Direction n);

/// Writes what the structs hold as doubles, field by field in order, and last the sum over the view.
__global__ void structs(double* out, Padded padded, Nested nested, unsigned char between, Aligned aligned, View view);

/// Writes how many threads ran and how much dynamic shared memory each block could use: each thread fills its
/// part.
__global__ void shape(unsigned* threads, unsigned* shared_words, unsigned words);

/// One of two kernels of the same name: adds to floats.
__global__ void overloaded(float* data, float value);

/// The other: adds to integers.
__global__ void overloaded(int* data, int value);

/// A kernel that runs in blocks of up to 64 threads only.
__global__ void __launch_bounds__(64) bounded(unsigned* out);

/// Meets all blocks of the grid at a barrier between two steps: each counts itself, then writes how many it
/// sees.
__global__ void meet(unsigned* arrived, unsigned* seen);

/// Writes into the elements of `depth` layers of pitched memory, row by row: `value` and the number of the
/// element.
__global__ void pitched(cudaPitchedPtr to, unsigned depth, int value);

}  // namespace arguments
