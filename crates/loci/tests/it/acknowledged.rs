//! Changes that a person was told of are in the audit log, even if loci is killed at once.

use std::io::Read;

use serde_json::{Value, json};

use crate::program::Place;
use crate::servers::Server;

/// Returns the names of the calls in the audit log, as another process reads them.
pub(crate) fn logged(place: &Place) -> Vec<String> {
    let entries = place.rows(&["audit", "--limit", "100"]);
    let name = |entry: &Value| entry["tool_name"].as_str().unwrap().to_owned();
    entries.as_array().unwrap().iter().map(name).collect()
}

/// An installation with a memory and a server, on which changes are made as on the page.
pub(crate) struct Scene {
    pub(crate) place: Place,
    pub(crate) server: Server,
    /// The secret of the owner's token.
    secret: String,
    /// The id of the memory.
    id: String,
}

impl Scene {
    fn new() -> Self {
        Scene::with(&[])
    }

    /// Starts the server with further arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let place = Place::new();
        let id = place.add(&["the kiln fires at 1240 degrees"]);
        let server = Server::start(&place, arguments);
        let secret = std::fs::read_to_string(place.data().join("token")).unwrap();
        Scene {
            place,
            server,
            secret: secret.trim().to_owned(),
            id,
        }
    }

    /// Makes a change with the token; returns status and reply.
    pub(crate) fn change(&self, path: &str, fields: Value) -> (u16, String) {
        self.server.change(&self.secret, path, &fields)
    }

    /// Makes a change that another one needs; returns its answer.
    fn prepared(&self, path: &str, fields: Value) -> Value {
        let (status, reply) = self.change(path, fields);
        assert_eq!(status, 200, "{path}: {reply}");
        body(&reply)
    }

    /// Makes a change of the selected memory.
    fn selected(&self, path: &str, mut fields: Value) -> (u16, String) {
        fields["id"] = json!([self.id]);
        self.change(path, fields)
    }

    /// Makes a change of a fact, which is added for it.
    fn of_fact(&self, path: &str, fields: &Value) -> (u16, String) {
        let [subject, predicate, object] = FACT;
        let mut fact = json!({"subject": subject, "predicate": predicate, "object": object});
        self.prepared("/facts/add", fact.clone());
        let path_of_facts = format!("/api/v1/facts?entity={}", FACT[0]);
        let (_, reply) = self.server.get(Some(&self.secret), &path_of_facts);
        fact["id"] = body(&reply)["lanes"][0]["facts"][0]["id"].clone();
        for (name, value) in fields.as_object().unwrap() {
            fact[name] = value.clone();
        }
        self.change(path, fact)
    }

    /// Sends a file to import; returns status and reply.
    fn upload(&self) -> (u16, String) {
        let file = json!({"content": "imported"}).to_string();
        self.upload_file(&[], "a.jsonl", file.as_bytes())
    }

    /// Sends a file to import, with the fields before it; returns status and reply.
    pub(crate) fn upload_file(
        &self,
        fields: &[(&str, &str)],
        file_name: &str,
        file: &[u8],
    ) -> (u16, String) {
        let head = |name: &str| {
            format!(
                "--X\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file_name}\"\r\n\r\n"
            )
        };
        let mut form = Vec::new();
        for (name, value) in fields {
            form.extend(format!("{}{value}\r\n", head(name)).bytes());
        }
        form.extend(head("file").bytes());
        form.extend(file);
        form.extend(b"\r\n--X--\r\n");
        let headers = format!(
            "Authorization: Bearer {}\r\nContent-Type: multipart/form-data; boundary=X\r\n",
            self.secret
        );
        self.server.post("/api/v1/settings/import", &headers, form)
    }

    /// Makes a change of the import of an uploaded file.
    fn of_upload(&self, path: &str) -> (u16, String) {
        let (status, reply) = self.upload();
        assert_eq!(status, 200, "{reply}");
        self.change(path, json!({"upload": body(&reply)["upload"]}))
    }

    /// Makes a change of a host that is there.
    fn of_host(&self, path: &str) -> (u16, String) {
        self.place.write(".codex/config.toml", "");
        self.change(&path.replace("{host}", "codex"), json!({}))
    }

    /// Signs in as the owner; returns the cookie of the session.
    pub(crate) fn cookie(&self) -> String {
        let form = format!("token={}&next=/", self.secret);
        let headers =
            "Content-Type: application/x-www-form-urlencoded\r\nSec-Fetch-Site: same-origin\r\n";
        let (_, reply) = self.server.post("/sign-in", headers, &form);
        between(&reply, "set-cookie: ", ";").to_owned()
    }

    /// Signs in as the owner; returns the headers of changes in the session.
    fn session(&self) -> String {
        let cookie = self.cookie();
        let (_, shown) = self
            .server
            .get_with(&format!("Cookie: {cookie}\r\n"), "/browse");
        let csrf = between(&shown, "name=\"csrf\" value=\"", "\"");
        format!(
            "Cookie: {cookie}\r\nX-CSRF-Token: {csrf}\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Type: application/json\r\n"
        )
    }
}

