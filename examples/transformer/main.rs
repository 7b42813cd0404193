//! Trains a small transformer, and then has it continue a text.
//!
//! All parameters are in one allocation, and so are all gradients, all activations and all gradients of
//! these: a tensor is a view of a part of one of them. A step is forward, backward and AdamW. The ways to
//! queue it differ, the losses do not: on the legacy stream, on a stream of one's own, with the gradients of
//! the weights on a second stream beside the others, as one graph, and as a graph that is captured and
//! updated in each step. Every launch is proven to stay within its tensors.
//!
//! `transformer [SIZE [WAY [STEPS]]]`: small, deep or gpt2; legacy, own, two, graph, update or decode; all by
//! default. `transformer --time SIZE WAY STEPS` prints the medians of the time to queue a step and of the
//! whole step, in ns.
use std::ops::Range;
use std::time::Instant;

use cuda_safe::memory::{DeviceSlice, DeviceSliceMut};
use cuda_safe::stream::{Event, StreamRef};
use cuda_safe::{
    AsStream as _, Device, DeviceBuffer, GraphExec, PinnedBuffer, Result, Stream, launch, memcpy_async,
    memset_async,
};
use examples::kernels;

#[derive(Clone, Copy)]
struct Config {
    layers: usize,
    channels: usize,
    heads: usize,
    length: usize,
    batch: usize,
    vocabulary: usize,
}

impl Config {
    fn of(size: &str) -> Self {
        let [layers, channels, heads, length, batch, vocabulary] = match size {
            "deep" => [12, 128, 4, 64, 4, 512],
            "gpt2" => [12, 768, 12, 1024, 4, 50257],
            _ => [1, 32, 2, 16, 2, 64],
        };
        Self { layers, channels, heads, length, batch, vocabulary }
    }

    fn rows(&self) -> usize {
        self.batch * self.length
    }
}

/// A struct of tensors, which are parts of one allocation: `V` is a view.
macro_rules! tensors {
    ($name:ident of $count:literal: $($field:ident)*) => {
        struct $name<V> {
            $($field: V),*
        }

        impl<V> From<[V; $count]> for $name<V> {
            fn from([$($field),*]: [V; $count]) -> Self {
                Self { $($field),* }
            }
        }
    };
}
tensors!(Parameters of 16: wte wpe ln1w ln1b qkvw qkvb projw projb ln2w ln2b fcw fcb outw outb lnfw lnfb);
tensors!(Activations of 22: encoded ln1 mean1 rstd1 qkv scores weights attended proj middle ln2 mean2 rstd2 fc
    gelu out residual lnf meanf rstdf logits losses);
tensors!(Backward of 8: residual normal gelu fc attended scores qkv logits);
tensors!(Row of 12: residual normal mean rstd query attended proj middle fc gelu out logits);

fn parameter_sizes(c: &Config) -> [usize; 16] {
    let (n, l) = (c.channels, c.layers);
    [
        c.vocabulary * n,
        c.length * n,
        l * n,
        l * n,
        l * 3 * n * n,
        l * 3 * n,
        l * n * n,
        l * n,
        l * n,
        l * n,
        l * 4 * n * n,
        l * 4 * n,
        l * 4 * n * n,
        l * n,
        n,
        n,
    ]
}

fn activation_sizes(c: &Config) -> [usize; 22] {
    let (r, l) = (c.rows(), c.layers);
    let (n, a) = (r * c.channels, r * c.heads * c.length);
    [
        n,
        l * n,
        l * r,
        l * r,
        l * 3 * n,
        a,
        l * a,
        l * n,
        l * n,
        l * n,
        l * n,
        l * r,
        l * r,
        l * 4 * n,
        l * 4 * n,
        l * n,
        l * n,
        n,
        r,
        r,
        r * c.vocabulary,
        r,
    ]
}

fn backward_sizes(c: &Config) -> [usize; 8] {
    let (r, n) = (c.rows(), c.rows() * c.channels);
    [n, n, 4 * n, 4 * n, n, r * c.heads * c.length, 3 * n, r * c.vocabulary]
}

