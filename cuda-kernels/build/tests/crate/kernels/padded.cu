// A struct with padding between its fields, and behind them.
struct Step {
    unsigned char by;
    int count;
    short last;
};

/// Adds to the first elements.
extern "C" __global__ void step_up(int* data, Step step) {
    int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < step.count) data[i] += i == step.last ? 100 : step.by;
}

/// Uses a byte between the fields as an index. nvcc leaves such a byte out, unless it is asked for in PTX.
extern "C" __global__ void between(int* data, Step step) {
    unsigned byte;
    asm("ld.param.u8 %0, [between_param_1+1];" : "=r"(byte));
    data[byte & 1] = step.by;
}
