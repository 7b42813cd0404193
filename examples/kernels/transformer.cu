#include "transformer.cuh"

#include <cmath>

namespace {

__device__ unsigned place() { return blockIdx.x * blockDim.x + threadIdx.x; }

// What a tiled product does: each block computes a tile of the result, and takes tiles of both sides into
// shared memory, one after the other. `first(row, k)` and `second(k, column)` return elements.
template <typename First, typename Second>
__device__ float tiled(unsigned row, unsigned column, unsigned rows, unsigned inner, unsigned columns, First first,
                       Second second) {
    __shared__ float a[TRANSFORMER_TILE][TRANSFORMER_TILE];
    __shared__ float b[TRANSFORMER_TILE][TRANSFORMER_TILE];
    const unsigned x = threadIdx.x, y = threadIdx.y;
    const unsigned tiles = inner / TRANSFORMER_TILE + (inner % TRANSFORMER_TILE != 0);
    float sum = 0.0f;
    for (unsigned tile = 0; tile < tiles; ++tile) {
        const unsigned start = tile * TRANSFORMER_TILE;
        a[y][x] = row < rows && start + x < inner ? first(row, start + x) : 0.0f;
        b[y][x] = column < columns && start + y < inner ? second(start + y, column) : 0.0f;
        __syncthreads();
        for (unsigned k = 0; k < TRANSFORMER_TILE; ++k) sum = fmaf(a[y][k], b[k][x], sum);
        __syncthreads();
    }
    return sum;
}

}  // namespace

extern "C" __global__ void encode(float* out, const unsigned* tokens, const float* wte, const float* wpe,
                                  unsigned length, unsigned channels, unsigned vocabulary) {
    const unsigned c = place(), row = blockIdx.y, token = tokens[row];
    if (c < channels && token < vocabulary)
        out[row * channels + c] = wte[token * channels + c] + wpe[row % length * channels + c];
}

extern "C" __global__ void encode_backward_tokens(float* dwte, const float* dout, const unsigned* tokens, unsigned rows,
                                                  unsigned channels) {
    const unsigned c = place(), token = blockIdx.y;
    if (c >= channels) return;
    float sum = 0.0f;
    for (unsigned row = 0; row < rows; ++row)
        if (tokens[row] == token) sum += dout[row * channels + c];
    dwte[token * channels + c] += sum;
}

extern "C" __global__ void encode_backward_positions(float* dwpe, const float* dout, unsigned batch,
                                                     unsigned channels) {
    const unsigned c = place(), position = blockIdx.y, length = gridDim.y;
    if (c >= channels) return;
    float sum = 0.0f;
    for (unsigned b = 0; b < batch; ++b) sum += dout[(b * length + position) * channels + c];
    dwpe[position * channels + c] += sum;
}

extern "C" __global__ void layernorm(float* out, float* mean, float* rstd, const float* in, const float* weight,
                                     const float* bias, unsigned rows, unsigned channels) {
    const unsigned row = place();
    if (row >= rows) return;
    float sum = 0.0f;
    for (unsigned c = 0; c < channels; ++c) sum += in[row * channels + c];
    const float m = sum / channels;
    float squares = 0.0f;
    for (unsigned c = 0; c < channels; ++c) {
        const float difference = in[row * channels + c] - m;
        squares = fmaf(difference, difference, squares);
    }
    const float r = 1.0f / sqrtf(squares / channels + 1e-5f);
    for (unsigned c = 0; c < channels; ++c)
        out[row * channels + c] = (in[row * channels + c] - m) * r * weight[c] + bias[c];
    mean[row] = m;
    rstd[row] = r;
}

extern "C" __global__ void layernorm_backward(float* din, const float* dout, const float* in, const float* weight,
                                              const float* mean, const float* rstd, unsigned rows, unsigned channels) {
    const unsigned row = place();
    if (row >= rows) return;
    const float m = mean[row], r = rstd[row];
    float sum = 0.0f, projection = 0.0f;
    for (unsigned c = 0; c < channels; ++c) {
        const float d = dout[row * channels + c] * weight[c];
        sum += d;
        projection = fmaf(d, (in[row * channels + c] - m) * r, projection);
    }
    sum /= channels;
    projection /= channels;
    for (unsigned c = 0; c < channels; ++c) {
        const float normal = (in[row * channels + c] - m) * r;
        din[row * channels + c] += (dout[row * channels + c] * weight[c] - sum - normal * projection) * r;
    }
}

extern "C" __global__ void layernorm_backward_weight(float* dweight, float* dbias, const float* dout, const float* in,
                                                     const float* mean, const float* rstd, unsigned rows,
                                                     unsigned channels) {
    const unsigned c = place();
    if (c >= channels) return;
    float weight = 0.0f, bias = 0.0f;
    for (unsigned row = 0; row < rows; ++row) {
        const float d = dout[row * channels + c];
        weight = fmaf(d, (in[row * channels + c] - mean[row]) * rstd[row], weight);
        bias += d;
    }
    dweight[c] += weight;
    dbias[c] += bias;
}