const FACT: [&str; 3] = ["kiln", "stands in", "yard"];

/// Returns the JSON of a reply.
pub(crate) fn body(reply: &str) -> Value {
    let (_, body) = reply.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {reply}"))
}

/// Returns what a text has between two others.
pub(crate) fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text
        .split_once(start)
        .unwrap_or_else(|| panic!("{start:?} is not in {text}"));
    rest.split(end).next().unwrap()
}

/// Makes a change at a path; returns status and reply.
type PageChange = fn(&Scene, &str) -> (u16, String);

/// Each change of the page: its path, its name in the log, and how it is made.
const PAGE_CHANGES: &[(&str, &str, PageChange)] = &[
    ("/selected/move", "move", |scene, path| {
        scene.selected(path, json!({"wing": "bread", "room": "oven"}))
    }),
    ("/selected/tag", "tag", |scene, path| {
        scene.selected(path, json!({"add": "new"}))
    }),
    ("/selected/share", "share", |scene, path| {
        scene.selected(path, json!({"shared": true}))
    }),
    ("/selected/forget", "forget", |scene, path| {
        scene.selected(path, json!({}))
    }),
    ("/selected/unforget", "unforget", |scene, path| {
        assert_eq!(scene.selected("/selected/forget", json!({})).0, 200);
        scene.selected(path, json!({}))
    }),
    ("/selected/delete", "delete", |scene, path| {
        scene.selected(path, json!({"confirmed": true}))
    }),
    ("/search/save", "save_search", |scene, path| {
        scene.change(path, json!({"query": "q=kiln"}))
    }),
    ("/search/unsave", "remove_search", |scene, path| {
        let saved = json!({"name": "kilns", "query": "q=kiln"});
        assert_eq!(scene.change("/search/save", saved).0, 200);
        scene.change(path, json!({"name": "kilns"}))
    }),
    ("/memory/{id}/pin", "pin", |scene, path| {
        scene.change(&path.replace("{id}", &scene.id), json!({"pinned": true}))
    }),
    ("/memory/{id}/edit", "edit", |scene, path| {
        let fields = json!({"content": "another text", "revision": 1});
        scene.change(&path.replace("{id}", &scene.id), fields)
    }),
    ("/memory/{id}/restore", "restore", |scene, path| {
        let path = path.replace("{id}", &scene.id);
        let edit = path.replace("/restore", "/edit");
        let fields = json!({"content": "another text", "revision": 1});
        assert_eq!(scene.change(&edit, fields).0, 200);
        scene.change(&path, json!({"version": 1, "revision": 2}))
    }),
    ("/memory/{id}/reveal", "reveal", |scene, path| {
        scene.change(&path.replace("{id}", &scene.id), json!({}))
    }),
    ("/review/keep", "keep", |scene, path| {
        let other = scene.place.add(&["the kiln fires at 1260 degrees"]);
        let fields = json!({"one": scene.id, "other": other, "keep": other});
        scene.change(path, fields)
    }),
    ("/review/redact", "redact", |scene, path| {
        let secret = format!(
            "the token is ghp_{}",
            "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
        );
        let id = scene.place.add(&[&secret]);
        scene.change(path, json!({"id": id, "confirmed": true}))
    }),
    ("/review/trust", "trust", |scene, path| {
        scene.change(path, json!({"id": scene.id}))
    }),
    ("/review/accept", "accept", |scene, path| {
        scene.change(path, json!({"id": [scene.id]}))
    }),
    ("/review/dismiss", "dismiss", |scene, path| {
        scene.change(path, json!({"item": "0123456789abcdef"}))
    }),
    ("/facts/add", "add_fact", |scene, path| {
        let [subject, predicate, object] = FACT;
        let fields = json!({"subject": subject, "predicate": predicate, "object": object});
        scene.change(path, fields)
    }),
    ("/facts/end", "end_fact", |scene, path| {
        scene.of_fact(path, &json!({"ended": "2026-01-31"}))
    }),
    ("/facts/correct", "correct_fact", |scene, path| {
        let right = json!({
            "right_subject": FACT[0], "right_predicate": FACT[1], "right_object": "shed",
        });
        scene.of_fact(path, &right)
    }),
    ("/undo", "undo", |scene, path| {
        let session = scene.session();
        let fields = json!({"id": [scene.id], "add": "new"}).to_string();
        let (_, reply) = scene.server.post("/api/v1/selected/tag", &session, &fields);
        let number = json!({"number": body(&reply)["undo"]}).to_string();
        scene
            .server
            .post(&format!("/api/v1{path}"), &session, &number)
    }),
    ("/home-backup", "backup", |scene, path| {
        scene.change(path, json!({}))
    }),
    ("/memories", "store_memory", |scene, path| {
        scene.change(path, json!({"content": "a text", "idempotency_key": "one"}))
    }),
    ("/activity/add", "store_memory", |scene, path| {
        scene.change(path, json!({"content": "what was missing"}))
    }),
    ("/memory-tool", "memory", |scene, path| {
        let command = json!({"command": "create", "path": "/memories/a.md", "file_text": "a text"});
        scene.change(path, command)
    }),
    ("/next-session/move", "reorder", |scene, path| {
        for text in ["the first rule", "the second rule"] {
            scene.prepared("/next-session/add", json!({"content": text}));
        }
        let (_, reply) = scene
            .server
            .get(Some(&scene.secret), "/api/v1/next-session");
        let id = &body(&reply)["parts"][0]["id"];
        scene.change(path, json!({"id": id, "direction": "down"}))
    }),
    ("/next-session/unpin", "unpin", |scene, path| {
        scene.change(path, json!({"id": scene.id}))
    }),
    ("/next-session/add", "store_memory", |scene, path| {
        scene.change(path, json!({"content": "a rule"}))
    }),
    ("/people/remove", "remove_person", |scene, path| {
        scene.change(path, json!({"name": "bob", "confirm": "bob"}))
    }),
    ("/backups", "backup", |scene, path| {
        scene.change(path, json!({}))
    }),
    ("/hosts/{host}/connect", "connect", Scene::of_host),
    ("/hosts/{host}/disconnect", "disconnect", Scene::of_host),
    ("/hosts/{host}/check", "check", Scene::of_host),
    ("/tokens", "token_create", |scene, path| {
        scene.change(path, json!({"subject": "ann", "scope": ["read"]}))
    }),
    ("/tokens/{id}/revoke", "token_revoke", |scene, path| {
        let made = scene
            .place
            .json(&["token", "create", "--subject", "ann", "--scopes", "read"]);
        let id = made["id"].as_str().unwrap().to_owned();
        scene.change(&path.replace("{id}", &id), json!({}))
    }),
    ("/settings/run", "token_create", |scene, path| {
        let fields = json!({"task": "make_token", "subject": "ann", "scope": ["read"]});
        scene.change(path, fields)
    }),
    ("/settings/import", "import_dry_run", |scene, _| {
        scene.upload()
    }),
    ("/settings/import/run", "import", Scene::of_upload),
    ("/settings/import/undo", "import_undo", |scene, path| {
        let (status, reply) = scene.of_upload("/settings/import/run");
        assert_eq!(status, 200, "{reply}");
        scene.change(path, json!({"batch": body(&reply)["batch"]}))
    }),
    (
        "/settings/import/discard",
        "import_discard",
        Scene::of_upload,
    ),
    ("/settings/all-users", "show_all_users", |scene, path| {
        let (session, fields) = (scene.session(), json!({"on": true}).to_string());
        scene
            .server
            .post(&format!("/api/v1{path}"), &session, &fields)
    }),
    ("/settings/restore", "restore", |scene, path| {
        scene.prepared("/settings/run", json!({"task": "backup"}));
        let (_, reply) = scene.server.get(Some(&scene.secret), "/api/v1/settings");
        scene.change(path, json!({"backup": body(&reply)["backups"][0]["name"]}))
    }),
];

