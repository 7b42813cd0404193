// Trains a small transformer, and then has it continue a text.
//
// All parameters are in one allocation, and so are all gradients, all activations and all gradients of these:
// a tensor is a part of one of them. A step is forward, backward and AdamW. The ways to queue it differ, the
// losses do not: on the legacy stream, on a stream of one's own, with the gradients of the weights on a
// second stream beside the others, as one graph, and as a graph that is captured and updated in each step.
//
// `transformer [SIZE [WAY [STEPS]]]`: small, deep or gpt2; legacy, own, two, graph, update or decode; all by
// default. `transformer --time SIZE WAY STEPS` prints the medians of the time to queue a step and of the
// whole step, in ns.
#include "../check.cuh"
#include "transformer.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

struct Config {
    unsigned layers, channels, heads, length, batch, vocabulary;
    unsigned rows() const { return batch * length; }
};

Config config_of(const std::string& size) {
    if (size == "deep") return {12, 128, 4, 64, 4, 512};
    if (size == "gpt2") return {12, 768, 12, 1024, 4, 50257};
    return {1, 32, 2, 16, 2, 64};
}

struct Parameters {
    float *wte, *wpe, *ln1w, *ln1b, *qkvw, *qkvb, *projw, *projb, *ln2w, *ln2b, *fcw, *fcb, *outw, *outb, *lnfw, *lnfb;
};

std::vector<size_t> parameter_sizes(const Config& c) {
    const size_t n = c.channels, l = c.layers;
    return {c.vocabulary * n, c.length * n, l * n,         l * n, l * 3 * n * n, l * 3 * n, l * n * n, l * n,
            l * n,            l * n,        l * 4 * n * n, l * 4 * n, l * 4 * n * n, l * n,     n,         n};
}

struct Activations {
    float *encoded, *ln1, *mean1, *rstd1, *qkv, *scores, *weights, *attended, *proj, *middle, *ln2, *mean2, *rstd2, *fc,
        *gelu, *out, *residual, *lnf, *meanf, *rstdf, *logits, *losses;
};

std::vector<size_t> activation_sizes(const Config& c) {
    const size_t r = c.rows(), n = r * c.channels, l = c.layers, a = r * c.heads * c.length;
    return {n,     l * n, l * r, l * r,     l * 3 * n, a,     l * a, l * n, l * n, l * n,            l * n,
            l * r, l * r, l * 4 * n, l * 4 * n, l * n, l * n, n,     r,     r,     r * c.vocabulary, r};
}

struct Backward {
    float *residual, *normal, *gelu, *fc, *attended, *scores, *qkv, *logits;
};

std::vector<size_t> backward_sizes(const Config& c) {
    const size_t r = c.rows(), n = r * c.channels;
    return {n, n, 4 * n, 4 * n, n, r * c.heads * c.length, 3 * n, r * c.vocabulary};
}

size_t sum(const std::vector<size_t>& sizes) {
    size_t all = 0;
    for (size_t size : sizes) all += size;
    return all;
}

// A struct of pointers into one allocation.
template <typename Tensors>
Tensors point(float* memory, const std::vector<size_t>& sizes) {
    float* tensors[sizeof(Tensors) / sizeof(float*)] = {};
    for (size_t i = 0; i < sizes.size(); ++i) {
        tensors[i] = memory;
        memory += sizes[i];
    }
    Tensors result;
    std::memcpy(&result, tensors, sizeof result);
    return result;
}

const unsigned THREADS = 128, TILE = TRANSFORMER_TILE;

unsigned blocks(size_t count, unsigned size = THREADS) { return unsigned((count + size - 1) / size); }

