// What every program here shares. CHECK ends the program at the first CUDA call that fails and says which
// call it was, where it stands and why it failed; EXPECT does the same for anything else that must hold.
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
