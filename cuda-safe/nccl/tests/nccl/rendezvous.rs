//! Ranks that find each other, as threads of one process.
//!
//! Not under sanitizers: ranks find each other over TCP, without a GPU.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashMap;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cuda_nccl::{Error, ErrorKind, Place};

/// Returns the places of a job at a port that was free just now, and that no other job of this process has.
fn job(size: u32) -> Vec<Place> {
    static TAKEN: Mutex<Vec<SocketAddr>> = Mutex::new(Vec::new());
    let mut taken = TAKEN.lock().unwrap();
    let master = loop {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        if !taken.contains(&free) {
            taken.push(free);
            break free.to_string();
        }
    };
    (0..size).map(|rank| Place { rank, size, local_rank: rank, master: master.clone() }).collect()
}

const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn all_ranks_get_what_rank_0_makes_whoever_comes_first() {
    let places = job(4);
    std::thread::scope(|threads| {
        let ranks: Vec<_> = places
            .iter()
            .rev()
            .map(|place| {
                std::thread::sleep(Duration::from_millis(20));
                let make = || if place.rank == 0 { Ok([7; 128]) } else { panic!("rank 0 makes it") };
                threads.spawn(move || place.exchange(LONG, make))
            })
            .collect();
        for rank in ranks {
            assert_eq!(rank.join().unwrap().unwrap(), [7; 128]);
        }
    });
    // One rank needs nobody, and no port.
    let alone = Place { rank: 0, size: 1, local_rank: 0, master: "nowhere.invalid:1".to_owned() };
    assert_eq!(alone.exchange(SHORT, || Ok([3; 128])).unwrap(), [3; 128]);
}

#[test]
fn the_error_of_every_rank_that_has_come_names_the_ranks_that_have_not() {
    let places = job(4);
    std::thread::scope(|threads| {
        let ranks = [0, 2].map(|rank| {
            let place = &places[rank];
            threads.spawn(move || place.exchange(SHORT, || panic!("not all have come")))
        });
        for rank in ranks {
            let error = rank.join().unwrap().unwrap_err().kind().to_string();
            let expected = format!("ranks 1, 3 of 4 did not come to {} in time", places[0].master);
            assert_eq!(error, expected);
        }
    });
}

#[test]
fn without_rank_0_the_error_says_so_within_the_time_out() {
    let places = job(2);
    let begun = Instant::now();
    let error = places[1].exchange(SHORT, || panic!("rank 0 makes it")).unwrap_err().kind().to_string();
    assert!(error.starts_with("rank 0 of 2 does not answer rank 1 at 127.0.0.1:"), "{error}");
    assert!(begun.elapsed() >= SHORT && begun.elapsed() < SHORT + Duration::from_secs(5));
}

#[test]
fn a_rank_that_comes_twice_or_from_another_job_is_named() {
    let places = job(3);
    std::thread::scope(|threads| {
        let zero = threads.spawn(|| places[0].exchange(LONG, || Ok([0; 128])));
        for _ in 0..2 {
            let one = &places[1];
            threads.spawn(move || one.exchange(LONG, || panic!("rank 0 makes it")).unwrap_err());
        }
        assert_eq!(zero.join().unwrap().unwrap_err().kind().to_string(), "two processes claim to be rank 1");
    });
    let places = job(3);
    std::thread::scope(|threads| {
        let zero = threads.spawn(|| places[0].exchange(LONG, || Ok([0; 128])));
        let stranger = Place { size: 5, rank: 4, ..places[1].clone() };
        let error = stranger.exchange(LONG, || panic!("rank 0 makes it")).unwrap_err();
        assert_eq!(error.kind().to_string(), "rank 4 of 5 has come to a job of 3 ranks");
        assert!(zero.join().unwrap().is_err());
    });
}

#[test]
fn another_program_at_the_port_is_ignored_and_an_error_of_rank_0_reaches_all() {
    let places = job(2);
    std::thread::scope(|threads| {
        let make = || Err(Error::refused("no GPU"));
        let zero = &places[0];
        let zero = threads.spawn(move || zero.exchange(LONG, make));
        let mut browser = loop {
            match TcpStream::connect(&places[0].master) {
                Ok(connection) => break connection,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        browser.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let error = places[1].exchange(LONG, || panic!("rank 0 makes it")).unwrap_err();
        assert_eq!(error.kind().to_string(), "no GPU");
        let own = zero.join().unwrap().unwrap_err();
        assert!(matches!(own.kind(), ErrorKind::Refused(_)), "{own}");
    });
}

#[test]
fn a_time_out_may_be_longer_than_clocks_count() {
    let places = job(2);
    let ids = std::thread::scope(|scope| {
        let exchange = |place: &Place| place.exchange(Duration::MAX, || Ok([8; 128])).unwrap();
        let threads: Vec<_> = places.iter().map(|place| scope.spawn(move || exchange(place))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(ids, [[8; 128]; 2]);
}

#[test]
fn the_place_is_read_as_launchers_write_it() {
    let read = |vars: &[(&str, &str)]| {
        let vars: HashMap<String, String> =
            vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Place::from_vars(|name| vars.get(name).cloned()).map_err(|error| error.kind().to_string())
    };
    let base = [("RANK", "5"), ("WORLD_SIZE", "8"), ("LOCAL_RANK", "1"), ("MASTER_ADDR", "node0")];
    let expected = Place { rank: 5, size: 8, local_rank: 1, master: "node0:29500".to_owned() };
    assert_eq!(read(&base), Ok(expected.clone()));
    let torchrun = [&base[..], &[("MASTER_PORT", "4000"), ("TORCHELASTIC_USE_AGENT_STORE", "True")]].concat();
    assert_eq!(read(&torchrun).unwrap().master, "node0:4001", "torchrun serves at the port itself");
    let alone = read(&[("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "::1")]).unwrap();
    assert_eq!((alone.local_rank, alone.master.as_str()), (1, "[::1]:29500"));
    let beyond =
        [&base[..], &[("MASTER_PORT", "4294967295"), ("TORCHELASTIC_USE_AGENT_STORE", "true")]].concat();
    assert!(read(&beyond).unwrap_err().contains("is no port"));
    let refused = |vars| read(vars).unwrap_err();
    assert_eq!(refused(&[]), "RANK is not set: no launcher has started this");
    assert_eq!(refused(&[("RANK", "x"), ("WORLD_SIZE", "2")]), "RANK=x is not a number");
    assert_eq!(refused(&[("RANK", "2"), ("WORLD_SIZE", "2")]), "RANK=2 is not below WORLD_SIZE=2");
}
