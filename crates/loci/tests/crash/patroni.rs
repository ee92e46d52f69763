//! Two PostgreSQL servers that Patroni keeps, with etcd and HAProxy as Debian has them, of which the
//! machine of the primary dies under clients of three front ends. loci knows the address of the proxy
//! alone. It runs where `LOCI_TEST_PATRONI` is the number of failovers, because each takes the half
//! minute after which Patroni gives a leader up.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loci_testkit::Random;
use loci_testkit::postgres::{as_server_words, free_port, new_folder, programs};

use crate::cluster::Cluster;
use crate::place::{Budget, report};

/// The longest wait for a leader, a standby or a first write.
const WAIT_MAX: Duration = Duration::from_mins(3);
/// The milliseconds of writes before a failover.
const WRITES: (usize, usize) = (500, 3_000);
const ETCD: &str = "/usr/bin/etcd";
const HAPROXY: &str = "/usr/sbin/haproxy";
const PATRONI: &str = "/usr/bin/patroni";

/// Runs a program and says its number, and ends it when the standard input ends.
const KEEPER: &str = r#"
"$@" </dev/null >>"$LOG" 2>&1 &
program=$!
echo $program
read -r _
kill -TERM $program 2>/dev/null
wait $program
"#;

/// A program that ends with this value, or with the process.
struct Kept {
    keeper: Child,
    process: u32,
}

impl Kept {
    fn start(words: &[String], log: &Path) -> Self {
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .args(words)
            .env("LOG", log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(keeper.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let process = line.trim().parse().unwrap();
        Kept { keeper, process }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A machine with Patroni and the server that it keeps. One called `first` or `any` would never confirm a
/// commit: PostgreSQL takes the name for a keyword, and Patroni 3.0 does not quote it.
struct Node {
    folder: PathBuf,
    port: u16,
    /// The port at which Patroni says what its server is.
    api: u16,
    patroni: Option<Kept>,
}

impl Node {
    fn new(name: &str, folder: &Path, etcd: u16) -> Self {
        let own = folder.join(name);
        fs::create_dir(&own).unwrap();
        let (port, api) = (free_port(), free_port());
        let programs = programs();
        let (place, programs) = (own.display(), programs.display());
        let settings = format!(
            "scope: loci\nname: {name}\n\
             restapi: {{listen: '127.0.0.1:{api}', connect_address: '127.0.0.1:{api}'}}\n\
             etcd3: {{hosts: '127.0.0.1:{etcd}'}}\n\
             bootstrap:\n  dcs:\n    synchronous_mode: true\n    postgresql: {{use_pg_rewind: true}}\n  \
             initdb: [{{encoding: UTF8}}, {{locale: C}}, data-checksums]\n  pg_hba:\n  \
             - host replication replicator 127.0.0.1/32 trust\n  - host all all 127.0.0.1/32 trust\n\
             postgresql:\n  listen: '127.0.0.1:{port}'\n  connect_address: '127.0.0.1:{port}'\n  \
             data_dir: '{place}/data'\n  bin_dir: '{programs}'\n  pgpass: '{place}/pgpass'\n  authentication:\n    \
             superuser: {{username: loci, password: unused}}\n    \
             replication: {{username: replicator, password: unused}}\n  \
             parameters: {{unix_socket_directories: '{place}', max_connections: 200}}\n"
        );
        fs::write(own.join("patroni.yml"), settings).unwrap();
        own_by_server(&own);
        Node {
            folder: own,
            port,
            api,
            patroni: None,
        }
    }

    fn start(&mut self) {
        let mut words = as_server(Path::new(PATRONI));
        words.push(self.folder.join("patroni.yml").display().to_string());
        self.patroni = Some(Kept::start(&words, &self.folder.join("log")));
    }

    /// Returns true if Patroni answers a path with success.
    fn is(&self, path: &str) -> bool {
        let asked = || -> std::io::Result<bool> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.api))?;
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply)?;
            Ok(reply.split(' ').nth(1) == Some("200"))
        };
        asked().unwrap_or(false)
    }

