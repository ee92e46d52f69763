use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::program::{Place, ended};

/// A running `loci serve`; killed when dropped.
pub struct Server {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// Its output on stderr until it listened.
    said: String,
    /// The first line on stdout.
    line: String,
    address: String,
}

impl Server {
    pub fn start(place: &Place, arguments: &[&str]) -> Self {
        Server::start_at(place, "127.0.0.1:0", arguments)
    }

    fn start_at(place: &Place, bind: &str, arguments: &[&str]) -> Self {
        let arguments = [&["serve", "--bind", bind], arguments].concat();
        let mut child = place.command(&arguments).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let mut said = String::new();
        while !said.contains("`loci connect --http ") {
            assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
        }
        let address = said
            .split("://")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned();
        Server {
            child,
            stderr,
            said,
            line,
            address,
        }
    }

    /// Calls a tool of a set; returns the result.
    pub fn call_in(&self, set: &str, token: &str, tool: &str, arguments: &Value) -> Value {
        let (head, body) = self.request(Some(token), tool, arguments);
        let head = head.replacen("/mcp/mememory", &format!("/mcp/{set}"), 1);
        let (status, reply) = self.sent(&head, &body);
        let json = reply.split("\r\n\r\n").nth(1).unwrap_or_default();
        let reply: Value = serde_json::from_str(json).unwrap_or_default();
        assert_eq!(
            (status, &reply["result"]["isError"]),
            (200, &json!(false)),
            "{tool}: {reply}"
        );
        reply["result"]["structuredContent"].clone()
    }

    /// Calls a tool; returns status and body.
    pub fn call(&self, token: Option<&str>, tool: &str, arguments: &Value) -> (u16, String) {
        let (head, body) = self.request(token, tool, arguments);
        self.sent(&head, &body)
    }

    /// Calls a tool as the client of that name, by the revision of the protocol in which each
    /// request names its client.
    fn call_as(&self, client: &str, tool: &str) -> (u16, String) {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "arguments": {}, "_meta": meta});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            .to_string();
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        );
        self.sent(&self.head(&headers, &body), &body)
    }

    /// The address, as a browser names it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks for what lies at a path; returns status and reply.
    pub fn get(&self, token: Option<&str>, path: &str) -> (u16, String) {
        let authorization = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        self.get_with(&authorization, path)
    }

    /// Does the same with these headers.
    pub fn get_with(&self, headers: &str, path: &str) -> (u16, String) {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}Connection: close\r\n\r\n",
            self.address
        );
        self.sent(&head, "")
    }

    /// Makes a change of the page; returns status and reply.
    pub fn change(&self, token: &str, path: &str, fields: &Value) -> (u16, String) {
        let headers =
            format!("Authorization: Bearer {token}\r\nContent-Type: application/json\r\n");
        self.post(&format!("/api/v1{path}"), &headers, fields.to_string())
    }

    /// Sends a body to a path with these headers; returns status and reply.
    pub fn post(&self, path: &str, headers: &str, body: impl AsRef<[u8]>) -> (u16, String) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.as_ref().len()
        );
        self.sent(&head, body)
    }

    /// Sends a request; returns status and reply.
    fn sent(&self, head: &str, body: impl AsRef<[u8]>) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let request = [head.as_bytes(), body.as_ref()].concat();
        stream.write_all(&request).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        (reply.split(' ').nth(1).unwrap().parse().unwrap(), reply)
    }

    /// Returns head and body of a tool call.
    fn request(&self, token: Option<&str>, tool: &str, arguments: &Value) -> (String, String) {
        let params = json!({"name": tool, "arguments": arguments});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
            .to_string();
        let authorization = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        (self.head(&authorization, &body), body)
    }

    /// Returns the head of a request with further headers.
    fn head(&self, headers: &str, body: &str) -> String {
        format!(
            "POST /mcp/mememory HTTP/1.1\r\nHost: {}\r\n{headers}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        )
    }
}

impl Server {
    /// Kills it, without a chance to write anything.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

#[test]
fn the_first_start_makes_a_token_and_prints_the_line() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let file = place.data().join("token");
    let secret = fs::read_to_string(&file).unwrap().trim().to_owned();
    let url = format!("http://{}/mcp/mememory", server.address);
    let header = format!(
        "--header \"Authorization: Bearer $(cat '{}')\"",
        file.display()
    );
    assert_eq!(
        server.line,
        format!("claude mcp add --scope user --transport http loci {url} {header}\n")
    );
    assert!(!server.said.contains(&secret), "{}", server.said);
    let (path, connect) = (
        server.said.find("on your path: `install"),
        server.said.find("`loci connect`"),
    );
    assert!(path.is_some() && path < connect, "{}", server.said);
    #[cfg(unix)]
    assert_eq!(crate::program::mode(&file), 0o600);

