#include "buffers.cuh"

extern "C" __global__ void buffers_4(int* a, int* b, int* c, int* d) { *a = *b = *c = *d = 1; }

extern "C" __global__ void buffers_16(int* a, int* b, int* c, int* d, int* e, int* f, int* g, int* h, int* i, int* j, int* k, int* l,
                           int* m, int* n, int* o, int* p) {
    *a = *b = *c = *d = *e = *f = *g = *h = 1;
    *i = *j = *k = *l = *m = *n = *o = *p = 1;
}
