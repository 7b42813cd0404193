// What the kernels that read images are given.
#pragma once

#include <cuda_runtime.h>

// One read: coordinates, layer, level and derivatives. `ImageRead` of cases/image.rs has the same layout.
struct ImageRead {
    float at[3];
    float layer;
    float level;
    float dx[3];
    float dy[3];
};
