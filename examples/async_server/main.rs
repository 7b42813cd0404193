//! A server on one thread overlaps requests on a pool of streams.
//!
//! Each request is a task of tokio's. It takes a lane (a stream with its buffers) from the pool, submits its
//! work, and awaits `stream.done()`. The thread never waits for the device: meanwhile it serves other
//! requests. In C++ each lane has a thread of its own, which blocks.
use std::sync::{Arc, Mutex, PoisonError};

use cuda_kernels::square;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Result, Stream, memcpy_async};
use tokio::runtime::Builder;
use tokio::sync::Semaphore;

const REQUESTS: i32 = 64;
const LANES: usize = 4;
const N: usize = 1 << 12;

/// What a request needs of the device.
struct Lane {
    stream: Stream,
    h_numbers: PinnedBuffer<i32>,
    d_numbers: DeviceBuffer<i32>,
    d_squares: DeviceBuffer<i32>,
}

impl Lane {
    fn new() -> Result<Self> {
        Ok(Self {
            stream: Stream::non_blocking()?,
            h_numbers: PinnedBuffer::alloc(N)?,
            d_numbers: DeviceBuffer::alloc(N)?,
            d_squares: DeviceBuffer::alloc(N)?,
        })
    }

    /// Sums the squares of `N` numbers around the request's.
    async fn answer(&mut self, request: i32) -> Result<i64> {
        for (number, offset) in self.h_numbers.host_mut()?.iter_mut().zip(0..) {
            *number = (request + offset) % 100;
        }
        memcpy_async(&mut self.d_numbers, &self.h_numbers, &self.stream)?;
        square(&self.d_numbers, &mut self.d_squares, &self.stream)?;
        memcpy_async(&mut self.h_numbers, &self.d_squares, &self.stream)?;
        self.stream.done().await?;
        Ok(self.h_numbers.host()?.iter().copied().map(i64::from).sum())
    }
}

/// The lanes that no request has, and how many these are.
struct Pool {
    lanes: Mutex<Vec<Lane>>,
    free: Semaphore,
}

impl Pool {
    async fn serve(&self, request: i32) -> anyhow::Result<i64> {
        let _permit = self.free.acquire().await?;
        let lanes = || self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lane = lanes().pop().ok_or_else(|| anyhow::anyhow!("each permit is for a lane"))?;
        let answer = lane.answer(request).await;
        lanes().push(lane);
        Ok(answer?)
    }
}

fn main() -> anyhow::Result<()> {
    let lanes: Vec<Lane> = (0..LANES).map(|_| Lane::new()).collect::<Result<_>>()?;
    let pool = Arc::new(Pool { lanes: Mutex::new(lanes), free: Semaphore::new(LANES) });
    let answers = Builder::new_current_thread().build()?.block_on(async {
        let serve = |request| {
            let pool = Arc::clone(&pool);
            tokio::spawn(async move { pool.serve(request).await })
        };
        let tasks: Vec<_> = (0..REQUESTS).map(serve).collect();
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await??);
        }
        anyhow::Ok(answers)
    })?;
    println!("{} requests on {LANES} streams", answers.len());
    println!("the first answer is {}, the last {}", answers[0], answers[answers.len() - 1]);
    println!("all together {}", answers.iter().sum::<i64>());
    Ok(())
}