    assert_eq!(server.call(None, "stats", &json!({})).0, 401);
    assert_eq!(server.call(Some("loci_wrong"), "stats", &json!({})).0, 401);
    let (status, reply) = server.call(Some(&secret), "remember", &json!({"content": "Fridays"}));
    assert!(status == 200 && reply.contains("Fridays"), "{reply}");
    // Another process sees the memory, and its writes are seen here.
    assert_eq!(place.json(&["stats"])["total"], 1);
    place.add(&["Mondays"]);
    assert!(
        server
            .call(Some(&secret), "list", &json!({}))
            .1
            .contains("Mondays")
    );

    let tokens = place.rows(&["token", "list"]);
    place
        .run(&["token", "revoke", tokens[0]["id"].as_str().unwrap()])
        .succeeded();
    assert_eq!(server.call(Some(&secret), "stats", &json!({})).0, 401);
}

#[cfg(unix)]
#[test]
fn a_server_whose_data_folder_is_moved_acknowledges_nothing() {
    let place = Place::new();
    let mut server = Server::start(&place, &["--no-auth"]);
    let remember = |server: &Server, content| {
        server
            .call(None, "remember", &json!({"content": content}))
            .1
    };
    let ready = |server: &Server| -> String {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(
            stream,
            "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        reply.split(' ').nth(1).unwrap().to_owned()
    };
    assert!(remember(&server, "kept").contains("kept"));
    assert_eq!(ready(&server), "200");
    let elsewhere = place.data().with_file_name("elsewhere");
    fs::rename(place.data(), &elsewhere).unwrap();
    assert_eq!(ready(&server), "503");
    for _ in 0..3 {
        let refused = remember(&server, "lost");
        assert!(
            refused.contains("was moved, deleted or replaced while loci has it open"),
            "{refused}"
        );
        assert!(refused.contains("\"unavailable\""), "{refused}");
    }
    fs::rename(&elsewhere, place.data()).unwrap();
    assert_eq!(ready(&server), "200");
    assert!(remember(&server, "kept as well").contains("kept as well"));
    let found = place.rows(&["list"]).to_string();
    assert!(
        found.contains("kept as well") && !found.contains("lost"),
        "{found}"
    );

    server.child.kill().unwrap();
    let mut log = String::new();
    server.stderr.read_to_string(&mut log).unwrap();
    assert_eq!(
        log.matches("was moved, deleted or replaced").count(),
        1,
        "once: {log}"
    );
}

#[test]
fn later_starts_name_the_file_of_the_token() {
    let place = Place::new();
    drop(Server::start(&place, &[]));
    let secret = fs::read_to_string(place.data().join("token"))
        .unwrap()
        .trim()
        .to_owned();
    let server = Server::start(&place, &[]);
    assert!(!server.line.contains(&secret) && !server.said.contains(&secret));
    assert!(
        server.line.contains("$(cat '") && server.said.contains("token"),
        "{}",
        server.line
    );
    assert_eq!(server.call(Some(&secret), "stats", &json!({})).0, 200);
    assert_eq!(place.rows(&["token", "list"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_start_between_file_and_record_is_made_up_for() {
    let place = Place::new();
    let secret = format!("loci_{}", "0123456789abcdef".repeat(4));
    place.write("data/token", &secret);
    let server = Server::start(&place, &[]);
    assert_eq!(server.call(Some(&secret), "stats", &json!({})).0, 200);
}

#[test]
fn a_token_file_without_a_token_is_refused() {
    let place = Place::new();
    place.write("data/token", "sesame");
    place
        .run(&["serve", "--bind", "127.0.0.1:0"])
        .failed(4, "holds no token");
}

#[test]
fn tokens_of_others_leave_the_owner_a_way_in() {
    let place = Place::new();
    let secret = place
        .run(&["token", "create", "--subject", "ann", "--scopes", "read"])
        .succeeded()
        .stdout;
    let server = Server::start(&place, &[]);
    assert!(server.line.contains("$(cat '"), "{}", server.line);
    let owners = fs::read_to_string(place.data().join("token")).unwrap();
    assert_eq!(server.call(Some(owners.trim()), "stats", &json!({})).0, 200);
    assert!(
        place
            .run(&["page", "--print"])
            .succeeded()
            .stdout
            .contains("code=")
    );
    assert_eq!(server.call(Some(secret.trim()), "stats", &json!({})).0, 200);
    let (_, reply) = server.call(Some(secret.trim()), "remember", &json!({"content": "a"}));
    assert!(reply.contains("forbidden"), "{reply}");
}

#[test]
fn without_authentication_on_loopback_alone() {
    let place = Place::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        place
            .run(&["serve", "--no-auth", "--bind", address])
            .failed(2, "--no-auth");
    }
    assert!(!place.data().exists());
    let server = Server::start(&place, &["--no-auth"]);
    assert!(!server.line.contains("Bearer"), "{}", server.line);
    assert_eq!(server.call(None, "stats", &json!({})).0, 200);
    assert!(!place.data().join("token").exists());
}

#[test]
fn clients_over_http_are_recorded() {
    let place = Place::new();
    let server = Server::start(&place, &["--no-auth"]);
    assert_eq!(server.call_as("claude-code", "stats").0, 200);
    // Before 2026-07-28, a client names itself once in a session, which the server does not keep.
    let (_, body) = server.request(None, "stats", &json!({}));
    for agent in ["User-Agent: codex-mcp-client/0.169.0 (linux)\r\n", ""] {
        assert_eq!(server.sent(&server.head(agent, &body), &body).0, 200);
    }
    let read =
        |path: PathBuf| -> Option<Value> { serde_json::from_slice(&fs::read(path).ok()?).ok() };
    let begin = Instant::now();
    let mut clients: Vec<Value> = Vec::new();
    while clients.len() < 3 {
        assert!(begin.elapsed() < Duration::from_mins(1), "{clients:?}");
        thread::yield_now();
        let files = fs::read_dir(place.data().join("clients"));
        let files = files.into_iter().flatten().flatten();
        clients = files.filter_map(|file| read(file.path())).collect();
    }
    assert!(clients.iter().all(|call| call["transport"] == "http"));
    let mut names: Vec<_> = clients.iter().map(|call| call["client"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, [None, Some("claude-code"), Some("codex-mcp-client")]);
}

#[test]
fn the_url_that_is_printed_is_served() {
    let place = Place::new();
    let mut addresses = vec!["127.0.0.1:0".to_owned()];
    if cfg!(target_os = "linux") {
        addresses.push("127.0.0.2:0".to_owned());
    }
    // The address from which this machine would reach others, if it has one; nothing is sent.
    let route = UdpSocket::bind("0.0.0.0:0")
        .and_then(|socket| socket.connect("192.0.2.1:9").map(|()| socket));
    addresses.extend(
        route
            .and_then(|socket| socket.local_addr())
            .map(|address| format!("{}:0", address.ip()))
            .ok(),
    );
    for address in addresses {
        let server = Server::start_at(&place, &address, &[]);
        let secret = fs::read_to_string(place.data().join("token"))
            .unwrap()
            .trim()
            .to_owned();
        let (status, reply) = server.call(Some(&secret), "stats", &json!({}));
        assert_eq!(status, 200, "{address}: {reply}");
    }
}

#[test]
fn all_addresses_are_served_under_allowed_names_alone() {
    let place = Place::new().with("LOCI_ALLOWED_HOSTS", "memory.example.org");
    let mut server = Server::start_at(&place, "0.0.0.0:0", &[]);
    while !server.said.contains("allowed_hosts") {
        assert!(
            server.stderr.read_line(&mut server.said).unwrap() > 0,
            "it ended: {}",
            server.said
        );
    }
    assert!(
        server
            .said
            .contains("localhost, 127.0.0.1, [::1], memory.example.org"),
        "{}",
        server.said
    );
    let secret = fs::read_to_string(place.data().join("token"))
        .unwrap()
        .trim()
        .to_owned();
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(server.call(Some(&secret), "stats", &json!({})).0, 200);
}

#[test]
fn addresses_that_cannot_be_used() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    place
        .run(&["serve", "--bind", &address])
        .failed(6, "another port with --bind");
    // `loci page` has no such flag.
    let mut page = place.command(&["page", "--print"]);
    let page = page.env("LOCI_BIND", &address).spawn().unwrap();
    ended(page).failed(6, "another port with the setting `bind` (LOCI_BIND)");
    place
        .run(&["serve", "--bind", "192.0.2.1:7821"])
        .failed(6, "192.0.2.1:7821");
    place
        .run(&["serve", "--bind", "everywhere"])
        .failed(2, "`bind` (flag --bind) is `everywhere`");
    assert!(!place.data().exists());
}

#[test]
fn the_page_of_a_running_server_is_found_whatever_its_port_is() {
    let place = Place::new();
    let print = || place.run(&["page", "--print"]).succeeded().stdout;
    let mut first = Server::start(&place, &[]);
    let second = Server::start(&place, &[]);
    let url = print();
    assert!(
        url.starts_with(&format!("http://{}/", first.address)),
        "{url}"
    );
    assert!(url.contains("code="), "{url}");
    let asked = place.run(&["doctor", "--server"]).succeeded().stdout;
    assert!(asked.contains(&first.address), "{asked}");
    // It is killed, and leaves its files. The other one is there for the page then.
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while !print_at(&place, "127.0.0.1:1").contains(&second.address) {
        assert!(Instant::now() < deadline);
    }
}

/// Returns the output of `loci page`, whose own server could only be at this address.
fn print_at(place: &Place, bind: &str) -> String {
    let mut page = place.command(&["page", "--print"]);
    ended(page.env("LOCI_BIND", bind).spawn().unwrap()).stdout
}

#[test]
fn a_program_on_the_port_of_a_server_gets_no_token() {
    let place = Place::new();
    let mut server = Server::start(&place, &[]);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let token = fs::read_to_string(place.data().join("token")).unwrap();
    // Another program listens there now, and takes down what it is sent.
    let other = TcpListener::bind(&server.address).unwrap();
    other.set_nonblocking(true).unwrap();
    let mut page = place.command(&["page", "--print"]);
    let page = page.env("LOCI_BIND", &server.address).spawn().unwrap();
    let page = ended(page);
    page.failed(6, "another program uses it");
    let mut heard = String::new();
    while let Ok((mut stream, _)) = other.accept() {
        let _ = stream.read_to_string(&mut heard);
    }
    assert!(!heard.contains(token.trim()), "{heard}");
}

#[cfg(unix)]
#[test]
fn signals_end_the_server_in_good_order() {
    use rustix::process::{Pid, Signal, kill_process};

    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::new();
        let mut server = Server::start(&place, &["--no-auth"]);
        // An open connection does not keep it running.
        let _connection = TcpStream::connect(&server.address).unwrap();
        let (head, body) = server.request(None, "remember", &json!({"content": "said last"}));
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = BufReader::new(stream.try_clone().unwrap());
        // The server asked for the body, so the request has started.
        let mut asked = String::new();
        while !asked.ends_with("\r\n\r\n") {
            assert!(reply.read_line(&mut asked).unwrap() > 0, "{asked}");
        }
        assert!(asked.starts_with("HTTP/1.1 100"), "{asked}");

        kill_process(Pid::from_child(&server.child), signal).unwrap();
        let mut rest = String::new();
        while !rest.contains("shutting down") {
            assert!(server.stderr.read_line(&mut rest).unwrap() > 0, "{rest}");
        }
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        reply.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("said last"),
            "{answer}"
        );
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
    }
}

/// Returns true if the log was copied into the database and deleted, as after a clean shutdown.
fn is_closed(place: &Place) -> bool {
    place.data().join("loci.db").exists() && !place.data().join("loci.db-wal").exists()
}

#[test]
fn a_server_that_ends_closes_the_database() {
    let place = Place::new();
    place.add_all(["Mondays".to_owned()]);
    assert!(is_closed(&place), "after stdio");
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        let mut server = Server::start(&place, &["--no-auth"]);
        assert_eq!(
            server
                .call(None, "remember", &json!({"content": "Fridays"}))
                .0,
            200
        );
        assert!(!is_closed(&place));
        kill_process(Pid::from_child(&server.child), Signal::TERM).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
        assert!(is_closed(&place), "after HTTP");
    }
    assert_eq!(
        place.json(&["stats"])["total"],
        if cfg!(unix) { 2 } else { 1 }
    );
}

#[test]
fn an_endpoint_that_does_not_answer_is_known_from_the_start() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let place = Place::new()
        .with("LOCI_EMBEDDING_PROVIDER", "http")
        .with("LOCI_EMBEDDING_URL", &format!("http://{closed}/v1"))
        .with("LOCI_EMBEDDING_MODEL", "m");
    let mut server = Server::start(&place, &[]);
    while !server
        .said
        .contains("until it answers, nothing is found by its meaning")
    {
        assert!(
            server.stderr.read_line(&mut server.said).unwrap() > 0,
            "it ended: {}",
            server.said
        );
    }
    assert!(server.said.contains("`embedding.url`"), "{}", server.said);
}