void linear_forward(float* out, const float* in, const float* weight, const float* bias, unsigned rows, unsigned inner,
                    unsigned columns, cudaStream_t s) {
    const dim3 grid(blocks(columns, TILE), blocks(rows, TILE)), block(TILE, TILE);
    linear<<<grid, block, 0, s>>>(out, in, weight, rows, inner, columns);
    CHECK(cudaGetLastError());
    bias_add<<<dim3(blocks(columns), rows), THREADS, 0, s>>>(out, bias, columns);
    CHECK(cudaGetLastError());
}

// The stream for the gradients of weights, beside the one for all others.
struct Side {
    cudaStream_t stream = nullptr;
    cudaEvent_t fork = nullptr, join = nullptr;
};

// Returns the stream for gradients of weights, after what `s` has been given.
cudaStream_t begin(const Side* side, cudaStream_t s) {
    if (!side) return s;
    CHECK(cudaEventRecord(side->fork, s));
    CHECK(cudaStreamWaitEvent(side->stream, side->fork, 0));
    return side->stream;
}

void end(const Side* side, cudaStream_t s) {
    if (!side) return;
    CHECK(cudaEventRecord(side->join, side->stream));
    CHECK(cudaStreamWaitEvent(s, side->join, 0));
}

void linear_backward_all(float* din, float* dweight, float* dbias, const float* dout, const float* in,
                         const float* weight, unsigned rows, unsigned inner, unsigned columns, const Side* side,
                         cudaStream_t s) {
    const dim3 block(TILE, TILE);
    cudaStream_t w = begin(side, s);
    if (dbias) {
        bias_backward<<<blocks(columns), THREADS, 0, w>>>(dbias, dout, rows, columns);
        CHECK(cudaGetLastError());
    }
    linear_backward_weight<<<dim3(blocks(inner, TILE), blocks(columns, TILE)), block, 0, w>>>(dweight, dout, in, rows,
                                                                                              inner, columns);
    CHECK(cudaGetLastError());
    linear_backward<<<dim3(blocks(inner, TILE), blocks(rows, TILE)), block, 0, s>>>(din, dout, weight, rows, inner,
                                                                                    columns);
    CHECK(cudaGetLastError());
    end(side, s);
}

void layernorm_backward_all(float* din, float* dweight, float* dbias, const float* dout, const float* in,
                            const float* weight, const float* mean, const float* rstd, const Config& c,
                            const Side* side, cudaStream_t s) {
    const unsigned rows = c.rows(), n = c.channels;
    cudaStream_t w = begin(side, s);
    layernorm_backward_weight<<<blocks(n), THREADS, 0, w>>>(dweight, dbias, dout, in, mean, rstd, rows, n);
    CHECK(cudaGetLastError());
    layernorm_backward<<<blocks(rows), THREADS, 0, s>>>(din, dout, in, weight, mean, rstd, rows, n);
    CHECK(cudaGetLastError());
    end(side, s);
}

