// Copies that read their source before what they should come after, one case a run: early CASE
#include "check.h"

#include <functional>
#include <map>
#include <vector>

namespace {

constexpr size_t SMALL = 96, LARGEST = 24'576, N = 32'768;
constexpr int OLD = 1, NEW = 107;

struct Memory {
    unsigned char *pinned = ::pinned(N), *other = ::pinned(N), *device = ::device(N), *aside = ::device(N), *link = ::device(1);
    unsigned char *managed = nullptr, *registered = new unsigned char[N];
    Memory() {
        OK(cudaMallocManaged(reinterpret_cast<void **>(&managed), N));
        OK(cudaHostRegister(registered, N, cudaHostRegisterDefault));
    }
};

using Put = std::function<void(cudaStream_t)>;

// Every byte of a destination is `value`.
bool all(const unsigned char *memory, size_t bytes, int value) {
    std::vector<unsigned char> seen(bytes);
    OK(cudaMemcpy(seen.data(), memory, bytes, cudaMemcpyDefault));
    for (unsigned char byte : seen)
        if (byte != value) return false;
    return true;
}

cudaEvent_t event() {
    cudaEvent_t made = nullptr;
    OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    return made;
}

void batch(unsigned char *to, const unsigned char *from, size_t bytes, size_t entries, cudaStream_t on) {
    std::vector<void *> tos;
    std::vector<const void *> froms;
    std::vector<size_t> sizes(entries, bytes / entries);
    for (size_t at = 0; at < entries; at++) {
        tos.push_back(to + at * (bytes / entries));
        froms.push_back(from + at * (bytes / entries));
    }
    size_t first = 0;
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpyBatchAsync(tos.data(), froms.data(), sizes.data(), entries, &attributes, &first, 1, on));
}

void solid_batch(unsigned char *to, unsigned char *from, size_t width, size_t height, cudaStream_t on) {
    cudaMemcpy3DBatchOp one{};
    one.src.type = one.dst.type = cudaMemcpyOperandTypePointer;
    one.src.op.ptr.ptr = from;
    one.dst.op.ptr.ptr = to;
    one.extent = cudaExtent{width, height, 1};
    one.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    OK(cudaMemcpy3DBatchAsync(1, &one, 0, on));
}

// The streams of a case: only the legacy stream's order puts the write of one before the copy of the other.
struct Streams {
    cudaStream_t writer, reader;
    // Work on the legacy stream that stands between two blocking ones.
    bool link;
};

// Holds the writer, writes the source behind that, and makes the reader do `before` and copy. Returns whether
// the copy reads the old bytes.
bool early(const Memory &m, Streams on, unsigned char *from, unsigned char *to, size_t bytes, const Put &before, const Put &copy) {
    OK(cudaMemset(from, OLD, N));
    OK(cudaMemset(to, 3, N));
    OK(cudaDeviceSynchronize());
    Gate gate;
    gate.close(on.writer);
    OK(cudaMemsetAsync(from, NEW, N, on.writer));
    if (on.link) OK(cudaMemsetAsync(m.link, 0, 1, cudaStreamLegacy));
    before(on.reader);
    copy(on.reader);
    gate.open();
    OK(cudaDeviceSynchronize());
    bool old = all(to, bytes, OLD);
    EXPECT(old || all(to, bytes, NEW));
    return old;
}

const Put NOTHING = [](cudaStream_t) {};

