// A stand-in for NCCL, for the tests on the emulator: the ranks of one process, without a network. A group
// runs when it ends, on the host: each operation waits for its stream, which shows whether the tracker made
// that wait for the work before it.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int cudaStreamSynchronize(void* stream);
extern int cudaMemcpy(void* to, const void* from, size_t bytes, int kind);
enum { DEFAULT = 4, RANKS = 16, OPERATIONS = 64 };

typedef struct ncclComm { int rank, size, failed; pid_t process; } *Comm;
typedef struct { char internal[128]; } Id;
typedef struct { char kind; const void* send; void* recv; size_t count; int type, op, peer; Comm comm; void* stream; } Op;

static Op ops[OPERATIONS];
static int queued, depth;
static const char* last = "";

static size_t size_of(int type) { return type < 2 ? 1 : type < 4 || type == 7 ? 4 : type == 6 || type == 9 ? 2 : 8; }
static double get(const void* from, int type, size_t at) {
    return type == 1 ? ((const unsigned char*)from)[at] : type == 4 ? (double)((const long long*)from)[at] : ((const float*)from)[at];
}
static void put(void* to, int type, size_t at, double value) {
    if (type == 1) ((unsigned char*)to)[at] = (unsigned char)value;
    else if (type == 4) ((long long*)to)[at] = (long long)value;
    else ((float*)to)[at] = (float)value;
}

static void* fetch(const Op* op, size_t count) {
    void* host = malloc(count * size_of(op->type) + 1);
    cudaMemcpy(host, op->send, count * size_of(op->type), DEFAULT);
    return host;
}

// Runs the operations of one kind, one for each rank: reads all ranks' elements, then writes all results.
static void collective(char kind) {
    const Op* of[RANKS];
    void* sent[RANKS];
    int ranks = 0;
    for (int i = 0; i < queued; ++i) if (ops[i].kind == kind) of[ops[i].comm->rank] = &ops[i], ++ranks;
    for (int r = 0; r < ranks; ++r) sent[r] = fetch(of[r], kind == 'S' ? of[r]->count * ranks : of[r]->count);
    for (int r = 0; r < ranks; ++r) {
        const Op* op = of[r];
        const size_t bytes = op->count * size_of(op->type);
        for (int from = 0; kind == 'G' && from < ranks; ++from) cudaMemcpy((char*)op->recv + from * bytes, sent[from], bytes, DEFAULT);
        if (kind == 'B') cudaMemcpy(op->recv, sent[op->peer], bytes, DEFAULT);
        if (kind != 'A' && kind != 'S') continue;
        void* result = malloc(bytes + 1);
        for (size_t at = 0; at < op->count; ++at) {
            const size_t from = kind == 'S' ? r * op->count + at : at;
            double value = get(sent[0], op->type, from);
            for (int other = 1; other < ranks; ++other) {
                const double next = get(sent[other], op->type, from);
                value = op->op == 2 ? (next > value ? next : value) : op->op == 3 ? (next < value ? next : value) : value + next;
            }
            put(result, op->type, at, op->op == 4 ? value / ranks : value);
        }
        cudaMemcpy(op->recv, result, bytes, DEFAULT);
        free(result);
    }
    for (int r = 0; r < ranks; ++r) free(sent[r]);
}

static int run(void) {
    for (int i = 0; i < queued; ++i) cudaStreamSynchronize(ops[i].stream);
    for (const char* kind = "ASGB"; *kind; ++kind) collective(*kind);
    // Each receives from the rank before it: the elements are those of the sends.
    for (int i = 0; i < queued; ++i)
        for (int j = 0; j < queued; ++j)
            if (ops[i].kind == 'r' && ops[j].kind == 's' && ops[j].comm->rank == ops[i].peer) ops[i].send = ops[j].send;
    for (int i = 0; i < queued; ++i)
        if (ops[i].kind == 'r') {
            void* host = fetch(&ops[i], ops[i].count);
            cudaMemcpy(ops[i].recv, host, ops[i].count * size_of(ops[i].type), DEFAULT);
            free(host);
        }
    queued = 0;
    cudaStreamSynchronize(NULL);
    return 0;
}
static int add(char kind, const void* send, void* recv, size_t count, int type, int op, int peer, Comm comm, void* stream) {
    if (comm == NULL) return last = "no communicator", 4;
    if (queued == OPERATIONS) return comm->failed = 5, last = "too many operations", 5;
    ops[queued++] = (Op){kind, send, recv, count, type, op, peer, comm, stream};
    return depth ? 0 : run();
}

int ncclGetVersion(int* version) { return *version = 0, 0; }
int ncclGetUniqueId(Id* id) { return memset(id, 7, sizeof *id), 0; }
static Comm new_comm(int rank, int size) {
    Comm comm = malloc(sizeof *comm);
    return *comm = (struct ncclComm){rank, size, 0, getpid()}, comm;
}
// Returns when all ranks have come, which are threads of this process.
int ncclCommInitRank(Comm* comm, int size, Id id, int rank) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
    static int arrived, formed;
    if (id.internal[0] != 7 || rank >= size) return last = "not this identity", 4;
    pthread_mutex_lock(&lock);
    const int own = formed;
    if (++arrived == size) arrived = 0, ++formed, pthread_cond_broadcast(&all);
    while (own == formed) pthread_cond_wait(&all, &lock);
    pthread_mutex_unlock(&lock);
    return *comm = new_comm(rank, size), 0;
}
int ncclCommInitAll(Comm* comms, int count, const int* devices) {
    for (int i = 0; i < count; ++i) comms[i] = new_comm(i, count), (void)devices[i];
    return 0;
}
int ncclCommDestroy(Comm comm) {
    if (comm->process != getpid()) _exit(3);
    return printf("destroyed\n"), fflush(stdout), free(comm), 0;
}
int ncclCommAbort(Comm comm) { return free(comm), 0; }
int ncclCommGetAsyncError(Comm comm, int* error) { return *error = comm->failed, 0; }
const char* ncclGetLastError(Comm comm) { return (void)comm, last; }
int ncclGroupStart(void) { return ++depth, 0; }
int ncclGroupEnd(void) { return --depth ? 0 : run(); }
int ncclAllReduce(const void* s, void* r, size_t n, int t, int op, Comm c, void* stream) { return add('A', s, r, n, t, op, 0, c, stream); }
int ncclReduce(const void* s, void* r, size_t n, int t, int op, int root, Comm c, void* stream) { return add('R', s, r, n, t, op, root, c, stream); }
int ncclBroadcast(const void* s, void* r, size_t n, int t, int root, Comm c, void* stream) { return add('B', s, r, n, t, 0, root, c, stream); }
int ncclReduceScatter(const void* s, void* r, size_t n, int t, int op, Comm c, void* stream) { return add('S', s, r, n, t, op, 0, c, stream); }
int ncclAllGather(const void* s, void* r, size_t n, int t, Comm c, void* stream) { return add('G', s, r, n, t, 0, 0, c, stream); }
int ncclSend(const void* s, size_t n, int t, int peer, Comm c, void* stream) { return add('s', s, NULL, n, t, 0, peer, c, stream); }
int ncclRecv(void* r, size_t n, int t, int peer, Comm c, void* stream) { return add('r', NULL, r, n, t, 0, peer, c, stream); }