#[test]
fn stdio_serves_a_dialect_and_nothing_else_on_stdout() {
    let place = Place::new();
    place.add(&["Mondays"]);
    let mut child = place
        .command(&["mcp", "mememory", "--log", "trace"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let initialize = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "list", "arguments": {}}}),
    ];
    let mut stdin = child.stdin.take().unwrap();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let outcome = ended(child).succeeded();
    let mut replies: Vec<Value> = outcome
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    replies.sort_by_key(|reply| reply["id"].as_u64());
    assert_eq!(replies.len(), 3);
    assert_eq!(replies[1]["result"]["tools"].as_array().unwrap().len(), 7);
    assert_eq!(
        replies[2]["result"]["structuredContent"]["result"][0]["content"], "Mondays",
        "{}",
        replies[2]
    );
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_reach_is_refused_or_told_of() {
    use fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.add(&["Tea at four"]);
    let set =
        |path: &std::path::Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let database = place.data().join("loci.db");
    let commands: [&[&str]; 2] = [&["mcp", "mememory"], &["serve", "--bind", "127.0.0.1:0"]];
    for (folder, file, words) in [
        (0o777, 0o600, "others on this machine may write"),
        (0o770, 0o600, "others on this machine may write"),
        (0o702, 0o600, "others on this machine may write"),
        (0o755, 0o666, "others on this machine may write"),
        (0o711, 0o620, "others on this machine may write"),
    ] {
        set(&place.data(), folder);
        set(&database, file);
        for arguments in commands {
            let ended = place.run(arguments).failed(4, words);
            assert!(ended.stderr.contains("chmod"), "{ended:?}");
        }
    }
    set(&database, 0o644);
    for (folder, is_told) in [(0o755, true), (0o750, true), (0o701, true), (0o700, false)] {
        set(&place.data(), folder);
        let ended = place.run(&["mcp", "mememory"]).succeeded();
        assert_eq!(
            ended.stderr.contains("others on this machine may read"),
            is_told,
            "{folder:o} {ended:?}"
        );
    }
    // A data folder without the excessive permissions can be served.
    set(&place.data(), 0o777);
    place.run(&["doctor", "--fix"]);
    place.run(&["mcp", "mememory"]).succeeded();
}