fn row_sizes(c: &Config) -> [usize; 12] {
    let n = c.channels;
    [n, n, 1, 1, n, n, n, n, 4 * n, 4 * n, n, c.vocabulary]
}

type View<'a> = DeviceSlice<'a, f32>;
type ViewMut<'a> = DeviceSliceMut<'a, f32>;

const THREADS: usize = 128;
const TILE: usize = 16;

fn blocks(count: usize) -> usize {
    count.div_ceil(THREADS)
}

fn tiles(rows: usize, columns: usize) -> (usize, usize) {
    (columns.div_ceil(TILE), rows.div_ceil(TILE))
}

/// The part of a tensor that belongs to a layer.
fn at(layer: usize, size: usize) -> Range<usize> {
    layer * size..(layer + 1) * size
}

fn linear_forward(
    out: &mut ViewMut<'_>,
    (input, weight, bias): (View<'_>, View<'_>, View<'_>),
    [rows, inner, columns]: [usize; 3],
    s: StreamRef<'_>,
) -> Result<()> {
    let (grid, block) = (tiles(rows, columns), (TILE, TILE));
    launch!(kernels::linear<<<grid, block, 0, &s>>>(out, input, weight, rows, inner, columns))?;
    launch!(kernels::bias_add<<<(blocks(columns), rows), THREADS, 0, &s>>>(out, bias, columns))
}

/// The stream for the gradients of weights, beside the one for all others.
struct Side {
    stream: Stream,
    fork: Event,
    join: Event,
}

impl Side {
    fn new() -> Result<Self> {
        Ok(Self {
            stream: Stream::non_blocking()?,
            fork: Event::without_timing()?,
            join: Event::without_timing()?,
        })
    }
}

/// Returns the stream for gradients of weights, after what `s` has been given.
fn begin<'s>(side: Option<&'s Side>, s: StreamRef<'s>) -> Result<StreamRef<'s>> {
    let Some(side) = side else { return Ok(s) };
    side.fork.record(&s)?;
    side.stream.wait(&side.fork)?;
    Ok(side.stream.as_stream())
}

fn end(side: Option<&Side>, s: StreamRef<'_>) -> Result<()> {
    let Some(side) = side else { return Ok(()) };
    side.join.record(&side.stream)?;
    s.wait(&side.join)
}

fn linear_backward_all(
    (din, dweight): (&mut ViewMut<'_>, &mut ViewMut<'_>),
    dbias: Option<&mut ViewMut<'_>>,
    [dout, input, weight]: [View<'_>; 3],
    [rows, inner, columns]: [usize; 3],
    side: Option<&Side>,
    s: StreamRef<'_>,
) -> Result<()> {
    let block = (TILE, TILE);
    let w = begin(side, s)?;
    if let Some(dbias) = dbias {
        launch!(kernels::bias_backward<<<blocks(columns), THREADS, 0, &w>>>(dbias, dout, rows, columns))?;
    }
    let grid = tiles(columns, inner);
    launch!(kernels::linear_backward_weight<<<grid, block, 0, &w>>>(dweight, dout, input, rows, inner, columns))?;
    let grid = tiles(rows, inner);
    launch!(kernels::linear_backward<<<grid, block, 0, &s>>>(din, dout, weight, rows, inner, columns))?;
    end(side, s)
}

fn layernorm_backward_all(
    (din, dweight, dbias): (&mut ViewMut<'_>, &mut ViewMut<'_>, &mut ViewMut<'_>),
    [dout, input, weight, mean, rstd]: [View<'_>; 5],
    c: &Config,
    side: Option<&Side>,
    s: StreamRef<'_>,
) -> Result<()> {
    let (rows, n) = (c.rows(), c.channels);
    let w = begin(side, s)?;
    launch!(kernels::layernorm_backward_weight<<<blocks(n), THREADS, 0, &w>>>(dweight, dbias, dout, input, mean, rstd,
        rows, n))?;
    launch!(kernels::layernorm_backward<<<blocks(rows), THREADS, 0, &s>>>(din, dout, input, weight, mean, rstd, rows, n))?;
    end(side, s)
}

fn forward(
    c: &Config,
    p: &Parameters<View<'_>>,
    a: &mut Activations<ViewMut<'_>>,
    dlogits: &mut ViewMut<'_>,
    [tokens, targets]: [&DeviceBuffer<u32>; 2],
    s: StreamRef<'_>,
) -> Result<()> {
    let (rows, n, size) = (c.rows(), c.channels, c.channels / c.heads);
    let (rn, attention) = (rows * n, rows * c.heads * c.length);
    let (by_head, by_position) = ((blocks(c.length), c.heads, c.batch), (c.length, c.heads, c.batch));
    launch!(kernels::encode<<<(blocks(n), rows), THREADS, 0, &s>>>(&mut a.encoded, tokens, &p.wte, &p.wpe, c.length, n,
        c.vocabulary))?;
    for l in 0..c.layers {
        let (before, mut residual_out) = a.residual.reborrow().split_at_mut(l * rn)?;
        let input = if l == 0 { a.encoded.as_slice() } else { before.slice(at(l - 1, rn))? };
        let (mut ln1, mut qkv) = (a.ln1.slice_mut(at(l, rn))?, a.qkv.slice_mut(at(l, 3 * rn))?);
        let (mut weights, mut attended) =
            (a.weights.slice_mut(at(l, attention))?, a.attended.slice_mut(at(l, rn))?);
        let (mut proj, mut middle) = (a.proj.slice_mut(at(l, rn))?, a.middle.slice_mut(at(l, rn))?);
        let (mut ln2, mut fc) = (a.ln2.slice_mut(at(l, rn))?, a.fc.slice_mut(at(l, 4 * rn))?);
        let (mut gelued, mut out) = (a.gelu.slice_mut(at(l, 4 * rn))?, a.out.slice_mut(at(l, rn))?);
        let (mut mean, mut rstd) = (a.mean1.slice_mut(at(l, rows))?, a.rstd1.slice_mut(at(l, rows))?);
        let (weight, bias) = (p.ln1w.slice(at(l, n))?, p.ln1b.slice(at(l, n))?);
        launch!(kernels::layernorm<<<blocks(rows), THREADS, 0, &s>>>(&mut ln1, &mut mean, &mut rstd, input, weight, bias,
            rows, n))?;
        let (weight, bias) = (p.qkvw.slice(at(l, 3 * n * n))?, p.qkvb.slice(at(l, 3 * n))?);
        linear_forward(&mut qkv, (ln1.as_slice(), weight, bias), [rows, n, 3 * n], s)?;
        launch!(kernels::attention_scores<<<by_head, THREADS, 0, &s>>>(&mut a.scores, &qkv, c.length, c.heads, size))?;
        launch!(kernels::attention_weights<<<blocks(rows * c.heads), THREADS, 0, &s>>>(&mut weights, &a.scores,
            rows * c.heads, c.length))?;
        launch!(kernels::attention_values<<<by_position, size, 0, &s>>>(&mut attended, &weights, &qkv, c.length, c.heads,
            size))?;
        let (weight, bias) = (p.projw.slice(at(l, n * n))?, p.projb.slice(at(l, n))?);
        linear_forward(&mut proj, (attended.as_slice(), weight, bias), [rows, n, n], s)?;
        launch!(kernels::residual<<<blocks(rn), THREADS, 0, &s>>>(&mut middle, input, &proj, rn))?;
        let (mut mean, mut rstd) = (a.mean2.slice_mut(at(l, rows))?, a.rstd2.slice_mut(at(l, rows))?);
        let (weight, bias) = (p.ln2w.slice(at(l, n))?, p.ln2b.slice(at(l, n))?);
        launch!(kernels::layernorm<<<blocks(rows), THREADS, 0, &s>>>(&mut ln2, &mut mean, &mut rstd, &middle, weight, bias,
            rows, n))?;
        let (weight, bias) = (p.fcw.slice(at(l, 4 * n * n))?, p.fcb.slice(at(l, 4 * n))?);
        linear_forward(&mut fc, (ln2.as_slice(), weight, bias), [rows, n, 4 * n], s)?;
        launch!(kernels::gelu<<<blocks(4 * rn), THREADS, 0, &s>>>(&mut gelued, &fc, 4 * rn))?;
        let (weight, bias) = (p.outw.slice(at(l, 4 * n * n))?, p.outb.slice(at(l, n))?);
        linear_forward(&mut out, (gelued.as_slice(), weight, bias), [rows, 4 * n, n], s)?;
        let mut residual_out = residual_out.slice_mut(..rn)?;
        launch!(kernels::residual<<<blocks(rn), THREADS, 0, &s>>>(&mut residual_out, &middle, &out, rn))?;
    }
    let last = a.residual.slice(at(c.layers - 1, rn))?;
    launch!(kernels::layernorm<<<blocks(rows), THREADS, 0, &s>>>(&mut a.lnf, &mut a.meanf, &mut a.rstdf, last, &p.lnfw,
        &p.lnfb, rows, n))?;
    let (grid, block) = (tiles(rows, c.vocabulary), (TILE, TILE));
    launch!(kernels::linear<<<grid, block, 0, &s>>>(&mut a.logits, &a.lnf, &p.wte, rows, n, c.vocabulary))?;
    launch!(kernels::cross_entropy<<<blocks(rows), THREADS, 0, &s>>>(&mut a.losses, dlogits, &a.logits, targets, rows,
        c.vocabulary))
}

#[expect(clippy::too_many_arguments, reason = "the port of a C++ function")]
fn backward(
    c: &Config,
    p: &Parameters<View<'_>>,
    g: &mut Parameters<ViewMut<'_>>,
    a: &Activations<ViewMut<'_>>,
    d: &mut Backward<ViewMut<'_>>,
    tokens: &DeviceBuffer<u32>,
    side: Option<&Side>,
    s: StreamRef<'_>,
) -> Result<()> {
    let (rows, n, size) = (c.rows(), c.channels, c.channels / c.heads);
    let (rn, attention) = (rows * n, rows * c.heads * c.length);
    let (by_head, by_position) = ((blocks(c.length), c.heads, c.batch), (c.length, c.heads, c.batch));
    let from = [d.logits.as_slice(), a.lnf.as_slice(), p.wte];
    linear_backward_all((&mut d.normal, &mut g.wte), None, from, [rows, n, c.vocabulary], side, s)?;
    let last = a.residual.slice(at(c.layers - 1, rn))?;
    let from = [d.normal.as_slice(), last, p.lnfw, a.meanf.as_slice(), a.rstdf.as_slice()];
    layernorm_backward_all((&mut d.residual, &mut g.lnfw, &mut g.lnfb), from, c, side, s)?;
    for l in (0..c.layers).rev() {
        let input = if l == 0 { a.encoded.as_slice() } else { a.residual.slice(at(l - 1, rn))? };
        let (qkv, weights) = (a.qkv.slice(at(l, 3 * rn))?, a.weights.slice(at(l, attention))?);
        let (mut dweight, mut dbias) = (g.outw.slice_mut(at(l, 4 * n * n))?, g.outb.slice_mut(at(l, n))?);
        let from = [d.residual.as_slice(), a.gelu.slice(at(l, 4 * rn))?, p.outw.slice(at(l, 4 * n * n))?];
        let to = (&mut d.gelu, &mut dweight);
        linear_backward_all(to, Some(&mut dbias), from, [rows, 4 * n, n], side, s)?;
        let fc = a.fc.slice(at(l, 4 * rn))?;
        launch!(kernels::gelu_backward<<<blocks(4 * rn), THREADS, 0, &s>>>(&mut d.fc, &d.gelu, fc, 4 * rn))?;
        let (mut dweight, mut dbias) = (g.fcw.slice_mut(at(l, 4 * n * n))?, g.fcb.slice_mut(at(l, 4 * n))?);
        let from = [d.fc.as_slice(), a.ln2.slice(at(l, rn))?, p.fcw.slice(at(l, 4 * n * n))?];
        let to = (&mut d.normal, &mut dweight);
        linear_backward_all(to, Some(&mut dbias), from, [rows, n, 4 * n], side, s)?;
        let (mut dweight, mut dbias) = (g.ln2w.slice_mut(at(l, n))?, g.ln2b.slice_mut(at(l, n))?);
        let (mean, rstd) = (a.mean2.slice(at(l, rows))?, a.rstd2.slice(at(l, rows))?);
        let from = [d.normal.as_slice(), a.middle.slice(at(l, rn))?, p.ln2w.slice(at(l, n))?, mean, rstd];
        layernorm_backward_all((&mut d.residual, &mut dweight, &mut dbias), from, c, side, s)?;
        let (mut dweight, mut dbias) = (g.projw.slice_mut(at(l, n * n))?, g.projb.slice_mut(at(l, n))?);
        let from = [d.residual.as_slice(), a.attended.slice(at(l, rn))?, p.projw.slice(at(l, n * n))?];
        let to = (&mut d.attended, &mut dweight);
        linear_backward_all(to, Some(&mut dbias), from, [rows, n, n], side, s)?;
        launch!(kernels::attention_backward_scores<<<by_head, THREADS, 0, &s>>>(&mut d.scores, &d.attended, weights, qkv,
            c.length, c.heads, size))?;
        launch!(kernels::attention_backward<<<by_position, size, 0, &s>>>(&mut d.qkv, &d.scores, &d.attended, weights, qkv,
            c.length, c.heads, size))?;
        let (mut dweight, mut dbias) = (g.qkvw.slice_mut(at(l, 3 * n * n))?, g.qkvb.slice_mut(at(l, 3 * n))?);
        let from = [d.qkv.as_slice(), a.ln1.slice(at(l, rn))?, p.qkvw.slice(at(l, 3 * n * n))?];
        let to = (&mut d.normal, &mut dweight);
        linear_backward_all(to, Some(&mut dbias), from, [rows, n, 3 * n], side, s)?;
        let (mut dweight, mut dbias) = (g.ln1w.slice_mut(at(l, n))?, g.ln1b.slice_mut(at(l, n))?);
        let (mean, rstd) = (a.mean1.slice(at(l, rows))?, a.rstd1.slice(at(l, rows))?);
        let from = [d.normal.as_slice(), input, p.ln1w.slice(at(l, n))?, mean, rstd];
        layernorm_backward_all((&mut d.residual, &mut dweight, &mut dbias), from, c, side, s)?;
    }
    launch!(kernels::encode_backward_tokens<<<(blocks(n), c.vocabulary), THREADS, 0, &s>>>(&mut g.wte, &d.residual, tokens,
        rows, n))?;
    launch!(kernels::encode_backward_positions<<<(blocks(n), c.length), THREADS, 0, &s>>>(&mut g.wpe, &d.residual, c.batch,
        n))
}

/// Numbers that are the same in both languages.
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }

    fn weight(&mut self) -> f32 {
        (self.next() as f32 / 16_777_216.0 - 0.5) * 0.1
    }
}

struct Model {
    c: Config,
    params: DeviceBuffer<f32>,
    grads: DeviceBuffer<f32>,
    acts: DeviceBuffer<f32>,
    dacts: DeviceBuffer<f32>,
    first: DeviceBuffer<f32>,
    second: DeviceBuffer<f32>,
    tokens: DeviceBuffer<u32>,
    targets: DeviceBuffer<u32>,
    h_tokens: PinnedBuffer<u32>,
    h_targets: PinnedBuffer<u32>,
    h_losses: PinnedBuffer<f32>,
    text: Random,
}

impl Model {
    fn new(c: Config) -> Result<Self> {
        let (mut weights, mut random) = (Vec::new(), Random(1));
        // Tensors of one row are the weights and biases of norms and the biases of products.
        for (tensor, size) in parameter_sizes(&c).into_iter().enumerate() {
            weights.extend((0..size).map(|_| match tensor {
                2 | 8 | 14 => 1.0,
                3 | 5 | 7 | 9 | 11 | 13 | 15 => 0.0,
                _ => random.weight(),
            }));
        }
        let (parameters, rows) = (weights.len(), c.rows());
        Ok(Self {
            params: DeviceBuffer::from_slice(&weights)?,
            grads: DeviceBuffer::alloc(parameters)?,
            acts: DeviceBuffer::alloc(activation_sizes(&c).iter().sum())?,
            dacts: DeviceBuffer::alloc(backward_sizes(&c).iter().sum())?,
            first: DeviceBuffer::alloc_zeroed(parameters)?,
            second: DeviceBuffer::alloc_zeroed(parameters)?,
            tokens: DeviceBuffer::alloc(rows)?,
            targets: DeviceBuffer::alloc(rows)?,
            h_tokens: PinnedBuffer::alloc(rows)?,
            h_targets: PinnedBuffer::alloc(rows)?,
            h_losses: PinnedBuffer::alloc(rows)?,
            text: Random(1),
            c,
        })
    }

    /// Each token mostly follows from the one before.
    fn read_text(&mut self) -> Result<()> {
        let (vocabulary, length) = (u32::try_from(self.c.vocabulary).unwrap_or(u32::MAX), self.c.length);
        let (mut tokens, mut targets) = (self.h_tokens.host_mut()?, self.h_targets.host_mut()?);
        let text = &mut self.text;
        for b in 0..self.c.batch {
            let mut token = text.next() % vocabulary;
            for t in 0..length {
                tokens[b * length + t] = token;
                token = if text.next().is_multiple_of(8) {
                    text.next() % vocabulary
                } else {
                    (token * 5 + 1) % vocabulary
                };
                targets[b * length + t] = token;
            }
        }
        Ok(())
    }

    fn gradients(&mut self, side: Option<&Side>, s: StreamRef<'_>) -> Result<()> {
        let c = &self.c;
        memcpy_async(&mut self.tokens, &self.h_tokens, &s)?;
        memcpy_async(&mut self.targets, &self.h_targets, &s)?;
        memset_async(&mut self.grads, 0, &s)?;
        memset_async(&mut self.dacts, 0, &s)?;
        let p = Parameters::from(self.params.as_slice().split(parameter_sizes(c))?);
        let mut g = Parameters::from(self.grads.split_mut(parameter_sizes(c))?);
        let mut a = Activations::from(self.acts.split_mut(activation_sizes(c))?);
        let mut d = Backward::from(self.dacts.split_mut(backward_sizes(c))?);
        forward(c, &p, &mut a, &mut d.logits, [&self.tokens, &self.targets], s)?;
        backward(c, &p, &mut g, &a, &mut d, &self.tokens, side, s)?;
        memcpy_async(&mut self.h_losses, &a.losses, &s)
    }

    fn update(&mut self, step: u16, s: StreamRef<'_>) -> Result<()> {
        let unbias = |decay: f32| 1.0 / (1.0 - decay.powf(f32::from(step)));
        let count = self.params.len();
        launch!(kernels::adamw<<<blocks(count), THREADS, 0, &s>>>(&mut self.params, &self.grads, &mut self.first,
            &mut self.second, count, 1e-2, 1e-4, unbias(0.9), unbias(0.95)))
    }

    fn loss(&self) -> Result<f32> {
        let losses = self.h_losses.host()?;
        Ok(losses.iter().sum::<f32>() / losses.len() as f32)
    }
}

/// The times to queue each step, and those of the whole steps.
#[derive(Default)]
struct Times {
    queued: Vec<u128>,
    whole: Vec<u128>,
}

fn train(model: &mut Model, way: &str, steps: u16, quiet: bool, times: &mut Times) -> Result<()> {
    let legacy = Stream::legacy()?;
    let mut own = Stream::non_blocking()?;
    let side = if way == "two" { Some(Side::new()?) } else { None };
    let mut exec: Option<GraphExec> = None;
    for step in 1..=steps {
        model.read_text()?;
        let start = Instant::now();
        if way == "graph" || way == "update" {
            if exec.is_none() || way == "update" {
                let graph = own.capture(|s| {
                    model.gradients(None, s.as_stream())?;
                    if way == "update" { model.update(step, s.as_stream()) } else { Ok(()) }
                })?;
                match &mut exec {
                    Some(exec) => exec.update(&graph)?,
                    None => exec = Some(graph.instantiate()?),
                }
            }
            if let Some(exec) = &mut exec {
                exec.launch(&own)?;
            }
            if way == "graph" {
                model.update(step, own.as_stream())?;
            }
        } else {
            let s = if way == "legacy" { legacy.as_stream() } else { own.as_stream() };
            model.gradients(side.as_ref(), s)?;
            model.update(step, s)?;
        }
        let queued = start.elapsed();
        if way == "legacy" { legacy.synchronize() } else { own.synchronize() }?;
        times.queued.push(queued.as_nanos());
        times.whole.push(start.elapsed().as_nanos());
        if !quiet {
            println!("{way}, step {step}: the loss is {:.5}", model.loss()?);
        }
    }
    Ok(())
}

/// One token after the other. The keys and values of all tokens so far are in a cache: a part for each layer,
/// with a row for each token.
fn decode(model: &Model, steps: u16, quiet: bool, times: &mut Times) -> Result<()> {
    let c = &model.c;
    let (n, size, steps) = (c.channels, c.channels / c.heads, usize::from(steps).min(c.length - 1));
    let p = Parameters::from(model.params.as_slice().split(parameter_sizes(c))?);
    let stream = Stream::non_blocking()?;
    let s = stream.as_stream();
    let mut cache = DeviceBuffer::<f32>::alloc(c.layers * c.length * 2 * n)?;
    let mut memory = DeviceBuffer::<f32>::alloc(row_sizes(c).iter().sum())?;
    let mut tokens = DeviceBuffer::<u32>::alloc_zeroed(c.length)?;
    let mut h_token = PinnedBuffer::<u32>::alloc(1)?;
    let mut r = Row::from(memory.split_mut(row_sizes(c))?);
    Device::current()?.synchronize()?;
    let mut text = String::new();
    for t in 0..steps {
        let start = Instant::now();
        let (token, position) = (tokens.slice(at(t, 1))?, p.wpe.slice(at(t, n))?);
        launch!(kernels::encode<<<(blocks(n), 1), THREADS, 0, &s>>>(&mut r.residual, token, &p.wte, position, 1, n,
            c.vocabulary))?;
        for l in 0..c.layers {
            let mut rows = cache.slice_mut(at(l, c.length * 2 * n))?;
            let (qkvw, qkvb) = (p.qkvw.slice(at(l, 3 * n * n))?, p.qkvb.slice(at(l, 3 * n))?);
            let [query_weight, cached_weight] = qkvw.split([n * n, 2 * n * n])?;
            let [query_bias, cached_bias] = qkvb.split([n, 2 * n])?;
            let (weight, bias) = (p.ln1w.slice(at(l, n))?, p.ln1b.slice(at(l, n))?);
            launch!(kernels::layernorm<<<1, THREADS, 0, &s>>>(&mut r.normal, &mut r.mean, &mut r.rstd, &r.residual, weight,
                bias, 1, n))?;
            linear_forward(&mut r.query, (r.normal.as_slice(), query_weight, query_bias), [1, n, n], s)?;
            let mut row = rows.slice_mut(at(t, 2 * n))?;
            linear_forward(&mut row, (r.normal.as_slice(), cached_weight, cached_bias), [1, n, 2 * n], s)?;
            launch!(kernels::attention_cached<<<c.heads, size, 0, &s>>>(&mut r.attended, &r.query, &rows, t + 1, c.heads,
                size))?;
            let (weight, bias) = (p.projw.slice(at(l, n * n))?, p.projb.slice(at(l, n))?);
            linear_forward(&mut r.proj, (r.attended.as_slice(), weight, bias), [1, n, n], s)?;
            launch!(kernels::residual<<<blocks(n), THREADS, 0, &s>>>(&mut r.middle, &r.residual, &r.proj, n))?;
            let (weight, bias) = (p.ln2w.slice(at(l, n))?, p.ln2b.slice(at(l, n))?);
            launch!(kernels::layernorm<<<1, THREADS, 0, &s>>>(&mut r.normal, &mut r.mean, &mut r.rstd, &r.middle, weight,
                bias, 1, n))?;
            let (weight, bias) = (p.fcw.slice(at(l, 4 * n * n))?, p.fcb.slice(at(l, 4 * n))?);
            linear_forward(&mut r.fc, (r.normal.as_slice(), weight, bias), [1, n, 4 * n], s)?;
            launch!(kernels::gelu<<<blocks(4 * n), THREADS, 0, &s>>>(&mut r.gelu, &r.fc, 4 * n))?;
            let (weight, bias) = (p.outw.slice(at(l, 4 * n * n))?, p.outb.slice(at(l, n))?);
            linear_forward(&mut r.out, (r.gelu.as_slice(), weight, bias), [1, 4 * n, n], s)?;
            launch!(kernels::residual<<<blocks(n), THREADS, 0, &s>>>(&mut r.residual, &r.middle, &r.out, n))?;
        }
        launch!(kernels::layernorm<<<1, THREADS, 0, &s>>>(&mut r.normal, &mut r.mean, &mut r.rstd, &r.residual, &p.lnfw,
            &p.lnfb, 1, n))?;
        let (grid, block) = (tiles(1, c.vocabulary), (TILE, TILE));
        launch!(kernels::linear<<<grid, block, 0, &s>>>(&mut r.logits, &r.normal, &p.wte, 1, n, c.vocabulary))?;
        let mut next = tokens.slice_mut(at(t + 1, 1))?;
        launch!(kernels::choose<<<1, 32, 0, &s>>>(&mut next, &r.logits, c.vocabulary))?;
        memcpy_async(&mut h_token, &next, &s)?;
        let queued = start.elapsed();
        text += &format!(" {}", h_token.host()?[0]); // waits for the copy
        times.queued.push(queued.as_nanos());
        times.whole.push(start.elapsed().as_nanos());
    }
    if !quiet {
        println!("decode:{text}");
    }
    Ok(())
}

fn median(times: &mut [u128]) -> u128 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

fn main() -> anyhow::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_timed = arguments.first().is_some_and(|first| first == "--time");
    if is_timed {
        arguments.remove(0);
    }
    let argument = |at: usize, otherwise| arguments.get(at).map_or(otherwise, String::as_str);
    let (size, only, steps) = (argument(0, "small"), argument(1, "all"), argument(2, "3").parse()?);
    for way in ["legacy", "own", "two", "graph", "update", "decode"] {
        if only != "all" && only != way {
            continue;
        }
        let mut model = Model::new(Config::of(size))?;
        let mut times = Times::default();
        if way != "decode" {
            train(&mut model, way, steps, is_timed, &mut times)?;
        } else {
            if !is_timed {
                train(&mut model, "own", steps, true, &mut Times::default())?;
            }
            decode(&model, steps, is_timed, &mut times)?;
        }
        if is_timed {
            println!("{} {}", median(&mut times.queued), median(&mut times.whole));
        }
    }
    Ok(())
}
