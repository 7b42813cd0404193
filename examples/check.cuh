// Shared macros of the programs in this folder. CHECK ends the program at the first CUDA call that fails,
// and prints the call, its source line and the error. EXPECT does the same for any other condition that
// must hold.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                                  \
    do {                                                                                                             \
        const cudaError_t check_code = (call);                                                                       \
        if (check_code != cudaSuccess) {                                                                             \
            std::fprintf(stderr, "%s:%d: %s: %s (%d): %s\n", __FILE__, __LINE__, #call,                              \
                         cudaGetErrorName(check_code), int(check_code), cudaGetErrorString(check_code));             \
            std::exit(EXIT_FAILURE);                                                                                 \
        }                                                                                                            \
    } while (false)

#define EXPECT(condition)                                                                                            \
    do {                                                                                                             \
        if (!(condition)) {                                                                                          \
            std::fprintf(stderr, "%s:%d: this does not hold: %s\n", __FILE__, __LINE__, #condition);                 \
            std::exit(EXIT_FAILURE);                                                                                 \
        }                                                                                                            \
    } while (false)

inline const char* yes_no(bool answer) { return answer ? "yes" : "no"; }