void forward(const Config& c, const Parameters& p, const Activations& a, float* dlogits, const unsigned* tokens,
             const unsigned* targets, cudaStream_t s) {
    const unsigned rows = c.rows(), n = c.channels, size = n / c.heads;
    const size_t rn = size_t(rows) * n, attention = size_t(rows) * c.heads * c.length;
    const dim3 by_head(blocks(c.length), c.heads, c.batch), by_position(c.length, c.heads, c.batch);
    encode<<<dim3(blocks(n), rows), THREADS, 0, s>>>(a.encoded, tokens, p.wte, p.wpe, c.length, n, c.vocabulary);
    CHECK(cudaGetLastError());
    for (unsigned l = 0; l < c.layers; ++l) {
        const float* in = l == 0 ? a.encoded : a.residual + (l - 1) * rn;
        float *ln1 = a.ln1 + l * rn, *qkv = a.qkv + l * 3 * rn, *weights = a.weights + l * attention;
        float *attended = a.attended + l * rn, *proj = a.proj + l * rn, *middle = a.middle + l * rn;
        float *ln2 = a.ln2 + l * rn, *fc = a.fc + l * 4 * rn, *gelued = a.gelu + l * 4 * rn, *out = a.out + l * rn;
        layernorm<<<blocks(rows), THREADS, 0, s>>>(ln1, a.mean1 + l * rows, a.rstd1 + l * rows, in, p.ln1w + l * n,
                                                   p.ln1b + l * n, rows, n);
        CHECK(cudaGetLastError());
        linear_forward(qkv, ln1, p.qkvw + size_t(l) * 3 * n * n, p.qkvb + l * 3 * n, rows, n, 3 * n, s);
        attention_scores<<<by_head, THREADS, 0, s>>>(a.scores, qkv, c.length, c.heads, size);
        CHECK(cudaGetLastError());
        attention_weights<<<blocks(rows * c.heads), THREADS, 0, s>>>(weights, a.scores, rows * c.heads, c.length);
        CHECK(cudaGetLastError());
        attention_values<<<by_position, size, 0, s>>>(attended, weights, qkv, c.length, c.heads, size);
        CHECK(cudaGetLastError());
        linear_forward(proj, attended, p.projw + size_t(l) * n * n, p.projb + l * n, rows, n, n, s);
        residual<<<blocks(rn), THREADS, 0, s>>>(middle, in, proj, rows * n);
        CHECK(cudaGetLastError());
        layernorm<<<blocks(rows), THREADS, 0, s>>>(ln2, a.mean2 + l * rows, a.rstd2 + l * rows, middle, p.ln2w + l * n,
                                                   p.ln2b + l * n, rows, n);
        CHECK(cudaGetLastError());
        linear_forward(fc, ln2, p.fcw + size_t(l) * 4 * n * n, p.fcb + l * 4 * n, rows, n, 4 * n, s);
        gelu<<<blocks(4 * rn), THREADS, 0, s>>>(gelued, fc, 4 * rows * n);
        CHECK(cudaGetLastError());
        linear_forward(out, gelued, p.outw + size_t(l) * 4 * n * n, p.outb + l * n, rows, 4 * n, n, s);
        residual<<<blocks(rn), THREADS, 0, s>>>(a.residual + l * rn, middle, out, rows * n);
        CHECK(cudaGetLastError());
    }
    layernorm<<<blocks(rows), THREADS, 0, s>>>(a.lnf, a.meanf, a.rstdf, a.residual + (c.layers - 1) * rn, p.lnfw,
                                               p.lnfb, rows, n);
    CHECK(cudaGetLastError());
    linear<<<dim3(blocks(c.vocabulary, TILE), blocks(rows, TILE)), dim3(TILE, TILE), 0, s>>>(a.logits, a.lnf, p.wte,
                                                                                            rows, n, c.vocabulary);
    CHECK(cudaGetLastError());
    cross_entropy<<<blocks(rows), THREADS, 0, s>>>(a.losses, dlogits, a.logits, targets, rows, c.vocabulary);
    CHECK(cudaGetLastError());
}