// The forms of a copy: small ones of one row, from pinned memory to the device, are early.
void early_forms() {
    Memory m;
    Streams on{stream(cudaStreamDefault), stream(cudaStreamDefault), true};
    auto is = [&](unsigned char *from, unsigned char *to, size_t bytes, const Put &copy) {
        return early(m, on, from, to, bytes, NOTHING, copy);
    };
    auto linear = [&](unsigned char *from, unsigned char *to, size_t bytes) {
        return is(from, to, bytes, [=](cudaStream_t s) { OK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s)); });
    };
    EXPECT(linear(m.pinned, m.device, 1));
    EXPECT(linear(m.pinned, m.device, SMALL));
    EXPECT(linear(m.pinned, m.device, LARGEST));
    EXPECT(!linear(m.pinned, m.device, LARGEST + 1));
    EXPECT(linear(m.registered, m.device, SMALL));
    EXPECT(!linear(m.managed, m.device, SMALL));
    EXPECT(!linear(m.aside, m.device, SMALL));
    EXPECT(!linear(m.aside, m.other, SMALL));
    auto plane = [&](size_t width, size_t height) {
        return is(m.pinned, m.device, width * height, [=](cudaStream_t s) {
            OK(cudaMemcpy2DAsync(m.device, width, m.pinned, width, width, height, cudaMemcpyHostToDevice, s));
        });
    };
    EXPECT(plane(SMALL, 1));
    EXPECT(!plane(16, 6));
    auto volume = [&](size_t width, size_t height) {
        return is(m.pinned, m.device, width * height, [=](cudaStream_t s) {
            cudaMemcpy3DParms p = {};
            p.srcPtr = cudaPitchedPtr{m.pinned, width, width, height};
            p.dstPtr = cudaPitchedPtr{m.device, width, width, height};
            p.extent = cudaExtent{width, height, 1};
            p.kind = cudaMemcpyDefault;
            OK(cudaMemcpy3DAsync(&p, s));
        });
    };
    EXPECT(volume(SMALL, 1));
    EXPECT(!volume(16, 6));
    for (size_t entries : {1, 2, 8})
        EXPECT(is(m.pinned, m.device, SMALL, [=](cudaStream_t s) { batch(m.device, m.pinned, SMALL, entries, s); }));
    EXPECT(!is(m.pinned, m.device, N, [=](cudaStream_t s) { batch(m.device, m.pinned, N, 1, s); }));
    EXPECT(!is(m.pinned, m.other, SMALL, [=](cudaStream_t s) { batch(m.other, m.pinned, SMALL, 1, s); }));
    EXPECT(is(m.pinned, m.device, SMALL, [=](cudaStream_t s) { solid_batch(m.device, m.pinned, SMALL, 1, s); }));
    EXPECT(!is(m.pinned, m.device, SMALL, [=](cudaStream_t s) { solid_batch(m.device, m.pinned, 16, 6, s); }));

    cudaGraph_t graph;
    cudaGraphExec_t copies;
    OK(cudaStreamBeginCapture(on.reader, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpyAsync(m.device, m.pinned, SMALL, cudaMemcpyDefault, on.reader));
    OK(cudaStreamEndCapture(on.reader, &graph));
    OK(cudaGraphInstantiate(&copies, graph, 0));
    EXPECT(!is(m.pinned, m.device, SMALL, [=](cudaStream_t s) { OK(cudaGraphLaunch(copies, s)); }));
}

// Work that counts as a stream's own, and marks that do not.
void early_after() {
    Memory m;
    Streams on{stream(cudaStreamDefault), stream(cudaStreamDefault), true};
    cudaStream_t idle = stream(cudaStreamDefault);
    cudaEvent_t mark = event(), over = event();
    OK(cudaEventRecord(over, idle));
    OK(cudaEventSynchronize(over));
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaGraphExec_t empty, full;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&node, graph, nullptr, 0));
    OK(cudaGraphInstantiate(&empty, graph, 0));
    cudaMemsetParams set{};
    set.dst = m.aside;
    set.elementSize = set.height = 1;
    set.width = SMALL;
    OK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &set));
    OK(cudaGraphInstantiate(&full, graph, 0));
    auto after = [&](const Put &before) {
        return early(m, on, m.pinned, m.device, SMALL, before, [&](cudaStream_t s) {
            OK(cudaMemcpyAsync(m.device, m.pinned, SMALL, cudaMemcpyDefault, s));
        });
    };
    EXPECT(after([&](cudaStream_t s) { OK(cudaEventRecord(mark, s)); }));
    EXPECT(after([&](cudaStream_t s) { OK(cudaStreamWaitEvent(s, over, 0)); }));
    EXPECT(after([&](cudaStream_t s) { OK(cudaGraphLaunch(empty, s)); }));
    EXPECT(after([&](cudaStream_t s) { OK(cudaMemcpyAsync(m.aside, m.other, 0, cudaMemcpyDefault, s)); }));
    EXPECT(after([&](cudaStream_t s) { OK(cudaMemsetAsync(m.aside, 0, 0, s)); }));
    EXPECT(after([&](cudaStream_t s) { OK(cudaStreamAttachMemAsync(s, m.managed, 0, cudaMemAttachGlobal)); }));
    EXPECT(after([&](cudaStream_t s) {
        void *memory = nullptr;
        OK(cudaMallocAsync(&memory, SMALL, s));
    }));
    EXPECT(!after([&](cudaStream_t s) { OK(cudaMemsetAsync(m.aside, 0, SMALL, s)); }));
    EXPECT(!after([&](cudaStream_t s) { OK(cudaMemcpyAsync(m.aside, m.other, SMALL, cudaMemcpyDefault, s)); }));
    EXPECT(!after([&](cudaStream_t s) { OK(cudaLaunchHostFunc(s, [](void *) {}, nullptr)); }));
    EXPECT(!after([&](cudaStream_t s) { OK(cudaGraphLaunch(full, s)); }));
    EXPECT(!after([&](cudaStream_t s) {
        OK(cudaMemPrefetchAsync(m.managed, N, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, s));
    }));
    // An event is pending if its stream only waits by the legacy stream's order.
    EXPECT(!after([&](cudaStream_t s) {
        OK(cudaEventRecord(mark, idle));
        OK(cudaStreamWaitEvent(s, mark, 0));
    }));
    // A second copy comes after a first one that was early.
    EXPECT(!after([&](cudaStream_t s) {
        OK(cudaMemcpyAsync(m.device, m.pinned, SMALL, cudaMemcpyDefault, s));
    }));
}

