//! A PostgreSQL server for tests: the one that `LOCI_TEST_POSTGRES` names, the coordinator of a cluster
//! that `LOCI_TEST_CITUS` names, or one that is started for the test process and ends with it.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The variable with the URL of a server.
pub const URL_VARIABLE: &str = "LOCI_TEST_POSTGRES";
/// The variable with the URL of the coordinator of a cluster with Citus, whose database has the
/// extension.
pub const CLUSTER_VARIABLE: &str = "LOCI_TEST_CITUS";
/// The variable with the folder of the programs of a server that tests start.
pub const PROGRAMS_VARIABLE: &str = "LOCI_TEST_POSTGRES_BIN";

/// The variable with which the stores of tests have row security, as a role that it binds.
pub const ROW_SECURITY_VARIABLE: &str = "LOCI_TEST_ROW_SECURITY";
/// The role that owns the database of the tests and is no superuser.
pub const PLAIN_ROLE: &str = "loci_plain";

/// The time that a server may take to start.
const START_MAX: Duration = Duration::from_mins(1);
/// The user and the group as which a server runs, where the tests run as root: it refuses root.
const USER: &str = "postgres";

/// Returns the URL of a server on which the tests may create schemas. Starts one, once for the
/// process, if no variable names one.
pub fn server_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    static SERVER: OnceLock<Server> = OnceLock::new();
    let named = || std::env::var(URL_VARIABLE).ok().or_else(cluster_url);
    URL.get_or_init(|| match named() {
        Some(url) => url,
        None => SERVER
            .get_or_init(|| Server::start(&Setup::default()))
            .url
            .clone(),
    })
}

/// Returns the URL of the coordinator of a cluster, if there is one for this run.
pub fn cluster_url() -> Option<String> {
    std::env::var(CLUSTER_VARIABLE).ok()
}

/// Returns true if the stores of this run are distributed, because no variable names another server.
pub fn has_cluster() -> bool {
    std::env::var_os(URL_VARIABLE).is_none() && std::env::var_os(CLUSTER_VARIABLE).is_some()
}

/// Returns the variable that names the server of this run to another process.
pub fn server_variable() -> &'static str {
    if has_cluster() {
        CLUSTER_VARIABLE
    } else {
        URL_VARIABLE
    }
}

/// Returns that URL for the role that is no superuser.
pub fn plain_server_url() -> String {
    plain(server_url())
}

/// Returns true if the stores of this run shall have row security.
pub fn has_row_security() -> bool {
    std::env::var(ROW_SECURITY_VARIABLE).is_ok_and(|value| value == "1")
}

/// Returns the URL and whether row security is on for a store of this run, on a server.
pub fn chosen(url: &str) -> (String, bool) {
    if has_row_security() {
        (plain(url), true)
    } else {
        (url.to_owned(), false)
    }
}

/// Puts the role that is no superuser in the place of the user of a URL.
fn plain(url: &str) -> String {
    match (url.split_once("://"), url.split_once('@')) {
        (Some((scheme, _)), Some((_, place))) => format!("{scheme}://{PLAIN_ROLE}@{place}"),
        _ => panic!("the URL of the server names no user"),
    }
}

/// The set-up of a server.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// True if it flushes what it acknowledges.
    pub fsync: bool,
    /// Lines of `pg_hba.conf` that come before the one which trusts every local user.
    pub access: Vec<String>,
    /// Settings with their values.
    pub settings: Vec<(String, String)>,
    /// Files that lie in the folder of its data and belong to its user, with their contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// The folder of its programs, if not that of the variable or of the newest server.
    pub programs: Option<PathBuf>,
}

/// A server that ends when this value is dropped, or when the process ends, however it does.
#[derive(Debug)]
pub struct Server {
    /// The URL of its database.
    pub url: String,
    /// The port on the loopback address.
    pub port: u16,
    folder: PathBuf,
    programs: PathBuf,
    /// A shell that stops the server and removes its folder when its standard input is closed.
    keeper: Child,
}

impl Server {
    /// Starts a server in a folder of its own.
    pub fn start(setup: &Setup) -> Self {
        let programs = setup.programs.clone().unwrap_or_else(programs);
        let folder = new_folder(setup.fsync);
        fill_folder(&folder, &programs, setup);
        let server = Server::run(folder, programs, free_port(), setup);
        run(Command::new(server.programs.join("createuser"))
            .args(server.place())
            .arg(PLAIN_ROLE));
        run(Command::new(server.programs.join("createdb"))
            .args(server.place())
            .args(["--owner", PLAIN_ROLE, "loci"]));
        server
    }

