//! The rendezvous: how the ranks of a job find each other, and get the same identity for their communicator.
//!
//! Launchers such as torchrun, and wrappers of SLURM's `srun`, start one process for each rank and set
//! variables: `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `MASTER_ADDR`, `MASTER_PORT`. Rank 0 listens at the
//! master's address, and the other ranks connect to it over TCP and receive 128 bytes: NCCL's identity. Each
//! function ends within its time-out, with an error that names the ranks that have not come.
//!
//! Any program that reaches the port can take the place of a rank: as with NCCL itself, the network is
//! trusted.
//!
//! Nothing here calls CUDA or NCCL.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use crate::error::{AtCaller as _, Error, ErrorKind, Result};

/// The bytes of an identity.
pub(crate) const ID_BYTES: usize = 128;
/// The first bytes of each connection: another program at the port is recognized.
const MAGIC: [u8; 8] = *b"cuda-nc1";
/// How often something is looked at again.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest time-out.
const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
/// How long a single connection may take to say who it is.
const GREETING: Duration = Duration::from_secs(2);

/// The place of this process in its job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of this process, from 0.
    pub rank: u32,
    /// The number of processes.
    pub size: u32,
    /// The number of this process on its machine: the ordinal of its device.
    pub local_rank: u32,
    /// The address at which rank 0 listens, such as `10.0.0.1:29500`.
    pub master: String,
}

