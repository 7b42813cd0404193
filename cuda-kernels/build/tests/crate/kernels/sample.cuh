// Types for which the generated text has functions and uses names of Rust: bit fields, unions, large arrays,
// padding, templates and bases.
#pragma once

enum SampleColor { SampleRed, SampleGreen };

struct SampleBits {
    unsigned low : 3;
    int high : 20;
    SampleColor tint : 2;
    bool is_on : 1;
    bool set_is_on : 1;
    unsigned long long wide : 40;
};

struct SampleEither {
    union {
        int whole;
        float real;
    };
    int after;
};

struct SampleLarge {
    float values[64];
    int length;
    int rest[];
};

template <class T> struct SampleList {
    T values[40];
    SampleList* next;
};

struct SampleMany {
    char first;
    SampleList<int> list;
    int (*call)(int);
    char far[100];
};

struct SampleGaps {
    char narrow;
    int broad;
};

struct SampleOwner {
    ~SampleOwner() {}
    int* data;
};

template <class T> class SampleClass {
    T hidden[2];
};

/// Read and written.
__device__ float sample_factor;
__constant__ int sample_table[4];
