// Declarations without a handle. A line `//!` before each has a part of the one warning about it.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

//! kernel `hidden` has no handle: only its own file can name it
static __global__ void hidden(int* p) {}
//! kernel `nameless` has no handle: only its own file can name it
namespace { __global__ void nameless(int* p) {} }
//! kernel `scale` has no handle: it is a template
template <class T> __global__ void scale(T* p) {}
//! kernel `made_one` has no handle: a macro makes it
#define MAKE(name) __global__ void made_##name(int* p) {}
MAKE(one)
//! kernel `wide` has no handle: it has more than 32 parameters
#define EIGHT(x) int x##0, int x##1, int x##2, int x##3, int x##4, int x##5, int x##6, int x##7
__global__ void wide(EIGHT(a), EIGHT(b), EIGHT(c), EIGHT(d), int e) {}
//! variable `groups` has no handle: plain C++
struct OnDevice { int n; };
#ifdef __CUDACC__
typedef OnDevice device_only_t;
#endif
__device__ device_only_t groups;
//! kernel `takes_device_only` has no handle: plain C++
__global__ void takes_device_only(device_only_t* p) {}
//! kernel `takes_tile` has no handle: plain C++
template <class T> struct Tile;
__global__ void takes_tile(const cg::thread_block_tile<32>* p) {}
//! class `HasTile` has no Rust type: plain C++
struct alignas(16) HasTile {
    int n;
    cg::thread_block_tile<32> tile;
    __device__ float first() const { return __shfl_sync(1, 1.0f, 0); }
};
//! class `Holds` has no Rust type: plain C++
struct Holds : OnDevice { HasTile has; };
//! class `Derived` has no Rust type: plain C++
class Derived : public cg::thread_block_tile<4> { int own; };
//! class `Named` has no Rust type: plain C++
typedef struct { device_only_t it; } Named;
//! class `Boxed` has no Rust type: plain C++
template <class T> struct Boxed { device_only_t it; T value; };
//! kernel `takes_class` has no handle: it takes class `Holds`, which has no Rust type
__global__ void takes_class(Holds* p) {}
//! kernel `takes_boxed` has no handle: it takes class `Boxed`, which has no Rust type
__global__ void takes_boxed(Boxed<int> box) {}
__device__ float uses(HasTile& tile) { return tile.first(); }

__global__ void last(int* p) {}