// Which streams have an order that such a copy does not see.
void early_streams() {
    Memory m;
    cudaStream_t blocking = stream(cudaStreamDefault), free_one = stream();
    cudaEvent_t mark = event();
    auto on = [&](cudaStream_t writer, cudaStream_t reader, bool link, const Put &before) {
        return early(m, Streams{writer, reader, link}, m.pinned, m.device, SMALL, before, [&](cudaStream_t s) {
            OK(cudaMemcpyAsync(m.device, m.pinned, SMALL, cudaMemcpyDefault, s));
        });
    };
    EXPECT(on(cudaStreamLegacy, blocking, false, NOTHING));
    EXPECT(on(cudaStreamLegacy, cudaStreamPerThread, false, NOTHING));
    EXPECT(on(blocking, cudaStreamPerThread, true, NOTHING));
    EXPECT(on(cudaStreamPerThread, blocking, true, NOTHING));
    EXPECT(on(blocking, cudaStreamLegacy, false, NOTHING));
    EXPECT(!on(blocking, cudaStreamLegacy, true, NOTHING));
    EXPECT(!on(blocking, blocking, false, NOTHING));
    // Events order operations, and a record of the legacy stream waits for the others.
    EXPECT(!on(blocking, cudaStreamLegacy, false, [&](cudaStream_t s) { OK(cudaEventRecord(mark, s)); }));
    Put events = [&](cudaStream_t s) {
        OK(cudaEventRecord(mark, blocking));
        OK(cudaStreamWaitEvent(s, mark, 0));
    };
    EXPECT(!on(blocking, free_one, false, events));
    EXPECT(!on(blocking, cudaStreamPerThread, true, events));
    // The destination is written in order all the same.
    cudaStream_t reader = stream(cudaStreamDefault);
    OK(cudaMemset(m.pinned, NEW, N));
    Gate gate;
    gate.close(blocking);
    OK(cudaMemsetAsync(m.device, OLD, N, blocking));
    OK(cudaMemsetAsync(m.link, 0, 1, cudaStreamLegacy));
    OK(cudaMemcpyAsync(m.device, m.pinned, SMALL, cudaMemcpyDefault, reader));
    gate.open();
    OK(cudaDeviceSynchronize());
    EXPECT(all(m.device, SMALL, NEW));
}

// If there is nothing to wait for, a source that is changed too early is found out.
void late_source() {
    Memory m;
    cudaStream_t on = stream(cudaStreamDefault);
    m.pinned[0] = OLD;
    OK(cudaMemcpyAsync(m.device, m.pinned, 1, cudaMemcpyHostToDevice, on));
    m.pinned[0] = NEW;
    OK(cudaStreamSynchronize(on));
    EXPECT(all(m.device, 1, NEW));
}

// Makes a held stream fill the source with OLD, do `write`, and copy. Returns whether the copy reads the
// bytes from before `write`.
bool past(const Memory &m, const Put &write, const Put &copy, unsigned char *to) {
    cudaStream_t on = stream();
    OK(cudaMemset(m.pinned, 3, N));
    OK(cudaMemset(m.aside, OLD, N));
    OK(cudaDeviceSynchronize());
    Gate gate;
    gate.close(on);
    OK(cudaMemcpyAsync(m.pinned, m.aside, N, cudaMemcpyDefault, on));
    write(on);
    copy(on);
    gate.open();
    OK(cudaDeviceSynchronize());
    bool old = all(to, SMALL, OLD);
    EXPECT(old || all(to, SMALL, NEW));
    return old;
}