#[test]
fn a_change_on_the_page_is_logged_when_it_is_acknowledged() {
    for (path, tool, change) in PAGE_CHANGES {
        let scene = Scene::new();
        let (status, reply) = change(&scene, path);
        let Scene { place, server, .. } = scene;
        // The drop kills the server without a chance to write anything.
        drop(server);
        assert_eq!(status, 200, "{path}: {reply}");
        let entries = logged(&place);
        let count = entries.iter().filter(|entry| entry == tool).count();
        // The command that the page runs has the same name in the log, also of the dry run before it.
        let expected = if *tool == "import" { 3 } else { 1 };
        assert_eq!(count, expected, "{path}: {entries:?}");
    }
}

/// What takes a form and changes nothing.
const READS: [&str; 1] = ["/selected/export"];

#[test]
fn every_change_on_the_page_has_such_a_case() {
    let scene = Scene::new();
    let (_, reply) = scene.server.get(None, "/api/v1/openapi.json");
    let described = body(&reply);
    let changes = described["paths"].as_object().unwrap().iter();
    let changes = changes.filter(|(_, operations)| operations.get("post").is_some());
    for (path, _) in changes.filter(|(path, _)| !READS.contains(&path.as_str())) {
        assert!(
            PAGE_CHANGES.iter().any(|(covered, ..)| covered == path),
            "{path} has no case in `PAGE_CHANGES`: say there how it is made, and its name in the log"
        );
    }
}