    /// Kills Patroni and all processes of its server at once, as when the machine dies.
    fn die(&mut self) {
        let file = self.folder.join("data/postmaster.pid");
        let server = fs::read_to_string(&file).unwrap();
        let server = server.lines().next().unwrap();
        let children = Command::new("ps")
            .args(["-o", "pid=", "--ppid", server])
            .output()
            .unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        let patroni = self.patroni.take().unwrap();
        let _ = Command::new("kill")
            .args(["-9", &patroni.process.to_string(), server])
            .args(children.split_whitespace())
            .stderr(Stdio::null())
            .status();
    }
}

fn as_server(program: &Path) -> Vec<String> {
    let words = as_server_words(program).into_iter();
    words.map(|word| word.into_string().unwrap()).collect()
}

/// Gives a folder and what is in it to the user of the server, who owns its parent.
fn own_by_server(folder: &Path) {
    let reference = format!("--reference={}", folder.parent().unwrap().display());
    let given = Command::new("chown")
        .args(["--recursive", &reference])
        .arg(folder)
        .status();
    assert!(given.unwrap().success());
}

/// The nodes, what they agree by, and the proxy before them.
struct Patroni {
    nodes: [Node; 2],
    _proxy: Kept,
    _etcd: Kept,
    /// The port of the proxy.
    port: u16,
    folder: PathBuf,
}

impl Patroni {
    fn start() -> Self {
        let folder = new_folder(true);
        let (etcd_port, peers) = (free_port(), free_port());
        let etcd_folder = folder.join("etcd");
        let mut words = as_server(Path::new(ETCD));
        words.extend([
            format!("--data-dir={}", etcd_folder.display()),
            format!("--listen-client-urls=http://127.0.0.1:{etcd_port}"),
            format!("--advertise-client-urls=http://127.0.0.1:{etcd_port}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peers}"),
        ]);
        let etcd = Kept::start(&words, &folder.join("etcd.log"));
        let mut nodes = ["alpha", "beta"].map(|name| Node::new(name, &folder, etcd_port));
        nodes[0].start();
        wait("a primary", || nodes[0].is("/primary"));
        nodes[1].start();
        wait("a standby that confirms", || nodes[1].is("/synchronous"));
        let made = Command::new(programs().join("createdb"))
            .args(["--host=127.0.0.1", "--username=loci"])
            .args([format!("--port={}", nodes[0].port), "loci".to_owned()])
            .status();
        assert!(made.unwrap().success());
        let port = free_port();
        let servers = nodes.each_ref().map(|node| {
            let (port, api) = (node.port, node.api);
            format!("  server s{port} 127.0.0.1:{port} maxconn 100 check port {api}\n")
        });
        // As Patroni's documentation has it.
        let settings = format!(
            "global\n  maxconn 500\ndefaults\n  mode tcp\n  retries 2\n  timeout client 30m\n  timeout connect 4s\n  \
             timeout server 30m\n  timeout check 5s\nlisten primary\n  bind 127.0.0.1:{port}\n  \
             option httpchk OPTIONS /primary\n  http-check expect status 200\n  \
             default-server inter 3s fall 3 rise 2 on-marked-down shutdown-sessions\n{}",
            servers.concat()
        );
        let file = folder.join("haproxy.cfg");
        fs::write(&file, settings).unwrap();
        let words = [HAPROXY, "-f"].map(str::to_owned);
        let words = [&words[..], &[file.display().to_string()]].concat();
        let proxy = Kept::start(&words, &folder.join("haproxy.log"));
        // It sends connections to both until it has asked Patroni.
        wait("the proxy", || {
            let asked = Command::new(programs().join("psql"))
                .args([
                    "--host=127.0.0.1",
                    "--username=loci",
                    "--tuples-only",
                    "--no-align",
                ])
                .args([
                    format!("--port={port}"),
                    "--command=SELECT pg_is_in_recovery()".to_owned(),
                ])
                .arg("loci")
                .stderr(Stdio::null())
                .output();
            asked.unwrap().stdout == b"f\n" && {
                let log = fs::read_to_string(folder.join("haproxy.log")).unwrap_or_default();
                log.contains("is DOWN")
            }
        });
        Patroni {
            nodes,
            _proxy: proxy,
            _etcd: etcd,
            port,
            folder,
        }
    }