impl Place {
    /// Reads the place from `RANK`, `WORLD_SIZE`, `LOCAL_RANK` (else the rank), `MASTER_ADDR` (else
    /// `127.0.0.1`) and `MASTER_PORT` (else 29500).
    ///
    /// If torchrun has its own server at the port, the next port is used.
    ///
    /// # Errors
    /// `Rendezvous` if a variable is missing or wrong; the error names it.
    #[track_caller]
    pub fn from_env() -> Result<Self> {
        Self::from_vars(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// [`from_env`](Self::from_env) with other variables.
    ///
    /// # Errors
    /// As [`from_env`](Self::from_env).
    #[track_caller]
    pub fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let number = |name: &str, otherwise: Option<u32>| match get(name) {
            Some(value) => value.parse().map_err(|_| wrong(format!("{name}={value} is not a number"))),
            None => {
                otherwise.ok_or_else(|| wrong(format!("{name} is not set: no launcher has started this")))
            }
        };
        let (rank, size) = (number("RANK", None).at_caller()?, number("WORLD_SIZE", None).at_caller()?);
        if rank >= size {
            return Err(wrong(format!("RANK={rank} is not below WORLD_SIZE={size}")));
        }
        let address = get("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".to_owned());
        let mut port = number("MASTER_PORT", Some(29500)).at_caller()?;
        if get("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            port = port.saturating_add(1);
        }
        let port = u16::try_from(port).map_err(|_| wrong(format!("MASTER_PORT={port} is no port")));
        let port = port.at_caller()?;
        let host = if address.contains(':') { format!("[{address}]") } else { address };
        Ok(Self {
            rank,
            size,
            local_rank: number("LOCAL_RANK", Some(rank)).at_caller()?,
            master: format!("{host}:{port}"),
        })
    }

    /// Hands the bytes that rank 0 makes to all ranks.
    ///
    /// # Errors
    /// - The error of `make`, on rank 0. The other ranks get it as `Rendezvous`.
    /// - `Rendezvous` after `time_out`. It names the ranks that have not come, on every rank that has.
    /// - `Rendezvous` if two processes claim one rank, or if sizes differ.
    #[track_caller]
    pub fn exchange(
        &self,
        time_out: Duration,
        make: impl FnOnce() -> Result<[u8; ID_BYTES]>,
    ) -> Result<[u8; ID_BYTES]> {
        // As good as for ever, for clocks that do not count further.
        let now = Instant::now();
        let deadline = now.checked_add(time_out).unwrap_or_else(|| now + CENTURY);
        if self.rank > 0 {
            return self.receive(deadline);
        }
        let mut come = Vec::new();
        let answer = match self.gather(&mut come, deadline) {
            Ok(()) => make(),
            Err(error) => Err(error),
        };
        let message = match &answer {
            Ok(id) => (0_u8, id.to_vec()),
            Err(error) => (1, error.kind().to_string().into_bytes()),
        };
        for (_, connection) in &mut come {
            // A rank that has gone finds out by itself.
            let _ = send(connection, &message);
        }
        answer
    }

    /// On rank 0: waits until every other rank has connected.
    #[track_caller]
    fn gather(&self, come: &mut Vec<(u32, TcpStream)>, deadline: Instant) -> Result<()> {
        if self.size <= 1 {
            return Ok(());
        }
        let failed = |error: io::Error| wrong(format!("rank 0 cannot listen at {}: {error}", self.master));
        let mut address = self.master.clone();
        let listener = loop {
            match TcpListener::bind(&address) {
                Ok(listener) => break listener,
                // The master's name may be that of a router before this machine.
                Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable && address == self.master => {
                    let port = self.master.rsplit(':').next().unwrap_or_default();
                    address = format!("0.0.0.0:{port}");
                }
                // Of a job that has just ended.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < deadline => {
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(failed(error)).at_caller(),
            }
        };
        listener.set_nonblocking(true).map_err(failed).at_caller()?;
        while come.len() + 1 < usize::try_from(self.size).unwrap_or(usize::MAX) {
            match listener.accept() {
                Ok((connection, _)) => {
                    // A connection that does not introduce itself is of another program.
                    let Ok((mut connection, rank, size)) = greet(connection) else { continue };
                    let taken = come.iter().any(|(other, _)| *other == rank);
                    if rank == 0 || rank >= self.size || size != self.size || taken {
                        let why = if taken {
                            format!("two processes claim to be rank {rank}")
                        } else {
                            format!("rank {rank} of {size} has come to a job of {} ranks", self.size)
                        };
                        let _ = send(&mut connection, &(1, why.clone().into_bytes()));
                        return Err(wrong(why));
                    }
                    come.push((rank, connection));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() >= deadline {
                        return Err(self.missing(come));
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(failed(error)).at_caller(),
            }
        }
        Ok(())
    }

    /// Returns the error that names the ranks that have not come.
    #[track_caller]
    fn missing(&self, come: &[(u32, TcpStream)]) -> Error {
        let missing = (1..self.size).filter(|rank| !come.iter().any(|(other, _)| other == rank));
        let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
        let ranks = if missing.len() == 1 { "rank" } else { "ranks" };
        wrong(format!(
            "{ranks} {} of {} did not come to {} in time",
            missing.join(", "),
            self.size,
            self.master
        ))
    }

    /// On any other rank: connects to rank 0 and waits for its answer.
    #[track_caller]
    fn receive(&self, deadline: Instant) -> Result<[u8; ID_BYTES]> {
        let mut connection = loop {
            match self.connect(deadline) {
                Ok(connection) => break connection,
                Err(error) if Instant::now() >= deadline => {
                    return Err(wrong(format!(
                        "rank 0 of {} does not answer rank {} at {}: {error}",
                        self.size, self.rank, self.master
                    )));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        };
        // Rank 0 has the same time-out and may have begun later: its answer names who is missing.
        let left = deadline.saturating_duration_since(Instant::now()) + GREETING;
        let answer = connection.set_read_timeout(Some(left)).and_then(|()| read_answer(&mut connection));
        match answer {
            Ok((0, bytes)) => {
                bytes.try_into().map_err(|_| wrong("rank 0 sent no identity".to_owned())).at_caller()
            }
            Ok((_, why)) => Err(wrong(String::from_utf8_lossy(&why).into_owned())),
            Err(error) => Err(wrong(format!(
                "rank 0 of {} sent nothing to rank {} in time: {error}",
                self.size, self.rank
            ))),
        }
    }

    /// Connects to rank 0 and says who this is.
    fn connect(&self, deadline: Instant) -> io::Result<TcpStream> {
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSE);
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in self.master.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left.min(GREETING)) {
                // While nobody listens, TCP may connect a port to itself.
                Ok(connection) if connection.local_addr()? == address => {
                    last = io::ErrorKind::NotFound.into()
                }
                Ok(mut connection) => {
                    let mut greeting = MAGIC.to_vec();
                    greeting.extend(self.rank.to_le_bytes());
                    greeting.extend(self.size.to_le_bytes());
                    connection.write_all(&greeting)?;
                    return Ok(connection);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Reads who has connected: rank and size.
fn greet(mut connection: TcpStream) -> io::Result<(TcpStream, u32, u32)> {
    connection.set_nonblocking(false)?;
    connection.set_read_timeout(Some(GREETING))?;
    let mut magic = [0; MAGIC.len()];
    connection.read_exact(&mut magic)?;
    if magic != MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let (mut rank, mut size) = ([0; 4], [0; 4]);
    connection.read_exact(&mut rank)?;
    connection.read_exact(&mut size)?;
    Ok((connection, u32::from_le_bytes(rank), u32::from_le_bytes(size)))
}

/// Sends an answer: a kind, a length and the bytes.
fn send(connection: &mut TcpStream, (kind, bytes): &(u8, Vec<u8>)) -> io::Result<()> {
    let mut message = vec![*kind];
    message.extend(u32::try_from(bytes.len()).unwrap_or(0).to_le_bytes());
    message.extend(bytes);
    connection.write_all(&message)
}

/// Reads an answer.
fn read_answer(connection: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let (mut kind, mut len) = ([0], [0; 4]);
    connection.read_exact(&mut kind)?;
    connection.read_exact(&mut len)?;
    // No answer is longer.
    let len = u32::from_le_bytes(len).min(1 << 16);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    connection.read_exact(&mut bytes)?;
    Ok((kind[0], bytes))
}

#[track_caller]
fn wrong(why: String) -> Error {
    Error::new(ErrorKind::Rendezvous(why))
}
