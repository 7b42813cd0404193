// Flags between kernels, and between a kernel and the host, and memory that kernels and the host share: one a
// case, as in `races.cu`: flags CASE [right].
#include "check.h"

#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

namespace {

constexpr int N = 256;
constexpr size_t PAGE = 4096;

// Data, and a flag on a page of its own.
struct Shared {
    unsigned data[PAGE / 4];
    unsigned flag[PAGE / 4];
    unsigned back[PAGE / 4];
};

#define ST(how, at, value) asm volatile("st." how ".u32 [%0], %1;" ::"l"(at), "r"(value) : "memory")
#define LD(how, at)                                                                              \
    ({                                                                                           \
        unsigned value_;                                                                         \
        asm volatile("ld." how ".u32 %0, [%1];" : "=r"(value_) : "l"(at) : "memory");            \
        value_;                                                                                  \
    })

enum Way { RELEASES, RELEASES_THE_DEVICE, RELAXED };

__global__ void gives(Shared *s, Way way) {
    s->data[7] = 1; // pinned_flag: first; managed_flag: first; pinned_flag_of_the_device: first; between_kernels: first; pinned_flag_unread: first
    if (way == RELEASES) __threadfence_system();
    if (way == RELEASES_THE_DEVICE) __threadfence();
    ST("volatile", s->flag, 1);
}

__global__ void gives_by_release(Shared *s) {
    s->data[7] = 1;
    ST("release.sys", s->flag, 1);
}

__global__ void takes(Shared *s, bool acquires, unsigned *out) {
    while (LD("volatile", s->flag) == 0) {}
    if (acquires) __threadfence_system();
    out[0] = s->data[7]; // between_kernels: second; between_kernels_without_acquire: second; from_the_host: second; from_the_host_managed: second; written_behind_the_flag: second
}

__global__ void gives_to_a_kernel(Shared *s) {
    s->data[7] = 1; // between_kernels_without_acquire: first
    __threadfence();
    ST("volatile", s->flag, 1);
}

// To the host and back, several times.
__global__ void answers(Shared *s, unsigned rounds) {
    for (unsigned round = 1; round <= rounds; round++) {
        while (LD("acquire.sys", s->flag) != round) {}
        s->data[7] += 1;
        ST("release.sys", s->back, round);
    }
}

__global__ void fill(unsigned *p, unsigned value) {
    p[threadIdx.x] = value; // read_from_a_file: first; written_to_a_file: first; asked_of_a_pipe: first
}

unsigned read_by_host(const unsigned *p) { return *static_cast<const volatile unsigned *>(p); }
void write_by_host(unsigned *p, unsigned value) { *static_cast<volatile unsigned *>(p) = value; }

Shared *shared(bool managed) {
    Shared *s = nullptr;
    if (managed) OK(cudaMallocManaged(&s, sizeof *s));
    else OK(cudaHostAlloc(&s, sizeof *s, cudaHostAllocMapped));
    std::memset(static_cast<void *>(s), 0, sizeof *s);
    return s;
}

// The host waits for the flag, and reads the data.
bool to_the_host(bool managed, Way way, bool waits) {
    Shared *s = shared(managed);
    gives<<<1, 1, 0, stream()>>>(s, way);
    while (waits && read_by_host(s->flag) == 0) {}
    unsigned got = read_by_host(&s->data[7]); // pinned_flag: second; managed_flag: second; pinned_flag_of_the_device: second; pinned_flag_unread: second
    OK(cudaDeviceSynchronize());
    return got <= 1;
}

// The host writes the data and then the flag, for which a kernel waits, and acquires it.
bool from_the_host(bool managed, bool acquires, bool flag_first) {
    Shared *s = shared(managed);
    unsigned *out = reinterpret_cast<unsigned *>(device(4));
    takes<<<1, 1, 0, stream()>>>(s, acquires, out);
    if (flag_first) write_by_host(s->flag, 1);
    write_by_host(&s->data[7], 1); // from_the_host: first; from_the_host_managed: first; written_behind_the_flag: first
    if (!flag_first) write_by_host(s->flag, 1);
    OK(cudaDeviceSynchronize());
    return true;
}

bool between_kernels(bool releases, bool acquires) {
    Shared *s = reinterpret_cast<Shared *>(device(sizeof(Shared)));
    unsigned *out = reinterpret_cast<unsigned *>(device(4));
    OK(cudaMemset(s, 0, sizeof *s));
    OK(cudaDeviceSynchronize());
    cudaStream_t one = stream(), two = stream();
    if (!acquires) gives_to_a_kernel<<<1, 1, 0, one>>>(s);
    else gives<<<1, 1, 0, one>>>(s, releases ? RELEASES_THE_DEVICE : RELAXED);
    takes<<<1, 1, 0, two>>>(s, acquires, out);
    OK(cudaDeviceSynchronize());
    return true;
}

bool run(const std::string &name, bool right) {
    if (name == "pinned_flag") return to_the_host(false, right ? RELEASES : RELAXED, true);
    if (name == "managed_flag") return to_the_host(true, right ? RELEASES : RELAXED, true);
    if (name == "pinned_flag_of_the_device") return to_the_host(false, right ? RELEASES : RELEASES_THE_DEVICE, true);
    if (name == "pinned_flag_unread") return to_the_host(false, RELEASES, right);
    if (name == "from_the_host") return from_the_host(false, right, false);
    if (name == "from_the_host_managed") return from_the_host(true, right, false);
    if (name == "written_behind_the_flag") return from_the_host(false, true, !right);
    if (name == "between_kernels") return between_kernels(right, true);
    if (name == "between_kernels_without_acquire") return between_kernels(true, right);
    if (name == "release_store") {
        // Both are correct: by a release store, and by two rounds to the kernel and back.
        Shared *s = shared(!right);
        gives_by_release<<<1, 1, 0, stream()>>>(s);
        while (read_by_host(s->flag) == 0) {}
        EXPECT(read_by_host(&s->data[7]) == 1);
        write_by_host(s->flag, 0);
        OK(cudaDeviceSynchronize());
        std::memset(static_cast<void *>(s), 0, sizeof *s);
        answers<<<1, 1, 0, stream()>>>(s, 5);
        for (unsigned round = 1; round <= 5; round++) {
            write_by_host(&s->data[7], 10 * round);
            write_by_host(s->flag, round);
            while (read_by_host(s->back) != round) {}
            EXPECT(read_by_host(&s->data[7]) == 10 * round + 1);
        }
        OK(cudaDeviceSynchronize());
        return true;
    }
    cudaStream_t one = stream();
    unsigned *p = nullptr;
    OK(cudaHostAlloc(&p, 4 * PAGE, cudaHostAllocDefault));
    std::memset(p, 0, 4 * PAGE);
    if (name == "read_from_a_file" || name == "written_to_a_file") {
        int ends[2];
        EXPECT(pipe(ends) == 0);
        unsigned words[64] = {};
        bool reads = name == "read_from_a_file";
        if (reads) EXPECT(write(ends[1], words, sizeof words) == sizeof words);
        // The other half of the page is nobody's: calls into it are correct.
        unsigned *at = right ? p + N : p;
        fill<<<1, N, 0, one>>>(p, 1);
        if (reads) EXPECT(read(ends[0], at, sizeof words) == sizeof words); // read_from_a_file: second
        if (!reads) EXPECT(write(ends[1], at, sizeof words) == sizeof words); // written_to_a_file: second
    } else if (name == "asked_of_a_pipe") {
        int ends[2];
        EXPECT(pipe(ends) == 0);
        unsigned *at = right ? p + N : p + 3;
        fill<<<1, N, 0, one>>>(p, 1);
        EXPECT(ioctl(ends[0], FIONREAD, at) == 0); // asked_of_a_pipe: second
        EXPECT(getrandom(at + 1, 0, 0) == 0);
    } else {
        return false;
    }
    OK(cudaDeviceSynchronize());
    return true;
}

} // namespace

int main(int count, char **arguments) { return count > 1 && run(arguments[1], count > 2) ? 0 : 2; }