    /// Starts a standby of this server at a port, or at any that is free: it takes over all that this
    /// server writes from now on.
    #[must_use]
    pub fn start_standby(&self, port: Option<u16>) -> Self {
        let folder = new_folder(true);
        let port = port.unwrap_or_else(free_port);
        run(as_server(&self.programs.join("pg_basebackup"))
            .current_dir(&folder)
            .args(self.place())
            .args(["--checkpoint=fast", "--no-sync", "--write-recovery-conf"])
            .args(["--create-slot", &format!("--slot=standby_{port}")])
            .arg("--pgdata")
            .arg(folder.join("data")));
        let setup = Setup {
            fsync: true,
            ..Setup::default()
        };
        Server::run(folder, self.programs.clone(), port, &setup)
    }

    /// Starts the server whose data lie in a folder.
    fn run(folder: PathBuf, programs: PathBuf, port: u16, setup: &Setup) -> Self {
        let flush = if setup.fsync { "on" } else { "off" };
        let mut settings = vec![
            format!("listen_addresses={HOST}"),
            format!("port={port}"),
            format!("fsync={flush}"),
            format!("full_page_writes={flush}"),
            format!("unix_socket_directories={}", folder.display()),
            "max_connections=1000".to_owned(),
            "max_wal_size=256MB".to_owned(),
        ];
        settings.extend(
            setup
                .settings
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&folder)
            .args(as_server_words(&programs.join("postgres")))
            .arg("-D")
            .arg(folder.join("data"))
            .args(settings.iter().flat_map(|setting| ["-c", setting]))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        let server = Server {
            url: format!("postgres://loci@{HOST}:{port}/loci"),
            port,
            folder,
            programs,
            keeper,
        };
        server.wait_until_ready();
        server
    }

