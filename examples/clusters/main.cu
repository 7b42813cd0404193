// A histogram in the shared memory of clusters of blocks.
#include "../check.cuh"
#include "cluster.cuh"

#include <vector>

int main() {
    const unsigned count = 1 << 16;
    const unsigned bin_count = 1000;
    const unsigned cluster = 4;

    int has_clusters;
    CHECK(cudaDeviceGetAttribute(&has_clusters, cudaDevAttrClusterLaunch, 0));
    if (!has_clusters) {
        std::printf("This device has no clusters.\n");
        return 0;
    }
    std::vector<unsigned> values(count), bins(bin_count);
    for (unsigned i = 0; i < count; ++i) values[i] = i * i % bin_count;

    unsigned *d_values, *d_bins;
    CHECK(cudaMalloc(&d_values, count * sizeof(unsigned)));
    CHECK(cudaMalloc(&d_bins, bin_count * sizeof(unsigned)));
    CHECK(cudaMemcpy(d_values, values.data(), count * sizeof(unsigned), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_bins, 0, bin_count * sizeof(unsigned)));

    // Four blocks share the bins: each has a quarter of them in its shared memory.
    cudaLaunchAttribute attributes[2] = {};
    attributes[0].id = cudaLaunchAttributeClusterDimension;
    attributes[0].val.clusterDim.x = cluster;
    attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
    attributes[1].id = cudaLaunchAttributeClusterSchedulingPolicyPreference;
    attributes[1].val.clusterSchedulingPolicyPreference = cudaClusterSchedulingPolicySpread;
    cudaLaunchConfig_t config = {};
    config.gridDim = 4 * cluster;
    config.blockDim = 256;
    config.dynamicSmemBytes = bin_count / cluster * sizeof(unsigned);
    config.attrs = attributes;
    config.numAttrs = 2;

    int at_once;
    CHECK(cudaOccupancyMaxActiveClusters(&at_once, cluster_histogram, &config));
    EXPECT(at_once >= 1);
    CHECK(cudaLaunchKernelEx(&config, cluster_histogram, d_values, count, d_bins, bin_count));
    CHECK(cudaMemcpy(bins.data(), d_bins, bin_count * sizeof(unsigned), cudaMemcpyDeviceToHost));

    unsigned sum = 0, used = 0;
    for (unsigned bin : bins) {
        sum += bin;
        used += bin != 0;
    }
    std::printf("%u squares end in %u of %u ways\n", sum, used, bin_count);
    for (unsigned bin = 0; bin <= 100; bin += 25) std::printf("%03u: %u\n", bin, bins[bin]);
    EXPECT(sum == count);

    CHECK(cudaFree(d_values));
    CHECK(cudaFree(d_bins));
}