extern "C" __global__ void linear(float* out, const float* in, const float* weight, unsigned rows, unsigned inner,
                                  unsigned columns) {
    const unsigned row = blockIdx.y * TRANSFORMER_TILE + threadIdx.y;
    const unsigned column = blockIdx.x * TRANSFORMER_TILE + threadIdx.x;
    const float sum = tiled(
        row, column, rows, inner, columns, [=](unsigned r, unsigned k) { return in[r * inner + k]; },
        [=](unsigned k, unsigned c) { return weight[c * inner + k]; });
    if (row < rows && column < columns) out[row * columns + column] = sum;
}

extern "C" __global__ void linear_backward(float* din, const float* dout, const float* weight, unsigned rows,
                                           unsigned inner, unsigned columns) {
    const unsigned row = blockIdx.y * TRANSFORMER_TILE + threadIdx.y;
    const unsigned k = blockIdx.x * TRANSFORMER_TILE + threadIdx.x;
    const float sum = tiled(
        row, k, rows, columns, inner, [=](unsigned r, unsigned c) { return dout[r * columns + c]; },
        [=](unsigned c, unsigned i) { return weight[c * inner + i]; });
    if (row < rows && k < inner) din[row * inner + k] = sum;
}

extern "C" __global__ void linear_backward_weight(float* dweight, const float* dout, const float* in, unsigned rows,
                                                  unsigned inner, unsigned columns) {
    const unsigned column = blockIdx.y * TRANSFORMER_TILE + threadIdx.y;
    const unsigned k = blockIdx.x * TRANSFORMER_TILE + threadIdx.x;
    const float sum = tiled(
        column, k, columns, rows, inner, [=](unsigned c, unsigned r) { return dout[r * columns + c]; },
        [=](unsigned r, unsigned i) { return in[r * inner + i]; });
    if (column < columns && k < inner) dweight[column * inner + k] += sum;
}

extern "C" __global__ void bias_add(float* out, const float* bias, unsigned columns) {
    const unsigned column = place();
    if (column < columns) out[blockIdx.y * columns + column] += bias[column];
}

extern "C" __global__ void bias_backward(float* dbias, const float* dout, unsigned rows, unsigned columns) {
    const unsigned column = place();
    if (column >= columns) return;
    float sum = 0.0f;
    for (unsigned row = 0; row < rows; ++row) sum += dout[row * columns + column];
    dbias[column] += sum;
}

extern "C" __global__ void attention_scores(float* scores, const float* qkv, unsigned length, unsigned heads,
                                            unsigned size) {
    const unsigned t = place(), head = blockIdx.y, b = blockIdx.z, channels = heads * size;
    if (t >= length) return;
    const float scale = 1.0f / sqrtf(size);
    for (unsigned u = 0; u <= t; ++u) {
        float sum = 0.0f;
        for (unsigned i = 0; i < size; ++i)
            sum = fmaf(qkv[(b * length + t) * 3 * channels + head * size + i],
                       qkv[(b * length + u) * 3 * channels + channels + head * size + i], sum);
        scores[((b * heads + head) * length + t) * length + u] = sum * scale;
    }
}

extern "C" __global__ void attention_weights(float* weights, const float* scores, unsigned rows, unsigned length) {
    const unsigned row = place();
    if (row >= rows) return;
    const unsigned t = row % length;
    float largest = scores[row * length];
    for (unsigned u = 1; u <= t; ++u) largest = fmaxf(largest, scores[row * length + u]);
    float sum = 0.0f;
    for (unsigned u = 0; u <= t; ++u) sum += expf(scores[row * length + u] - largest);
    for (unsigned u = 0; u < length; ++u)
        weights[row * length + u] = u <= t ? expf(scores[row * length + u] - largest) / sum : 0.0f;
}

extern "C" __global__ void attention_values(float* out, const float* weights, const float* qkv, unsigned length,
                                            unsigned heads, unsigned size) {
    const unsigned t = blockIdx.x, head = blockIdx.y, b = blockIdx.z, i = threadIdx.x, channels = heads * size;
    if (i >= size) return;
    float sum = 0.0f;
    for (unsigned u = 0; u <= t; ++u)
        sum = fmaf(weights[((b * heads + head) * length + t) * length + u],
                   qkv[(b * length + u) * 3 * channels + 2 * channels + head * size + i], sum);
    out[(b * length + t) * channels + head * size + i] = sum;
}

extern "C" __global__ void attention_backward_scores(float* dscores, const float* dout, const float* weights,
                                                     const float* qkv, unsigned length, unsigned heads,
                                                     unsigned size) {
    const unsigned t = place(), head = blockIdx.y, b = blockIdx.z, channels = heads * size;
    if (t >= length) return;
    const unsigned row = ((b * heads + head) * length + t) * length;
    float mean = 0.0f;
    for (unsigned u = 0; u <= t; ++u) {
        float sum = 0.0f;
        for (unsigned i = 0; i < size; ++i)
            sum = fmaf(dout[(b * length + t) * channels + head * size + i],
                       qkv[(b * length + u) * 3 * channels + 2 * channels + head * size + i], sum);
        dscores[row + u] = sum;
        mean = fmaf(weights[row + u], sum, mean);
    }
    for (unsigned u = 0; u < length; ++u)
        dscores[row + u] = u <= t ? weights[row + u] * (dscores[row + u] - mean) : 0.0f;
}