struct Past {
    Memory m;
    cudaEvent_t mark = event();
    Put set(size_t bytes) {
        return [=](cudaStream_t s) { OK(cudaMemsetAsync(m.pinned, NEW, bytes, s)); };
    }
    Put batch_to(unsigned char *to) {
        return [=](cudaStream_t s) { batch(to, m.pinned, SMALL, 2, s); };
    }
    bool is(const Put &write, const Put &copy) { return past(m, write, copy, m.device); }
};

// A batch does not wait for a small memset of pinned memory that is its stream's last operation.
void early_batch() {
    Past p;
    EXPECT(p.is(p.set(SMALL), p.batch_to(p.m.device)));
    EXPECT(p.is(p.set(2047), p.batch_to(p.m.device)));
    EXPECT(p.is(p.set(SMALL), [&](cudaStream_t s) { solid_batch(p.m.device, p.m.pinned, SMALL, 1, s); }));
    EXPECT(p.is([&](cudaStream_t s) { OK(cudaMemset2DAsync(p.m.pinned, 16, NEW, 16, 6, s)); }, p.batch_to(p.m.device)));
    EXPECT(p.is(
        [&](cudaStream_t s) {
            p.set(SMALL)(s);
            OK(cudaEventRecord(p.mark, s));
        },
        p.batch_to(p.m.device)));
    cudaGraph_t graph;
    cudaGraphExec_t sets;
    cudaStream_t captured = stream();
    OK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemsetAsync(p.m.aside, OLD, SMALL, captured));
    p.set(SMALL)(captured);
    OK(cudaStreamEndCapture(captured, &graph));
    OK(cudaGraphInstantiate(&sets, graph, 0));
    EXPECT(p.is([&](cudaStream_t s) { OK(cudaGraphLaunch(sets, s)); }, p.batch_to(p.m.device)));
}

// Everything else waits for it.
void ordered_batch() {
    Past p;
    EXPECT(!p.is(p.set(2048), p.batch_to(p.m.device)));
    EXPECT(!past(p.m, p.set(SMALL), p.batch_to(p.m.other), p.m.other));
    EXPECT(!p.is(p.set(SMALL), [&](cudaStream_t s) {
        OK(cudaMemcpyAsync(p.m.device, p.m.pinned, SMALL, cudaMemcpyDefault, s));
    }));
    EXPECT(!p.is(p.set(SMALL), [&](cudaStream_t s) { solid_batch(p.m.device, p.m.pinned, 16, 6, s); }));
    EXPECT(!p.is(
        [&](cudaStream_t s) {
            p.set(SMALL)(s);
            OK(cudaMemsetAsync(p.m.aside, 0, SMALL, s));
        },
        p.batch_to(p.m.device)));
    EXPECT(!p.is(
        [&](cudaStream_t s) {
            p.set(SMALL)(s);
            OK(cudaLaunchHostFunc(s, [](void *) {}, nullptr));
        },
        p.batch_to(p.m.device)));
    // A blocking stream's batch waits for later work of the legacy stream.
    OK(cudaMemset(p.m.pinned, 3, N));
    cudaStream_t blocking = stream(cudaStreamDefault);
    Gate gate;
    gate.close(blocking);
    p.set(SMALL)(blocking);
    OK(cudaMemsetAsync(p.m.link, 0, 1, cudaStreamLegacy));
    p.batch_to(p.m.device)(blocking);
    gate.open();
    OK(cudaDeviceSynchronize());
    EXPECT(all(p.m.device, SMALL, NEW));
    // A memset of other memory changes nothing.
    EXPECT(!p.is(
        [&](cudaStream_t s) {
            p.set(4096)(s);
            OK(cudaMemsetAsync(p.m.other, OLD, SMALL, s));
        },
        p.batch_to(p.m.device)));
}

const std::map<std::string, void (*)()> cases = {
    {"early_forms", early_forms}, {"early_after", early_after}, {"early_streams", early_streams},
    {"late_source", late_source}, {"early_batch", early_batch},   {"ordered_batch", ordered_batch},
};

}  // namespace

int main(int argc, char **argv) {
    auto found = argc == 2 ? cases.find(argv[1]) : cases.end();
    if (found == cases.end()) {
        std::fprintf(stderr, "usage: early CASE\n");
        return 2;
    }
    found->second();
    return 0;
}
