// The kernels of a small transformer: a row is a position of a sequence, with a number for each channel. Each
// sum is made by one thread, in order, so that every run has the same result. What adds to its output says
// so.
#pragma once

#include <cuda_runtime.h>

/// The rows and columns of a block of the matrix products.
#define TRANSFORMER_TILE 16

/// `out[row] = wte[tokens[row]] + wpe[row % length]`; a row of the grid for each row.
extern "C" __global__ void encode(float* out, const unsigned* tokens, const float* wte, const float* wpe,
                                  unsigned length, unsigned channels, unsigned vocabulary);

/// Adds to `dwte[token]` all rows of `dout` with this token; a row of the grid for each token.
extern "C" __global__ void encode_backward_tokens(float* dwte, const float* dout, const unsigned* tokens, unsigned rows,
                                                  unsigned channels);

/// Adds to `dwpe[position]` all rows of `dout` at this position; a row of the grid for each position.
extern "C" __global__ void encode_backward_positions(float* dwpe, const float* dout, unsigned batch, unsigned channels);

/// Moves and scales each row to mean 0 and variance 1, then multiplies by `weight` and adds `bias`.
extern "C" __global__ void layernorm(float* out, float* mean, float* rstd, const float* in, const float* weight,
                                     const float* bias, unsigned rows, unsigned channels);

/// Adds to `din`.
extern "C" __global__ void layernorm_backward(float* din, const float* dout, const float* in, const float* weight,
                                              const float* mean, const float* rstd, unsigned rows, unsigned channels);

/// Adds to `dweight` and `dbias`.
extern "C" __global__ void layernorm_backward_weight(float* dweight, float* dbias, const float* dout, const float* in,
                                                     const float* mean, const float* rstd, unsigned rows,
                                                     unsigned channels);

/// `out = in * transposed(weight)`; `weight` has a row for each column of `out`.
extern "C" __global__ void linear(float* out, const float* in, const float* weight, unsigned rows, unsigned inner,
                                  unsigned columns);

/// `din = dout * weight`
extern "C" __global__ void linear_backward(float* din, const float* dout, const float* weight, unsigned rows,
                                           unsigned inner, unsigned columns);

/// Adds `transposed(dout) * in` to `dweight`.
extern "C" __global__ void linear_backward_weight(float* dweight, const float* dout, const float* in, unsigned rows,
                                                  unsigned inner, unsigned columns);

/// Adds `bias` to each row; a row of the grid for each row.
extern "C" __global__ void bias_add(float* out, const float* bias, unsigned columns);

/// Adds the sum of the rows to `dbias`.
extern "C" __global__ void bias_backward(float* dbias, const float* dout, unsigned rows, unsigned columns);

/// The products of each query with the keys up to its own position. `qkv` has query, key and value of each
/// row, each of `heads` times `size` channels. The grid has the heads along y and the sequences along z.
extern "C" __global__ void attention_scores(float* scores, const float* qkv, unsigned length, unsigned heads,
                                            unsigned size);

/// The weights of the positions up to each one's own, which sum to 1, and zeros behind.
extern "C" __global__ void attention_weights(float* weights, const float* scores, unsigned rows, unsigned length);

/// The weighted sum of the values; the grid has the positions along x, and a thread for each channel of a
/// head.
extern "C" __global__ void attention_values(float* out, const float* weights, const float* qkv, unsigned length,
                                            unsigned heads, unsigned size);

/// `dscores`, from `weights` and `dout` by way of the weights' gradients.
extern "C" __global__ void attention_backward_scores(float* dscores, const float* dout, const float* weights,
                                                     const float* qkv, unsigned length, unsigned heads, unsigned size);

/// The gradients of query, key and value.
extern "C" __global__ void attention_backward(float* dqkv, const float* dscores, const float* dout,
                                              const float* weights, const float* qkv, unsigned length, unsigned heads,
                                              unsigned size);

/// `out = a + b`
extern "C" __global__ void residual(float* out, const float* a, const float* b, unsigned count);

/// A smooth step times its argument.
extern "C" __global__ void gelu(float* out, const float* in, unsigned count);

extern "C" __global__ void gelu_backward(float* din, const float* dout, const float* in, unsigned count);

/// The loss of each row, and the gradient of the mean loss by the logits.
extern "C" __global__ void cross_entropy(float* losses, float* dlogits, const float* logits, const unsigned* targets,
                                         unsigned rows, unsigned vocabulary);

/// One step of AdamW. `first` and `second` are the moments, `unbias_first` and `unbias_second` the factors
/// that undo their start at 0.
extern "C" __global__ void adamw(float* parameters, const float* gradients, float* first, float* second,
                                 unsigned count, float rate, float decay, float unbias_first, float unbias_second);

/// The attention of one new token to `count` rows of a cache, of which it is the last: a block for each head.
/// A row of the cache has key and value, `query` is that of the token.
extern "C" __global__ void attention_cached(float* out, const float* query, const float* cache, unsigned count,
                                            unsigned heads, unsigned size);

/// The token with the largest logit.
extern "C" __global__ void choose(unsigned* token, const float* logits, unsigned vocabulary);