void backward(const Config& c, const Parameters& p, const Parameters& g, const Activations& a, const Backward& d,
              const unsigned* tokens, const Side* side, cudaStream_t s) {
    const unsigned rows = c.rows(), n = c.channels, size = n / c.heads;
    const size_t rn = size_t(rows) * n, attention = size_t(rows) * c.heads * c.length;
    const dim3 by_head(blocks(c.length), c.heads, c.batch), by_position(c.length, c.heads, c.batch);
    linear_backward_all(d.normal, g.wte, nullptr, d.logits, a.lnf, p.wte, rows, n, c.vocabulary, side, s);
    layernorm_backward_all(d.residual, g.lnfw, g.lnfb, d.normal, a.residual + (c.layers - 1) * rn, p.lnfw, a.meanf,
                           a.rstdf, c, side, s);
    for (unsigned l = c.layers; l-- > 0;) {
        const float* in = l == 0 ? a.encoded : a.residual + (l - 1) * rn;
        const float *qkv = a.qkv + l * 3 * rn, *weights = a.weights + l * attention;
        linear_backward_all(d.gelu, g.outw + size_t(l) * 4 * n * n, g.outb + l * n, d.residual, a.gelu + l * 4 * rn,
                            p.outw + size_t(l) * 4 * n * n, rows, 4 * n, n, side, s);
        gelu_backward<<<blocks(4 * rn), THREADS, 0, s>>>(d.fc, d.gelu, a.fc + l * 4 * rn, 4 * rows * n);
        CHECK(cudaGetLastError());
        linear_backward_all(d.normal, g.fcw + size_t(l) * 4 * n * n, g.fcb + l * 4 * n, d.fc, a.ln2 + l * rn,
                            p.fcw + size_t(l) * 4 * n * n, rows, n, 4 * n, side, s);
        layernorm_backward_all(d.residual, g.ln2w + l * n, g.ln2b + l * n, d.normal, a.middle + l * rn, p.ln2w + l * n,
                               a.mean2 + l * rows, a.rstd2 + l * rows, c, side, s);
        linear_backward_all(d.attended, g.projw + size_t(l) * n * n, g.projb + l * n, d.residual, a.attended + l * rn,
                            p.projw + size_t(l) * n * n, rows, n, n, side, s);
        attention_backward_scores<<<by_head, THREADS, 0, s>>>(d.scores, d.attended, weights, qkv, c.length, c.heads,
                                                              size);
        CHECK(cudaGetLastError());
        attention_backward<<<by_position, size, 0, s>>>(d.qkv, d.scores, d.attended, weights, qkv, c.length, c.heads,
                                                        size);
        CHECK(cudaGetLastError());
        linear_backward_all(d.normal, g.qkvw + size_t(l) * 3 * n * n, g.qkvb + l * 3 * n, d.qkv, a.ln1 + l * rn,
                            p.qkvw + size_t(l) * 3 * n * n, rows, n, 3 * n, side, s);
        layernorm_backward_all(d.residual, g.ln1w + l * n, g.ln1b + l * n, d.normal, in, p.ln1w + l * n,
                               a.mean1 + l * rows, a.rstd1 + l * rows, c, side, s);
    }
    encode_backward_tokens<<<dim3(blocks(n), c.vocabulary), THREADS, 0, s>>>(g.wte, d.residual, tokens, rows, n);
    CHECK(cudaGetLastError());
    encode_backward_positions<<<dim3(blocks(n), c.length), THREADS, 0, s>>>(g.wpe, d.residual, c.batch, n);
    CHECK(cudaGetLastError());
}

// Numbers that are the same in both languages.
struct Random {
    unsigned state = 1;
    unsigned next() { return (state = state * 1664525u + 1013904223u) >> 8; }
    float weight() { return (float(next()) / 16777216.0f - 0.5f) * 0.1f; }
};

struct Model {
    Config c;
    size_t parameters;
    float *params, *grads, *acts, *dacts, *first, *second;
    unsigned *tokens, *targets, *h_tokens, *h_targets;
    float* h_losses;
    Random text;