    fn primary(&self) -> Option<usize> {
        self.nodes.iter().position(|node| node.is("/primary"))
    }
}

impl Drop for Patroni {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            node.patroni = None;
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < WAIT_MAX, "waited for {what}");
        pause();
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "Patroni says what it is only when it is asked"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(200));
}

/// Writes until something holds; returns when it did.
fn write_until(
    what: &str,
    cluster: &mut Cluster,
    random: &mut Random,
    mut holds: impl FnMut(&Cluster) -> bool,
) -> Instant {
    let begun = Instant::now();
    while !holds(cluster) {
        assert!(begun.elapsed() < WAIT_MAX, "waited for {what}");
        cluster.step(random);
    }
    Instant::now()
}

#[test]
fn what_was_acknowledged_outlives_failovers_of_patroni() {
    let Some(failovers) = std::env::var("LOCI_TEST_PATRONI")
        .ok()
        .and_then(|number| number.parse::<usize>().ok())
    else {
        return report("SKIPPED: failovers of Patroni are left to `just cluster`");
    };
    if ![ETCD, HAPROXY, PATRONI]
        .iter()
        .all(|program| Path::new(program).exists())
    {
        return report(
            "SKIPPED: install Debian's patroni, etcd-server and haproxy to try failovers of Patroni",
        );
    }
    let mut random = Budget::new("patroni").random;
    let mut patroni = Patroni::start();
    let store = format!(
        "postgres://loci@127.0.0.1:{}/loci?sslmode=disable",
        patroni.port
    );
    let mut cluster = Cluster::start(&store);
    let (mut promotions, mut successes) = (Vec::new(), Vec::new());
    for number in 1..=failovers {
        let (least, most) = WRITES;
        let writes = Duration::from_millis((least + random.below(most - least)) as u64);
        cluster.write_for(writes, &mut random);
        let dying = patroni.primary().unwrap();
        let killed = Instant::now();
        patroni.nodes[dying].die();
        let standby = &patroni.nodes[1 - dying];
        let promoted = write_until("a promotion", &mut cluster, &mut random, |_| {
            standby.is("/primary")
        });
        promotions.push(promoted - killed);
        let written = write_until("a write", &mut cluster, &mut random, |cluster| {
            cluster.last_success.is_some_and(|last| last > promoted)
        });
        successes.push(written - promoted);
        cluster.write_for(Duration::from_millis(300), &mut random);
        let server = &patroni.nodes[1 - dying];
        cluster.check(&format!(
            "postgres://loci@127.0.0.1:{}/loci?sslmode=disable",
            server.port
        ));
        let back = &mut patroni.nodes[dying];
        back.start();
        if number < failovers {
            wait("the former primary as a standby", || {
                back.is("/synchronous")
            });
        }
    }
    promotions.sort_unstable();
    successes.sort_unstable();
    report(&format!(
        "patroni: {failovers} failovers under {} clients, {} calls acknowledged, {} refused, {} left open; promoted \
         within {:?} (half within {:?}); the first success at the latest {:?} after that (half within {:?})",
        cluster.clients(),
        cluster.ledger.acknowledged,
        cluster.refused.len(),
        cluster.unknown.len(),
        promotions.last().unwrap(),
        promotions[failovers / 2],
        successes.last().unwrap(),
        successes[failovers / 2],
    ));
    assert!(cluster.ledger.acknowledged > failovers as u64);
}
