extern "C" __global__ void accumulate(const int* from, int* sum, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) sum[i] += from[i];
}
