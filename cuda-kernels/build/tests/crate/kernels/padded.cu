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

/// Uses a byte between the fields as an index.
extern "C" __global__ void between(int* data, Step step) {
    data[reinterpret_cast<const unsigned char*>(&step)[1] & 1] = 1;
}
