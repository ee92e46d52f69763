//! A proxy before a PostgreSQL server that cuts connections around their commits.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use loci_testkit::Random;

/// The message that commits, as a client sends it.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
/// The beginning of the answer.
const COMMITTED: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
/// Of a hundred commits, so many are cut.
const CUT_PERCENT: usize = 25;

/// Where a connection is cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// The server never gets the commit.
    Before,
    /// The server gets it, and the client is gone when it answers.
    Within,
    /// The server has answered, and the client does not get the answer.
    After,
}

/// The proxy. It ends with the process.
pub struct Proxy {
    /// The port on the loopback address.
    pub port: u16,
    state: Arc<State>,
}

struct State {
    is_cutting: AtomicBool,
    /// The numbers of cuts, by their places.
    cuts: [AtomicUsize; 3],
    random: Mutex<Random>,
}

impl Proxy {
    /// Starts one that cuts nothing yet.
    pub fn start(server: u16, seed: u64) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            is_cutting: AtomicBool::new(false),
            cuts: [const { AtomicUsize::new(0) }; 3],
            random: Mutex::new(Random::new(seed)),
        });
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let state = Arc::clone(&shared);
                if let Ok(server) = TcpStream::connect(("127.0.0.1", server)) {
                    thread::spawn(move || pass(client, server, &state));
                }
            }
        });
        Proxy { port, state }
    }

    /// Starts or ends to cut connections.
    pub fn cut(&self, is_cutting: bool) {
        self.state.is_cutting.store(is_cutting, Ordering::SeqCst);
    }

    /// Returns how many were cut before a commit, in one and after one.
    pub fn cuts(&self) -> [usize; 3] {
        let cuts = self.state.cuts.each_ref();
        cuts.map(|number| number.load(Ordering::SeqCst))
    }
}

impl State {
    /// Returns where the connection with the commit that comes now is cut, if it is.
    fn choose(&self) -> Option<Cut> {
        if !self.is_cutting.load(Ordering::SeqCst) {
            return None;
        }
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let places = [Cut::Before, Cut::Within, Cut::After];
        let cut = random.chance(CUT_PERCENT).then(|| random.pick(&places))?;
        self.cuts[cut as usize].fetch_add(1, Ordering::SeqCst);
        Some(cut)
    }
}

/// Passes on what a client and the server say, until one side ends or the connection is cut.
fn pass(client: TcpStream, server: TcpStream, state: &State) {
    let is_cut_after = AtomicBool::new(false);
    let close = || {
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    thread::scope(|scope| {
        scope.spawn(|| {
            each_part(&server, |part| {
                let is_over =
                    is_cut_after.load(Ordering::SeqCst) && place(part, COMMITTED).is_some();
                !is_over && (&client).write_all(part).is_ok()
            });
            close();
        });
        each_part(&client, |part| {
            let cut = place(part, COMMIT).and_then(|at| Some((at, state.choose()?)));
            match cut {
                Some((at, Cut::Before)) => {
                    let _ = (&server).write_all(&part[..at]);
                    false
                }
                Some((at, Cut::Within)) => {
                    let _ = (&server).write_all(&part[..at + COMMIT.len()]);
                    false
                }
                Some((_, Cut::After)) => {
                    is_cut_after.store(true, Ordering::SeqCst);
                    (&server).write_all(part).is_ok()
                }
                None => (&server).write_all(part).is_ok(),
            }
        });
        close();
    });
}

/// Takes what a stream says, part by part, until it ends or is no longer wanted.
fn each_part(mut stream: &TcpStream, mut take: impl FnMut(&[u8]) -> bool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length) = stream.read(&mut buffer) {
        if length == 0 || !take(&buffer[..length]) {
            return;
        }
    }
}

fn place(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|found| found == part)
}