#[test]
fn a_server_is_asked_whether_it_is_ready() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let url = format!("http://{}", server.address);
    // Another installation asks, which has no store and no token.
    let other = Place::new();
    let said = other.run(&["doctor", "--server", &url]).succeeded();
    assert!(said.stdout.contains("is ready"), "{said:?}");
    assert!(!other.data().exists());
    let bound = Place::new().with("LOCI_BIND", &server.address);
    bound.run(&["doctor", "--server"]).succeeded();
    let rows = bound.rows(&["doctor", "--server"]);
    assert_eq!(rows[0]["check"], "server");
    assert_eq!(rows.as_array().unwrap().len(), 1);
    drop(server);
    let gone = bound.run(&["doctor", "--server"]);
    assert_eq!(gone.code, 1, "{gone:?}");
    assert!(
        gone.stdout.contains("see whether `loci serve` runs there"),
        "{gone:?}"
    );

    let any_port = Place::new().with("LOCI_BIND", "127.0.0.1:0");
    any_port
        .run(&["doctor", "--server"])
        .failed(2, "--server URL");
    other
        .run(&["doctor", "--server", "nowhere"])
        .failed(2, "--server");
    other
        .run(&["doctor", "--server", "--fix"])
        .failed(2, "--fix");
}

#[test]
fn a_relative_home_makes_no_folders() {
    let place = Place::new().with("HOME", "somewhere").with("LOCI_DATA", "");
    place.run(&["list"]).failed(2, "--config FILE");
    assert!(!place.path("somewhere").exists());
}