    explicit Model(const Config& config) : c(config), parameters(sum(parameter_sizes(c))) {
        const std::vector<size_t> sizes = parameter_sizes(c);
        std::vector<float> weights;
        weights.reserve(parameters);
        Random random;
        // Tensors of one row are the weights and biases of norms and the biases of products.
        for (size_t tensor = 0; tensor < sizes.size(); ++tensor) {
            const bool is_one = tensor == 2 || tensor == 8 || tensor == 14;
            const bool is_zero = tensor == 3 || tensor == 5 || tensor == 7 || tensor == 9 || tensor == 11 ||
                                 tensor == 13 || tensor == 15;
            for (size_t i = 0; i < sizes[tensor]; ++i)
                weights.push_back(is_one ? 1.0f : is_zero ? 0.0f : random.weight());
        }
        for (float** memory : {&params, &grads, &first, &second}) CHECK(cudaMalloc(memory, parameters * sizeof(float)));
        CHECK(cudaMalloc(&acts, sum(activation_sizes(c)) * sizeof(float)));
        CHECK(cudaMalloc(&dacts, sum(backward_sizes(c)) * sizeof(float)));
        CHECK(cudaMalloc(&tokens, c.rows() * sizeof(unsigned)));
        CHECK(cudaMalloc(&targets, c.rows() * sizeof(unsigned)));
        CHECK(cudaMallocHost(&h_tokens, c.rows() * sizeof(unsigned)));
        CHECK(cudaMallocHost(&h_targets, c.rows() * sizeof(unsigned)));
        CHECK(cudaMallocHost(&h_losses, c.rows() * sizeof(float)));
        CHECK(cudaMemcpy(params, weights.data(), parameters * sizeof(float), cudaMemcpyHostToDevice));
        CHECK(cudaMemset(first, 0, parameters * sizeof(float)));
        CHECK(cudaMemset(second, 0, parameters * sizeof(float)));
        CHECK(cudaDeviceSynchronize());
    }

    ~Model() {
        for (float* memory : {params, grads, acts, dacts, first, second}) CHECK(cudaFree(memory));
        CHECK(cudaFree(tokens));
        CHECK(cudaFree(targets));
        CHECK(cudaFreeHost(h_tokens));
        CHECK(cudaFreeHost(h_targets));
        CHECK(cudaFreeHost(h_losses));
    }

    // Each token mostly follows from the one before.
    void read_text() {
        for (unsigned b = 0; b < c.batch; ++b) {
            unsigned token = text.next() % c.vocabulary;
            for (unsigned t = 0; t < c.length; ++t) {
                h_tokens[b * c.length + t] = token;
                token = text.next() % 8 == 0 ? text.next() % c.vocabulary : (token * 5 + 1) % c.vocabulary;
                h_targets[b * c.length + t] = token;
            }
        }
    }

    void gradients(const Side* side, cudaStream_t s) {
        const auto p = point<Parameters>(params, parameter_sizes(c)), g = point<Parameters>(grads, parameter_sizes(c));
        const auto a = point<Activations>(acts, activation_sizes(c));
        const auto d = point<Backward>(dacts, backward_sizes(c));
        CHECK(cudaMemcpyAsync(tokens, h_tokens, c.rows() * sizeof(unsigned), cudaMemcpyHostToDevice, s));
        CHECK(cudaMemcpyAsync(targets, h_targets, c.rows() * sizeof(unsigned), cudaMemcpyHostToDevice, s));
        CHECK(cudaMemsetAsync(grads, 0, parameters * sizeof(float), s));
        CHECK(cudaMemsetAsync(dacts, 0, sum(backward_sizes(c)) * sizeof(float), s));
        forward(c, p, a, d.logits, tokens, targets, s);
        backward(c, p, g, a, d, tokens, side, s);
        CHECK(cudaMemcpyAsync(h_losses, a.losses, c.rows() * sizeof(float), cudaMemcpyDeviceToHost, s));
    }

    void update(unsigned step, cudaStream_t s) {
        const float m = 1.0f / (1.0f - std::pow(0.9f, float(step))), v = 1.0f / (1.0f - std::pow(0.95f, float(step)));
        adamw<<<blocks(parameters), THREADS, 0, s>>>(params, grads, first, second, unsigned(parameters), 1e-2f, 1e-4f,
                                                     m, v);
        CHECK(cudaGetLastError());
    }

    float loss() const {
        float sum = 0.0f;
        for (unsigned row = 0; row < c.rows(); ++row) sum += h_losses[row];
        return sum / float(c.rows());
    }
};