extern "C" __global__ void attention_backward(float* dqkv, const float* dscores, const float* dout,
                                              const float* weights, const float* qkv, unsigned length, unsigned heads,
                                              unsigned size) {
    const unsigned t = blockIdx.x, head = blockIdx.y, b = blockIdx.z, i = threadIdx.x, channels = heads * size;
    if (i >= size) return;
    const float scale = 1.0f / sqrtf(size);
    float query = 0.0f, key = 0.0f, value = 0.0f;
    for (unsigned u = 0; u < length; ++u) {
        const unsigned here = ((b * heads + head) * length + t) * length + u;
        const unsigned there = ((b * heads + head) * length + u) * length + t;
        const unsigned other = (b * length + u) * 3 * channels + head * size + i;
        query = fmaf(dscores[here], qkv[other + channels], query);
        key = fmaf(dscores[there], qkv[other], key);
        value = fmaf(weights[there], dout[(b * length + u) * channels + head * size + i], value);
    }
    const unsigned own = (b * length + t) * 3 * channels + head * size + i;
    dqkv[own] = query * scale;
    dqkv[own + channels] = key * scale;
    dqkv[own + 2 * channels] = value;
}

extern "C" __global__ void residual(float* out, const float* a, const float* b, unsigned count) {
    const unsigned i = place();
    if (i < count) out[i] = a[i] + b[i];
}

namespace {

const float GELU_SCALE = 0.7978845608f;

__device__ float gelu_tanh(float x) { return tanhf(GELU_SCALE * (x + 0.044715f * x * x * x)); }

}  // namespace

extern "C" __global__ void gelu(float* out, const float* in, unsigned count) {
    const unsigned i = place();
    if (i < count) out[i] = 0.5f * in[i] * (1.0f + gelu_tanh(in[i]));
}

extern "C" __global__ void gelu_backward(float* din, const float* dout, const float* in, unsigned count) {
    const unsigned i = place();
    if (i >= count) return;
    const float x = in[i], t = gelu_tanh(x);
    const float slope = (1.0f - t * t) * GELU_SCALE * (1.0f + 3.0f * 0.044715f * x * x);
    din[i] = dout[i] * (0.5f * (1.0f + t) + 0.5f * x * slope);
}

extern "C" __global__ void cross_entropy(float* losses, float* dlogits, const float* logits, const unsigned* targets,
                                         unsigned rows, unsigned vocabulary) {
    const unsigned row = place();
    if (row >= rows) return;
    const unsigned target = targets[row];
    float largest = logits[row * vocabulary];
    for (unsigned v = 1; v < vocabulary; ++v) largest = fmaxf(largest, logits[row * vocabulary + v]);
    float sum = 0.0f, of_target = 0.0f;
    for (unsigned v = 0; v < vocabulary; ++v) {
        sum += expf(logits[row * vocabulary + v] - largest);
        if (v == target) of_target = logits[row * vocabulary + v];
    }
    losses[row] = logf(sum) + largest - of_target;
    for (unsigned v = 0; v < vocabulary; ++v) {
        const float p = expf(logits[row * vocabulary + v] - largest) / sum;
        dlogits[row * vocabulary + v] = (p - (v == target ? 1.0f : 0.0f)) / rows;
    }
}

extern "C" __global__ void adamw(float* parameters, const float* gradients, float* first, float* second,
                                 unsigned count, float rate, float decay, float unbias_first, float unbias_second) {
    const unsigned i = place();
    if (i >= count) return;
    const float g = gradients[i];
    const float m = 0.9f * first[i] + 0.1f * g, v = 0.95f * second[i] + 0.05f * g * g;
    first[i] = m;
    second[i] = v;
    const float step = m * unbias_first / (sqrtf(v * unbias_second) + 1e-8f);
    parameters[i] -= rate * (step + decay * parameters[i]);
}

extern "C" __global__ void attention_cached(float* out, const float* query, const float* cache, unsigned count,
                                            unsigned heads, unsigned size) {
    const unsigned head = blockIdx.x, i = threadIdx.x, channels = heads * size;
    if (i >= size) return;
    const float scale = 1.0f / sqrtf(size);
    float sum = 0.0f, values = 0.0f;
    for (unsigned u = 0; u < count; ++u) {
        float score = 0.0f;
        for (unsigned k = 0; k < size; ++k)
            score = fmaf(query[head * size + k], cache[u * 2 * channels + head * size + k], score);
        const float weight = expf(score * scale);
        sum += weight;
        values = fmaf(weight, cache[u * 2 * channels + channels + head * size + i], values);
    }
    out[head * size + i] = values / sum;
}

extern "C" __global__ void choose(unsigned* token, const float* logits, unsigned vocabulary) {
    if (place() != 0) return;
    unsigned best = 0;
    float largest = logits[0];
    for (unsigned v = 1; v < vocabulary; ++v) {
        if (logits[v] > largest) {
            largest = logits[v];
            best = v;
        }
    }
    *token = best;
}
