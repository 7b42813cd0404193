/* The other side of an exchange: a consumer and a producer in C, with the layout of DLPack written once more. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint32_t major, minor;
} Version;

typedef struct {
    int32_t type, id;
} Device;

typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DataType;

typedef struct {
    void* data;
    Device device;
    int32_t ndim;
    DataType dtype;
    int64_t* shape;
    int64_t* strides;
    uint64_t byte_offset;
} Tensor;

typedef struct Managed {
    Version version;
    void* manager_ctx;
    void (*deleter)(struct Managed*);
    uint64_t flags;
    Tensor tensor;
} Managed;

/* The offset of each field, and the size. */
void layout(size_t* to) {
    const size_t found[] = {
        offsetof(Managed, version.minor), offsetof(Managed, manager_ctx),      offsetof(Managed, deleter),
        offsetof(Managed, flags),         offsetof(Managed, tensor.data),      offsetof(Managed, tensor.device.id),
        offsetof(Managed, tensor.ndim),   offsetof(Managed, tensor.dtype),     offsetof(Managed, tensor.dtype.lanes),
        offsetof(Managed, tensor.shape),  offsetof(Managed, tensor.strides),   offsetof(Managed, tensor.byte_offset),
        sizeof(Managed),
    };
    memcpy(to, found, sizeof(found));
}

/* Consumes a tensor of 32-bit floats on the host: the sum of its elements with their strides. Writes twice the
   value into each, and gives the tensor back. Returns -1 for another tensor. */
double consume(Managed* managed) {
    const Tensor* t = &managed->tensor;
    if (managed->version.major != 1 || t->device.type != 3 || t->ndim != 2 || !t->strides) return -1;
    if (t->dtype.code != 2 || t->dtype.bits != 32 || t->dtype.lanes != 1) return -1;
    float* data = (float*)((char*)t->data + t->byte_offset);
    double sum = 0;
    for (int64_t i = 0; i < t->shape[0]; ++i)
        for (int64_t j = 0; j < t->shape[1]; ++j) {
            float* element = &data[i * t->strides[0] + j * t->strides[1]];
            sum += *element;
            *element *= 2;
        }
    managed->deleter(managed);
    return sum;
}

/* The tensors that were given back. */
int deleted = 0;

static void delete_it(Managed* managed) {
    ++deleted;
    free(managed->tensor.shape);
    free(managed->tensor.strides);
    free(managed);
}

/* Makes a tensor of `data`, which the caller owns. */
Managed* produce(void* data, Device device, DataType dtype, int32_t ndim, const int64_t* shape,
                 const int64_t* strides, uint64_t byte_offset, uint32_t major, uint64_t flags) {
    Managed* managed = calloc(1, sizeof(Managed));
    managed->version.major = major;
    managed->deleter = delete_it;
    managed->flags = flags;
    managed->tensor = (Tensor){data, device, ndim, dtype, NULL, NULL, byte_offset};
    managed->tensor.shape = calloc((size_t)ndim + 1, sizeof(int64_t));
    memcpy(managed->tensor.shape, shape, (size_t)ndim * sizeof(int64_t));
    if (strides) {
        managed->tensor.strides = calloc((size_t)ndim + 1, sizeof(int64_t));
        memcpy(managed->tensor.strides, strides, (size_t)ndim * sizeof(int64_t));
    }
    return managed;
}