double now() {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The times to queue each step, and those of the whole steps.
struct Times {
    std::vector<double> queued, whole;
};

void train(Model& model, const std::string& way, unsigned steps, bool quiet, Times& times) {
    cudaStream_t s = nullptr;
    if (way != "legacy") CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    Side side;
    const Side* beside = nullptr;
    if (way == "two") {
        CHECK(cudaStreamCreateWithFlags(&side.stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&side.fork, cudaEventDisableTiming));
        CHECK(cudaEventCreateWithFlags(&side.join, cudaEventDisableTiming));
        beside = &side;
    }
    cudaGraphExec_t exec = nullptr;
    for (unsigned step = 1; step <= steps; ++step) {
        model.read_text();
        const double start = now();
        if (way == "graph" || way == "update") {
            if (!exec || way == "update") {
                cudaGraph_t graph;
                CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
                model.gradients(nullptr, s);
                if (way == "update") model.update(step, s);
                CHECK(cudaStreamEndCapture(s, &graph));
                if (exec) {
                    cudaGraphExecUpdateResultInfo result;
                    CHECK(cudaGraphExecUpdate(exec, graph, &result));
                } else {
                    CHECK(cudaGraphInstantiate(&exec, graph, 0));
                }
                CHECK(cudaGraphDestroy(graph));
            }
            CHECK(cudaGraphLaunch(exec, s));
            if (way == "graph") model.update(step, s);
        } else {
            model.gradients(beside, s);
            model.update(step, s);
        }
        const double queued = now();
        CHECK(cudaStreamSynchronize(s));
        times.queued.push_back(queued - start);
        times.whole.push_back(now() - start);
        if (!quiet) std::printf("%s, step %u: the loss is %.5f\n", way.c_str(), step, model.loss());
    }
    if (exec) CHECK(cudaGraphExecDestroy(exec));
    if (beside) {
        CHECK(cudaEventDestroy(side.fork));
        CHECK(cudaEventDestroy(side.join));
        CHECK(cudaStreamDestroy(side.stream));
    }
    if (s) CHECK(cudaStreamDestroy(s));
}

struct Row {
    float *residual, *normal, *mean, *rstd, *query, *attended, *proj, *middle, *fc, *gelu, *out, *logits;
};

std::vector<size_t> row_sizes(const Config& c) {
    const size_t n = c.channels;
    return {n, n, 1, 1, n, n, n, n, 4 * n, 4 * n, n, c.vocabulary};
}

// One token after the other. The keys and values of all tokens so far are in a cache: a part for each layer,
// with a row for each token.
void decode(Model& model, unsigned steps, bool quiet, Times& times) {
    const Config& c = model.c;
    const unsigned n = c.channels, size = n / c.heads;
    steps = std::min(steps, c.length - 1);
    const auto p = point<Parameters>(model.params, parameter_sizes(c));
    float *cache, *memory;
    unsigned *tokens, *h_token;
    cudaStream_t s;
    CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&cache, size_t(c.layers) * c.length * 2 * n * sizeof(float)));
    CHECK(cudaMalloc(&memory, sum(row_sizes(c)) * sizeof(float)));
    CHECK(cudaMalloc(&tokens, c.length * sizeof(unsigned)));
    CHECK(cudaMallocHost(&h_token, sizeof(unsigned)));
    CHECK(cudaMemset(tokens, 0, c.length * sizeof(unsigned)));
    CHECK(cudaDeviceSynchronize());
    const auto r = point<Row>(memory, row_sizes(c));
    std::string text;
    for (unsigned t = 0; t < steps; ++t) {
        const double start = now();
        encode<<<blocks(n), THREADS, 0, s>>>(r.residual, tokens + t, p.wte, p.wpe + t * n, 1, n, c.vocabulary);
        CHECK(cudaGetLastError());
        for (unsigned l = 0; l < c.layers; ++l) {
            float* rows = cache + size_t(l) * c.length * 2 * n;
            const float *qkvw = p.qkvw + size_t(l) * 3 * n * n, *qkvb = p.qkvb + l * 3 * n;
            layernorm<<<1, THREADS, 0, s>>>(r.normal, r.mean, r.rstd, r.residual, p.ln1w + l * n, p.ln1b + l * n, 1, n);
            CHECK(cudaGetLastError());
            linear_forward(r.query, r.normal, qkvw, qkvb, 1, n, n, s);
            linear_forward(rows + t * 2 * n, r.normal, qkvw + n * n, qkvb + n, 1, n, 2 * n, s);
            attention_cached<<<c.heads, size, 0, s>>>(r.attended, r.query, rows, t + 1, c.heads, size);
            CHECK(cudaGetLastError());
            linear_forward(r.proj, r.attended, p.projw + size_t(l) * n * n, p.projb + l * n, 1, n, n, s);
            residual<<<blocks(n), THREADS, 0, s>>>(r.middle, r.residual, r.proj, n);
            CHECK(cudaGetLastError());
            layernorm<<<1, THREADS, 0, s>>>(r.normal, r.mean, r.rstd, r.middle, p.ln2w + l * n, p.ln2b + l * n, 1, n);
            CHECK(cudaGetLastError());
            linear_forward(r.fc, r.normal, p.fcw + size_t(l) * 4 * n * n, p.fcb + l * 4 * n, 1, n, 4 * n, s);
            gelu<<<blocks(4 * n), THREADS, 0, s>>>(r.gelu, r.fc, 4 * n);
            CHECK(cudaGetLastError());
            linear_forward(r.out, r.gelu, p.outw + size_t(l) * 4 * n * n, p.outb + l * n, 1, 4 * n, n, s);
            residual<<<blocks(n), THREADS, 0, s>>>(r.residual, r.middle, r.out, n);
            CHECK(cudaGetLastError());
        }
        layernorm<<<1, THREADS, 0, s>>>(r.normal, r.mean, r.rstd, r.residual, p.lnfw, p.lnfb, 1, n);
        CHECK(cudaGetLastError());
        linear<<<dim3(blocks(c.vocabulary, TILE), 1), dim3(TILE, TILE), 0, s>>>(r.logits, r.normal, p.wte, 1, n,
                                                                               c.vocabulary);
        CHECK(cudaGetLastError());
        choose<<<1, 32, 0, s>>>(tokens + t + 1, r.logits, c.vocabulary);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(h_token, tokens + t + 1, sizeof(unsigned), cudaMemcpyDeviceToHost, s));
        const double queued = now();
        CHECK(cudaStreamSynchronize(s));
        text += " " + std::to_string(*h_token);
        times.queued.push_back(queued - start);
        times.whole.push_back(now() - start);
    }
    if (!quiet) std::printf("decode:%s\n", text.c_str());
    CHECK(cudaFree(cache));
    CHECK(cudaFree(memory));
    CHECK(cudaFree(tokens));
    CHECK(cudaFreeHost(h_token));
    CHECK(cudaStreamDestroy(s));
}

double median(std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times.empty() ? 0.0 : times[times.size() / 2];
}

int main(int count, char** arguments) {
    const bool is_timed = count > 1 && std::string(arguments[1]) == "--time";
    const auto argument = [&](int at, const char* otherwise) {
        at += is_timed;
        return std::string(at < count ? arguments[at] : otherwise);
    };
    const std::string size = argument(1, "small"), only = argument(2, "all");
    const unsigned steps = unsigned(std::stoul(argument(3, "3")));
    for (const std::string way : {"legacy", "own", "two", "graph", "update", "decode"}) {
        if (only != "all" && only != way) continue;
        Model model(config_of(size));
        Times times;
        if (way != "decode") {
            train(model, way, steps, is_timed, times);
        } else {
            Times unused;
            if (!is_timed) train(model, "own", steps, true, unused);
            decode(model, steps, is_timed, times);
        }
        if (is_timed) std::printf("%.0f %.0f\n", median(times.queued), median(times.whole));
    }
}
