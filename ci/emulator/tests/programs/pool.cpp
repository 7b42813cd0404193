// Memory of pools that is used again before the stream that frees it has come to that, one case a run: pool
// CASE
#include "check.h"

#include <functional>
#include <map>

namespace {

constexpr size_t N = 1 << 20;
constexpr int OLD = 7, NEW = 9, POISON = 0xcd;

cudaMemPool_t pool() {
    cudaMemPool_t found = nullptr;
    OK(cudaDeviceGetDefaultMemPool(&found, 0));
    return found;
}

void rule(cudaMemPool_t pool, cudaMemPoolAttr attribute, int value) { OK(cudaMemPoolSetAttribute(pool, attribute, &value)); }

unsigned char *from(cudaMemPool_t pool, size_t bytes, cudaStream_t on) {
    void *made = nullptr;
    OK(cudaMallocFromPoolAsync(&made, bytes, pool, on));
    return static_cast<unsigned char *>(made);
}

// Memory that a stream will free once the gate is opened, and has written before.
struct Leaving {
    Gate gate;
    cudaStream_t on;
    unsigned char *memory;
    explicit Leaving(unsigned flags, cudaMemPool_t pool = ::pool()) : on(stream(flags)), memory(from(pool, N, on)) {
        OK(cudaMemsetAsync(memory, OLD, N, on));
        OK(cudaStreamSynchronize(on));
        gate.close(on);
        OK(cudaFreeAsync(memory, on));
    }
};

void after(cudaStream_t later, cudaStream_t earlier) {
    cudaEvent_t event = nullptr;
    OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    OK(cudaEventRecord(event, earlier));
    OK(cudaStreamWaitEvent(later, event, 0));
}

// The stream that frees memory gets it again at once, poisoned.
void pool_stream() {
    Leaving it(cudaStreamNonBlocking);
    EXPECT(from(pool(), N / 2, it.on) != it.memory);
    unsigned char *again = from(pool(), N, it.on);
    EXPECT(again == it.memory);
    EXPECT(from(pool(), N, it.on) != again);
    CODE(cudaErrorNotReady, cudaStreamQuery(it.on));
    it.gate.open();
    EXPECT(byte_at(again) == POISON);
    OK(cudaMemset(again, NEW, N));
    EXPECT(byte_at(again) == NEW);
    // It is freed like any other, and only once.
    OK(cudaFreeAsync(again, it.on));
    CODE(cudaErrorInvalidValue, cudaFreeAsync(again, it.on));
    OK(cudaDeviceSynchronize());
}

// Another stream gets it if it waits for an event behind the free and the pool's rule allows it.
void pool_events() {
    Leaving it(cudaStreamNonBlocking);
    cudaStream_t other = stream();
    EXPECT(from(pool(), N, other) != it.memory);
    after(other, it.on);
    rule(pool(), cudaMemPoolReuseFollowEventDependencies, 0);
    EXPECT(from(pool(), N, other) != it.memory);
    rule(pool(), cudaMemPoolReuseFollowEventDependencies, 1);
    unsigned char *again = from(pool(), N, other);
    EXPECT(again == it.memory);
    OK(cudaMemsetAsync(again, NEW, N, other));
    OK(cudaFreeAsync(again, other));
    // A third one has to come after both.
    cudaStream_t third = stream();
    after(third, it.on);
    EXPECT(from(pool(), N, third) != it.memory);
    after(third, other);
    EXPECT(from(pool(), N, third) == it.memory);
    it.gate.open();
    EXPECT(byte_at(again) == POISON);
}

// A blocking stream that comes after it by the legacy stream's order gets it as well, and comes after the
// free then.
void pool_legacy() {
    Leaving it(cudaStreamDefault);
    unsigned char *aside = device(1);
    cudaStream_t blocking = stream(cudaStreamDefault), other = stream();
    EXPECT(from(pool(), N, blocking) != it.memory);
    OK(cudaMemsetAsync(aside, NEW, 1, nullptr));
    EXPECT(from(pool(), N, other) != it.memory);
    CODE(cudaSuccess, cudaStreamQuery(blocking));
    EXPECT(from(pool(), N, blocking) == it.memory);
    CODE(cudaErrorNotReady, cudaStreamQuery(blocking));
    it.gate.open();
    EXPECT(byte_at(it.memory) == POISON);
    CODE(cudaSuccess, cudaStreamQuery(blocking));
}

// The largest size of a pool is a multiple of this.
constexpr size_t POOL_GRAIN = 32 << 20;

// If there is no other memory, a stream is made to wait for it, if the pool's rule allows that.
void pool_waits() {
    cudaMemPoolProps one{};
    one.allocType = cudaMemAllocationTypePinned;
    one.location = {cudaMemLocationTypeDevice, {0}};
    one.maxSize = POOL_GRAIN;
    cudaMemPool_t small = nullptr;
    OK(cudaMemPoolCreate(&small, &one));
    Leaving it(cudaStreamNonBlocking, small);
    cudaStream_t other = stream();
    EXPECT(from(small, POOL_GRAIN - 2 * N, other) != nullptr);
    EXPECT(from(small, N, other) != it.memory);
    rule(small, cudaMemPoolReuseAllowInternalDependencies, 0);
    void *none = nullptr;
    CODE(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&none, N, small, other));
    rule(small, cudaMemPoolReuseAllowInternalDependencies, 1);
    EXPECT(from(small, N, other) == it.memory);
    CODE(cudaErrorNotReady, cudaStreamQuery(other));
    it.gate.open();
    EXPECT(byte_at(it.memory) == POISON);
}

}  // namespace

int main(int count, char **arguments) {
    const std::map<std::string, std::function<void()>> cases = {
        {"pool_stream", pool_stream}, {"pool_events", pool_events}, {"pool_legacy", pool_legacy},
        {"pool_waits", pool_waits}};
    const auto found = cases.find(count > 1 ? arguments[1] : "");
    EXPECT(found != cases.end());
    found->second();
    return 0;
}