#[test]
fn the_authority_of_a_company_is_trusted_once_it_is_named() {
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let place = Place::new();
    let certificate = place.write("certificate.pem", pair.cert.pem());
    let key = place.write("key.pem", pair.signing_key.serialize_pem());
    let [certificate, key] = [&certificate, &key].map(|path| path.to_str().unwrap().to_owned());
    let server = Server::start(&place, &["--tls-cert", &certificate, "--tls-key", &key]);
    let port = server.address.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}");
    let other = place.write("other.pem", "no certificate\n");
    let asks = |variables: &[(&str, &str)]| {
        let asking = variables
            .iter()
            .fold(Place::new(), |place, (name, value)| place.with(name, value));
        asking.run(&["doctor", "--server", &url])
    };
    let folder = place.path("authorities");
    fs::create_dir(&folder).unwrap();
    fs::copy(&certificate, folder.join("company.crt")).unwrap();
    asks(&[("SSL_CERT_FILE", &certificate)]).succeeded();
    asks(&[("SSL_CERT_DIR", folder.to_str().unwrap())]).succeeded();
    for variables in [
        &[][..],
        &[("SSL_CERT_FILE", other.to_str().unwrap())],
        &[("SSL_CERT_FILE", "missing.pem")],
    ] {
        let refused = asks(variables);
        assert!(
            refused.code == 1 && refused.stdout.contains("SSL_CERT_FILE"),
            "{variables:?}: {refused:?}"
        );
    }
}

