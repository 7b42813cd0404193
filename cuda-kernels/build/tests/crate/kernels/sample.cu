// A kernel for everything that the generated text of the build has. It is not launched.
#include "sample.cuh"

/// @reads sample_table
/// @writes sample_factor
__global__ void sample_kernel(
    SampleBits* bits, SampleEither either, SampleLarge* large, SampleMany* many, SampleGaps gaps,
    cudaPitchedPtr pitched, cudaTextureObject_t image, cudaSurfaceObject_t surface, float4* vectors
) {
    sample_factor = sample_table[gaps.broad & 3];
}

/// @reads sample_table
__global__ void sample_instances(SampleOwner owner, SampleClass<int> instance, float n) {}