    /// Runs a statement in the database of the tests; returns what it finds, a line for each row.
    pub fn sql(&self, statement: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(self.place())
            .args(["--no-psqlrc", "--tuples-only", "--no-align", "--quiet"])
            .args(["--set=ON_ERROR_STOP=1", "--command", statement, "loci"])
            .output()
            .expect("psql can be started");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {told}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Lets the server acknowledge a commit only when one of its standbys has it, and waits until it
    /// does so.
    pub fn require_standby(&self) {
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
        self.sql("SELECT pg_reload_conf()");
        let begin = Instant::now();
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1"
        {
            assert!(begin.elapsed() < START_MAX, "no standby is synchronous");
            pause();
        }
        // The process that makes checkpoints tells the others of the setting, and does so first.
        self.sql("CHECKPOINT");
    }

    /// Makes a standby the primary, and returns when it is one.
    pub fn promote(&self) {
        run(as_server(&self.programs.join("pg_ctl"))
            .args(["promote", "--wait", "--silent", "--pgdata"])
            .arg(self.folder.join("data")));
    }

    /// Kills all processes of the server at once, and waits until its port is free.
    pub fn kill(&self) {
        self.signal("KILL");
        // Its number may soon be another process's.
        let _ = fs::remove_file(self.postmaster_file());
        let begin = Instant::now();
        while TcpStream::connect((HOST, self.port)).is_ok() {
            assert!(begin.elapsed() < START_MAX, "the server does not end");
            pause();
        }
    }

    /// Stops all processes of the server, which then answer nothing and lose nothing.
    pub fn freeze(&self) {
        let frozen = self.processes().join(" ");
        fs::write(self.folder.join("frozen"), frozen).expect("the folder can be written");
        self.signal("STOP");
    }

    /// Lets the processes go on after [`Server::freeze`].
    pub fn thaw(&self) {
        self.signal("CONT");
    }

    /// Sends a signal to all processes of the server.
    fn signal(&self, signal: &str) {
        // One of them may have ended by itself.
        let _ = Command::new("kill")
            .arg(format!("-{signal}"))
            .args(self.processes())
            .stderr(Stdio::null())
            .status();
    }

    /// Returns the numbers of the processes of the server.
    fn processes(&self) -> Vec<String> {
        let file = fs::read_to_string(self.postmaster_file()).expect("the server runs");
        let first = file.lines().next().expect("the file has a line").to_owned();
        let output = Command::new("ps")
            .args(["-o", "pid=", "--ppid", &first])
            .output()
            .expect("ps can be started");
        let others = String::from_utf8_lossy(&output.stdout);
        let others = others.split_whitespace().map(str::to_owned);
        std::iter::once(first).chain(others).collect()
    }

    fn postmaster_file(&self) -> PathBuf {
        self.folder.join("data").join("postmaster.pid")
    }

    /// Returns what the server has logged since its first start.
    pub fn log(&self) -> String {
        let file = format!("{}.log", self.folder.display());
        fs::read_to_string(file).expect("the log can be read")
    }

    /// Stops the server, as after a crash if `at_once`, and starts it again at the same place.
    pub fn restart(&self, at_once: bool) {
        let mode = if at_once { "immediate" } else { "fast" };
        run(as_server(&self.programs.join("pg_ctl"))
            .args(["restart", "--wait", "--silent", "--mode", mode, "--pgdata"])
            .arg(self.folder.join("data"))
            .arg("--log")
            .arg(self.folder.join("log"))
            .stdin(Stdio::null()));
        self.wait_until_ready();
    }

    /// Starts the server again as a standby of a primary that is not there, so that it only reads.
    pub fn become_standby(&self) {
        let mark = self.folder.join("data").join("standby.signal");
        fs::write(&mark, "").expect("the folder can be written");
        give(&mark);
        self.restart(false);
    }

    /// Starts the server again as a primary after [`Server::become_standby`].
    pub fn become_primary(&self) {
        let mark = self.folder.join("data").join("standby.signal");
        fs::remove_file(mark).expect("the server is a standby");
        self.restart(false);
    }

    fn place(&self) -> [String; 3] {
        [
            format!("--host={HOST}"),
            format!("--port={}", self.port),
            "--username=loci".to_owned(),
        ]
    }

    fn wait_until_ready(&self) {
        let begin = Instant::now();
        let is_ready = || {
            let mut ready = Command::new(self.programs.join("pg_isready"));
            ready.args(self.place()).stdout(Stdio::null());
            ready.status().is_ok_and(|status| status.success())
        };
        while !is_ready() {
            assert!(begin.elapsed() < START_MAX, "the server does not start");
            pause();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// A PgBouncer before a server, which gives each transaction any of its connections. It ends when
/// this value is dropped, or when the process ends, however it does.
#[derive(Debug)]
pub struct Pooler {
    /// The URL of the database of the server, by way of the pooler.
    pub url: String,
    /// The same for the role that is no superuser.
    pub plain_url: String,
    /// A shell that stops the pooler when its standard input is closed.
    keeper: Child,
}

impl Pooler {
    /// Starts a pooler with so many connections to the server; `None` if none is installed.
    pub fn start(server: &Server, connections: usize) -> Option<Self> {
        const PROGRAM: &str = "/usr/sbin/pgbouncer";
        if !Path::new(PROGRAM).exists() {
            return None;
        }
        let port = free_port();
        let port_of_server = server.port;
        let settings = server.folder.join(format!("pooler-{port}.ini"));
        let content = format!(
            "[databases]\nloci = host={HOST} port={port_of_server} dbname=loci user=loci\n\
             plain = host={HOST} port={port_of_server} dbname=loci user={PLAIN_ROLE}\n\
             [pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n\
             pool_mode = transaction\nmax_client_conn = 1000\ndefault_pool_size = {connections}\n"
        );
        fs::write(&settings, content).expect("the folder can be written");
        give(&settings);
        let keeper = Command::new("sh")
            .args(["-c", KEEPER_OF_POOLER, "keeper"])
            .args(as_server_words(Path::new(PROGRAM)))
            .arg("--quiet")
            .arg(&settings)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("a shell can be started");
        let begin = Instant::now();
        while TcpStream::connect((HOST, port)).is_err() {
            assert!(begin.elapsed() < START_MAX, "the pooler does not start");
            pause();
        }
        Some(Pooler {
            url: format!("postgres://loci@{HOST}:{port}/loci"),
            plain_url: format!("postgres://{PLAIN_ROLE}@{HOST}:{port}/plain"),
            keeper,
        })
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Runs the pooler, and stops it when its standard input ends.
const KEEPER_OF_POOLER: &str = r#"
"$@" </dev/null &
pooler=$!
read -r _
kill -TERM $pooler
wait $pooler
"#;

/// Makes the folder of a server, which belongs to its user; on a disk if it shall flush. The caller
/// removes it.
pub fn new_folder(fsync: bool) -> PathBuf {
    let parent = match in_memory() {
        Some(parent) if !fsync => parent,
        // Where the tests run as root, the folder for temporary files may be closed to other users.
        _ if is_root() => PathBuf::from("/tmp"),
        _ => std::env::temp_dir(),
    };
    let folder = tempfile::Builder::new()
        .prefix("loci-postgres-")
        .tempdir_in(parent)
        .expect("a folder for the server can be made")
        .keep();
    give(&folder);
    folder
}

/// Makes the data of a new server in its folder.
fn fill_folder(folder: &Path, programs: &Path, setup: &Setup) {
    let data = folder.join("data");
    run(as_server(&programs.join("initdb"))
        .current_dir(folder)
        .args(["--username=loci", "--auth=trust", "--no-sync"])
        .args(["--encoding=UTF8", "--locale=C", "--wal-segsize=1"])
        .arg("--pgdata")
        .arg(&data));
    let access = data.join("pg_hba.conf");
    let trusting = fs::read_to_string(&access).expect("the folder can be read");
    let lines = format!("{}\n{trusting}", setup.access.join("\n"));
    fs::write(&access, lines).expect("the folder can be written");
    for (name, content) in &setup.files {
        let file = data.join(name);
        fs::write(&file, content).expect("the folder can be written");
        run(Command::new("chmod").arg("600").arg(&file));
        give(&file);
    }
}

/// Returns a folder that lies in memory, if it has room for a server. The tables of a store are many
/// files, which cost most of the time of a short test on a disk.
fn in_memory() -> Option<PathBuf> {
    const FOLDER: &str = "/dev/shm";
    const KIBIBYTES_MIN: u64 = 2 << 20;
    let output = Command::new("df").args(["-Pk", FOLDER]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let free: u64 = text
        .lines()
        .nth(1)?
        .split_whitespace()
        .nth(3)?
        .parse()
        .ok()?;
    (free >= KIBIBYTES_MIN).then(|| FOLDER.into())
}

/// Gives a file to the user of the server.
fn give(path: &Path) {
    if is_root() {
        run(Command::new("chown").arg(USER).arg(path));
    }
}

/// The address at which servers listen.
const HOST: &str = "127.0.0.1";

/// Runs the server, and stops it when its standard input ends. The first argument is the folder.
/// After a restart the server is another process, so that its file tells that it has ended. A server
/// that was stopped for a while goes on before it ends.
const KEEPER: &str = r#"
folder=$1; shift
"$@" </dev/null 2>"$folder.log" &
server=$!
read -r _
[ ! -e "$folder/frozen" ] || kill -CONT $(cat "$folder/frozen") 2>/dev/null
kill -INT "$(head -n 1 "$folder/data/postmaster.pid" 2>/dev/null)" 2>/dev/null || kill -INT $server 2>/dev/null
wait $server
tries=100
while [ -e "$folder/data/postmaster.pid" ] && [ "$tries" -gt 0 ]; do sleep 0.1; tries=$((tries - 1)); done
rm -rf "$folder" "$folder.log"
"#;

/// Returns the folder with the programs that the variable names, or the newest server's.
pub fn programs() -> PathBuf {
    let named = std::env::var_os(PROGRAMS_VARIABLE).map(PathBuf::from);
    named.or_else(newest).unwrap_or_else(|| {
        panic!(
            "no PostgreSQL server: install the package `postgresql`, or set {URL_VARIABLE} to the URL of one"
        )
    })
}

/// The folder in which Debian's packages install servers, one for each version.
pub const INSTALLED: &str = "/usr/lib/postgresql";

/// Returns the folder with the programs of the newest server that Debian's packages installed.
pub fn newest() -> Option<PathBuf> {
    let version = |folder: &PathBuf| {
        let name = folder.parent()?.file_name()?.to_str()?.to_owned();
        name.parse::<u32>().ok()
    };
    let folders = fs::read_dir(INSTALLED).into_iter().flatten();
    folders
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| folder.join("initdb").exists())
        .max_by_key(version)
}

fn is_root() -> bool {
    let mut id = Command::new("id");
    id.arg("-u")
        .output()
        .is_ok_and(|output| output.stdout == b"0\n")
}

/// Returns the words of a command that runs a program as the user of the server.
pub fn as_server_words(program: &Path) -> Vec<std::ffi::OsString> {
    let mut words = Vec::new();
    if is_root() {
        let flags = [
            "setpriv",
            "--reuid",
            USER,
            "--regid",
            USER,
            "--clear-groups",
        ];
        words.extend(flags.map(std::ffi::OsString::from));
    }
    words.push(program.into());
    words
}

fn as_server(program: &Path) -> Command {
    let mut words = as_server_words(program).into_iter();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program can be started");
    assert!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns a port of the loopback address on which nothing listens.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((HOST, 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server that starts shows no other sign"
)]
fn pause() {
    std::thread::sleep(Duration::from_millis(50));
}