#[test]
fn figures_are_told_only_under_names_of_this_server() {
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let address = format!("127.0.0.1:{port}");
    let place = Place::new()
        .with("LOCI_METRICS_BIND", &address)
        .with("LOCI_ALLOWED_HOSTS", "figures.example");
    let _server = Server::start(&place, &[]);
    for (host, status) in [
        (address.as_str(), "200"),
        (&format!("localhost:{port}"), "200"),
        ("figures.example", "200"),
        ("rebound.example", "403"),
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        assert_eq!(reply.split(' ').nth(1), Some(status), "{host}: {reply}");
    }
}

/// A client that goes on to send its body after the reply has come, and reads then.
#[test]
fn a_reply_is_read_by_who_still_sends() {
    const BYTES: usize = 8 << 20;
    let place = Place::new();
    let metrics = free_address();
    let place = place.with("LOCI_METRICS_BIND", &metrics);
    let server = Server::start(&place, &[]);
    let owner = fs::read_to_string(place.data().join("token")).unwrap();
    let owner = format!("Authorization: Bearer {}\r\n", owner.trim());
    let json = "Content-Type: application/json\r\n";
    let plain = "Content-Type: text/plain\r\n";
    let rows = [
        (
            &server.address,
            "POST /mcp/mememory",
            json.to_owned(),
            "401",
        ),
        (
            &server.address,
            "POST /mcp/mememory",
            format!("{owner}{plain}"),
            "415",
        ),
        (&server.address, "POST /mcp/nothing", json.to_owned(), "404"),
        (
            &server.address,
            "PUT /mcp/mememory",
            format!("{owner}{json}"),
            "405",
        ),
        (
            &server.address,
            "POST /api/v1/facts/add",
            json.to_owned(),
            "401",
        ),
        (
            &server.address,
            "POST /api/v1/nothing",
            json.to_owned(),
            "404",
        ),
        (
            &server.address,
            "POST /api/v1/codes",
            json.to_owned(),
            "401",
        ),
        (
            &server.address,
            "POST /settings/import",
            plain.to_owned(),
            "303",
        ),
        (
            &server.address,
            "POST /sign-in",
            format!("{plain}Sec-Fetch-Site: same-origin\r\n"),
            "413",
        ),
        (&server.address, "POST /search", json.to_owned(), "405"),
        (&server.address, "POST /healthz", plain.to_owned(), "405"),
        (&server.address, "POST /assets/a/b", plain.to_owned(), "405"),
        (&metrics, "POST /metrics", plain.to_owned(), "405"),
        (&metrics, "POST /nothing", plain.to_owned(), "404"),
    ];
    thread::scope(|scope| {
        for (address, head, headers, status) in &rows {
            scope.spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                let head = format!(
                    "{head} HTTP/1.1\r\nHost: {address}\r\n{headers}Content-Length: {BYTES}\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                // Until there is a reply. `/sign-in` reads a little before it refuses.
                let mut sent = 0;
                if head.contains("/sign-in") {
                    sent = 64 << 10;
                    stream.write_all(&vec![b'x'; sent]).unwrap();
                }
                assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
                while sent < BYTES {
                    let piece = (64 << 10).min(BYTES - sent);
                    stream
                        .write_all(&vec![b'x'; piece])
                        .unwrap_or_else(|error| panic!("{head}: {error}"));
                    sent += piece;
                }
                stream.shutdown(Shutdown::Write).unwrap();
                let mut reply = String::new();
                stream
                    .read_to_string(&mut reply)
                    .unwrap_or_else(|error| panic!("{head}: {error}"));
                assert!(
                    reply.starts_with(&format!("HTTP/1.1 {status} ")),
                    "{head}: {reply}"
                );
            });
        }
    });
}