#[test]
fn a_change_by_a_command_is_logged_when_it_is_acknowledged() {
    let rows: [(&[&str], &str); 10] = [
        (&["add", "a text"], "remember"),
        (&["forget", "ID"], "forget"),
        (&["delete", "ID", "--forever", "--yes"], "delete"),
        (&["forget", "--where", "--type", "fact", "--yes"], "forget"),
        (&["unforget", "ID"], "unforget"),
        (&["trust", "bob"], "trust"),
        (
            &["token", "create", "--subject", "ann", "--scopes", "read"],
            "token create",
        ),
        (&["import", "FILE"], "import"),
        (&["palace", "mine", "FOLDER"], "palace mine"),
        (&["palace", "sync", "FOLDER", "--apply"], "palace sync"),
    ];
    for (words, tool) in rows {
        let place = Place::new();
        let id = place.add(&["the kiln fires at 1240 degrees"]);
        let file = place.write("import.jsonl", r#"{"content": "imported"}"#);
        let folder = place.path("project");
        place.write("project/notes.md", "# Glaze\n\nCeladon is green.\n");
        let words: Vec<String> = words
            .iter()
            .map(|word| match *word {
                "ID" => id.clone(),
                "FILE" => file.to_str().unwrap().to_owned(),
                "FOLDER" => folder.to_str().unwrap().to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut child = place
            .command(&[&["--json"], &words[..]].concat())
            .spawn()
            .unwrap();
        // It is killed at the first byte of its answer.
        let answered = child.stdout.take().unwrap().read(&mut [0]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(answered, 1, "{words:?}");
        let entries = logged(&place);
        assert!(
            entries[1..].contains(&tool.to_owned()),
            "{words:?}: {entries:?}"
        );
    }
}

#[test]
fn a_command_that_fails_is_logged_as_well() {
    let place = Place::new().with_store();
    place
        .run(&["token", "revoke", "nothing"])
        .failed(3, "no token named");
    let entries = place.rows(&["audit"]);
    assert_eq!(entries[0]["tool_name"], "token revoke");
    assert_eq!(entries[0]["metadata"]["error_code"], "not_found");
}