pub fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// The time for a stop: two seconds, and as many again for a busy machine.
#[cfg(unix)]
const STOP_LIMIT: Duration = Duration::from_secs(4);

/// Ends with success in time, whatever its clients do.
#[cfg(unix)]
#[test]
fn a_stop_succeeds_whatever_clients_do() {
    use rustix::process::{Pid, Signal, kill_process};
    for signal in [Signal::TERM, Signal::INT] {
        let place = Place::new();
        let mut server = Server::start(&place, &[]);
        let token = fs::read_to_string(place.data().join("token")).unwrap();
        let token = token.trim().to_owned();
        server.call_in(
            "mememory",
            &token,
            "remember",
            &json!({"content": "The kiln is hot"}),
        );
        let open = |text: String| {
            let mut stream = TcpStream::connect(&server.address).unwrap();
            stream.write_all(text.as_bytes()).unwrap();
            stream
        };
        let head = |first: &str, rest: &str| {
            format!(
                "{first} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n{rest}\r\n",
                server.address
            )
        };
        let idle = open(head("GET /healthz", ""));
        let events = open(head("GET /events", "Accept: text/event-stream\r\n"));
        let post = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 100000\r\n";
        let stalled = [
            open("GET /healthz HTT".to_owned()),
            open(head("POST /mcp/mememory", post)),
            open(head("POST /api/v1/facts/add", post)),
            open(head("POST /mcp/nothing", post)),
        ];
        for stream in [&idle, &events] {
            assert_eq!(stream.peek(&mut [0]).unwrap(), 1);
        }
        let begin = Instant::now();
        kill_process(Pid::from_child(&server.child), signal).unwrap();
        let status = server.child.wait().unwrap();
        assert_eq!(status.code(), Some(0), "{signal:?}");
        assert!(begin.elapsed() < STOP_LIMIT, "{:?}", begin.elapsed());
        drop((idle, events, stalled));
        assert!(
            place
                .run(&["search", "kiln"])
                .stdout
                .contains("The kiln is hot")
        );
    }
}

/// The model does not answer: requests and the background wait for it.
#[cfg(unix)]
#[test]
fn a_stop_succeeds_while_the_model_is_waited_for() {
    use rustix::process::{Pid, Signal, kill_process};
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place::new();
    place.add(&["The kiln is hot"]);
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let place = place
        .with("LOCI_EMBEDDING_PROVIDER", "http")
        .with("LOCI_EMBEDDING_URL", &url)
        .with("LOCI_EMBEDDING_MODEL", "m");
    let mut server = Server::start(&place, &[]);
    let mut command = place.command(&["mcp", "mememory"]);
    let mut over_stdio = command.stdin(Stdio::piped()).spawn().unwrap();
    let token = fs::read_to_string(place.data().join("token")).unwrap();
    let mut stdin = over_stdio.stdin.take().unwrap();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "kiln"}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}});
    let (id, text) = ("\"id\":1", call.to_string());
    let stats = text
        .replace("\"recall\"", "\"stats\"")
        .replace(id, "\"id\":0");
    writeln!(stdin, "{stats}").unwrap();
    let mut lines = BufReader::new(over_stdio.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    writeln!(stdin, "{call}").unwrap();
    let (head, body) = server.request(Some(token.trim()), "recall", &json!({"query": "kiln"}));
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .unwrap();
    // Both wait for it by now.
    let _waiting = [silent.accept().unwrap(), silent.accept().unwrap()];
    let begin = Instant::now();
    for child in [&server.child, &over_stdio] {
        kill_process(Pid::from_child(child), Signal::TERM).unwrap();
    }
    for child in [&mut server.child, &mut over_stdio] {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    assert!(begin.elapsed() < STOP_LIMIT, "{:?}", begin.elapsed());
    drop(stdin);
}
