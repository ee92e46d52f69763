//! Questions to the person: who is asked, in which form, and what an answer does.

use std::time::Duration;

use loci_core::AuditQuery;
use loci_dialects::{DIALECTS, dialect, mememory};
use loci_server::{Authentication, HttpConfig};
use serde_json::{Value, json};

use crate::support::{LEGACY, MODERN, Pipe, Server, World, call, request};

const SESSION: &str = "mcp-session-id";
/// Longer than any test takes.
const LONG: Duration = Duration::from_mins(10);
/// Too short for an answer.
const SHORT: Duration = Duration::from_millis(30);
/// The revisions with questions in which a server sends requests.
const ASKING: [&str; 2] = ["2025-06-18", "2025-11-25"];

const OLD: &str = "The API listens on port 8080.";
const NEW: &str = "The API listens on port 9090.";

fn capabilities(declares: bool) -> Value {
    if declares {
        json!({"elicitation": {}})
    } else {
        json!({})
    }
}

fn message(id: u64, version: &str, declares: bool, method: &str, mut params: Value) -> Value {
    if version == MODERN {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities(declares);
    }
    request(id, method, params)
}

fn greeting(version: &str, declares: bool) -> Value {
    if version == MODERN {
        return message(0, version, declares, "server/discover", json!({}));
    }
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": version, "capabilities": capabilities(declares), "clientInfo": client});
    request(0, "initialize", params)
}

/// A client of a pipe whose person answers.
struct Asked {
    pipe: Pipe,
    version: &'static str,
    id: u64,
    /// The messages of the questions.
    questions: Vec<Value>,
}

/// The person's reaction.
#[derive(Clone)]
enum Person {
    Answers(Value),
    Is(&'static str),
    Silent,
    Fails,
    Leaves,
}

fn answers(value: &str) -> Person {
    Person::Answers(json!({"action": "accept", "content": {"answer": value}}))
}

impl Asked {
    async fn open(world: &World, name: &str, version: &'static str) -> Self {
        let mut pipe = Pipe::connect(world, dialect(name).unwrap());
        pipe.ask(&greeting(version, true)).await;
        if version != MODERN {
            let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            pipe.send(&told).await;
        }
        Asked {
            pipe,
            version,
            id: 0,
            questions: Vec::new(),
        }
    }

    /// Calls a tool, answers as the person does, and returns the result.
    async fn call(&mut self, tool: &str, arguments: Value, person: &Person) -> Value {
        self.id += 1;
        let params = call(tool, arguments);
        let asked = message(self.id, self.version, true, "tools/call", params.clone());
        self.pipe.send(&asked).await;
        let mut said = self.pipe.next().await;
        if self.version == MODERN {
            if said["result"]["resultType"] != "input_required" {
                return said["result"].take();
            }
            self.questions
                .push(said["result"]["inputRequests"]["person"]["params"].clone());
            let Some(answer) = person.result() else {
                return said["result"].take();
            };
            let mut again = params;
            again["requestState"] = said["result"]["requestState"].clone();
            again["inputResponses"] = json!({"person": answer});
            self.id += 1;
            let again = message(self.id, MODERN, true, "tools/call", again);
            return self.pipe.ask(&again).await["result"].take();
        }
        loop {
            match said["method"].as_str() {
                None => return said["result"].take(),
                Some("elicitation/create") => {
                    self.questions.push(said["params"].clone());
                    let id = said["id"].clone();
                    if let Some(result) = person.result() {
                        self.pipe
                            .send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
                            .await;
                    } else if let Some(code) = person.error() {
                        let error = json!({"code": code, "message": "the client is closed"});
                        self.pipe
                            .send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
                            .await;
                    }
                }
                Some(other) => assert_eq!(other, "notifications/cancelled"),
            }
            said = self.pipe.next().await;
        }
    }
}

impl Person {
    fn result(&self) -> Option<Value> {
        match self {
            Person::Answers(result) => Some(result.clone()),
            Person::Is(action) => Some(json!({"action": action})),
            Person::Silent | Person::Fails | Person::Leaves => None,
        }
    }

    /// The code of the error by which a client says that it cannot ask, or that it ended.
    fn error(&self) -> Option<i32> {
        match self {
            Person::Fails => Some(-32_601),
            Person::Leaves => Some(-32_000),
            _ => None,
        }
    }
}

fn text_of(result: &Value) -> String {
    let parts = result["content"].as_array().unwrap();
    let texts = parts.iter().map(|part| part["text"].as_str().unwrap());
    texts.collect::<Vec<_>>().join("\n")
}

/// The texts that an agent without questions finds.
async fn recalled(world: &World) -> Vec<String> {
    let mut pipe = Pipe::open(world, &mememory::DIALECT, MODERN).await;
    let found = pipe
        .request(
            1,
            "tools/call",
            call("recall", json!({"query": "API port"})),
        )
        .await;
    let hits = found["result"]["structuredContent"]
        .as_array()
        .unwrap()
        .clone();
    let texts = hits
        .iter()
        .map(|hit| hit["memory"]["content"].as_str().unwrap().to_owned());
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    pipe.close().await;
    texts
}

async fn remember(world: &World, content: &str) -> String {
    let mut pipe = Pipe::open(world, &mememory::DIALECT, MODERN).await;
    let stored = pipe
        .request(
            1,
            "tools/call",
            call("remember", json!({"content": content})),
        )
        .await;
    pipe.close().await;
    stored["result"]["structuredContent"]["id"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[tokio::test]
async fn a_contradiction_is_decided_by_each_answer() {
    let rows: [(&str, &[&str], &str); 4] = [
        ("keep_both", &[OLD, NEW], "are both right"),
        ("update_old", &[NEW], "has the new text now"),
        ("replace_old", &[NEW], "replaces"),
        ("forget_old", &[NEW], "is forgotten"),
    ];
    for version in ASKING.into_iter().chain([MODERN]) {
        for (answer, left, told) in rows {
            let world = World::new().with_questions(LONG);
            remember(&world, OLD).await;
            let mut client = Asked::open(&world, "mememory", version).await;
            let result = client
                .call("remember", json!({"content": NEW}), &answers(answer))
                .await;
            let text = text_of(&result);
            assert!(text.contains(told), "{version} {answer}: {text}");
            assert!(!text.contains("CONTRADICTION"), "{version}: {text}");
            assert_eq!(client.questions.len(), 1);
            let mut left: Vec<&str> = left.to_vec();
            left.sort_unstable();
            let found = recalled(&world).await;
            let found: Vec<&String> = found
                .iter()
                .filter(|text| left.contains(&text.as_str()))
                .collect();
            assert_eq!(found.len(), left.len(), "{version} {answer}: {found:?}");
            client.pipe.close().await;
        }
    }
}

#[tokio::test]
async fn the_form_is_short_closed_and_that_of_the_revision() {
    for version in ASKING.into_iter().chain([MODERN]) {
        let world = World::new().with_questions(LONG);
        remember(&world, OLD).await;
        let mut client = Asked::open(&world, "mememory", version).await;
        client
            .call("remember", json!({"content": NEW}), &Person::Is("decline"))
            .await;
        let asked = &client.questions[0];
        let message = asked["message"].as_str().unwrap();
        assert!(message.contains(OLD) && message.contains(NEW), "{message}");
        let schema = &asked["requestedSchema"];
        assert_eq!(schema["required"], json!(["answer"]));
        let field = &schema["properties"]["answer"];
        let is_first = version == "2025-06-18";
        assert_eq!(field["enum"].is_array(), is_first, "{version}: {field}");
        assert_eq!(field["oneOf"].is_array(), !is_first, "{version}: {field}");
        assert_eq!(asked["mode"] == "form", !is_first, "{version}");
        client.pipe.close().await;
    }
}

#[tokio::test]
async fn without_a_decision_a_contradiction_ends_in_words() {
    for version in ASKING.into_iter().chain([MODERN]) {
        for (person, limit, told) in [
            (Person::Is("decline"), LONG, "does not decide it now"),
            (Person::Is("cancel"), LONG, "does not decide it now"),
            (answers("something else"), LONG, "does not decide it now"),
            (Person::Silent, SHORT, "gave no answer in time"),
            (Person::Fails, LONG, "gave no answer in time"),
        ] {
            let world = World::new().with_questions(limit);
            remember(&world, OLD).await;
            let mut client = Asked::open(&world, "mememory", version).await;
            let result = client
                .call("remember", json!({"content": NEW}), &person)
                .await;
            if result["resultType"] == "input_required" {
                // The client never comes back, and the memory is there.
                assert_eq!(recalled(&world).await, [OLD, NEW], "{version}");
                continue;
            }
            let text = text_of(&result);
            assert!(
                text.starts_with("CONTRADICTION DETECTED"),
                "{version}: {text}"
            );
            assert!(text.contains(told), "{version}: {text}");
            assert_eq!(recalled(&world).await, [OLD, NEW], "{version}");
            client.pipe.close().await;
        }
    }
}

#[tokio::test]
async fn what_the_person_wants_kept_is_not_deleted() {
    let refusals = [
        Person::Is("decline"),
        Person::Is("cancel"),
        answers("keep"),
        answers("burn"),
    ];
    for version in ASKING.into_iter().chain([MODERN]) {
        for person in &refusals {
            let world = World::new().with_questions(LONG);
            let id = remember(&world, OLD).await;
            let mut client = Asked::open(&world, "mememory", version).await;
            let result = client.call("forget", json!({"id": id}), person).await;
            assert_eq!(result["isError"], true, "{version}: {result}");
            let text = text_of(&result);
            assert!(
                text.contains("nothing was deleted") && text.contains("loci forget"),
                "{text}"
            );
            assert!(
                client.questions[0]["message"]
                    .as_str()
                    .unwrap()
                    .contains(OLD)
            );
            assert_eq!(recalled(&world).await, [OLD], "{version}");
            let query = AuditQuery {
                limit: 50,
                ..AuditQuery::default()
            };
            let entries = world.engine.audit().entries(&query).unwrap();
            let refused = entries.iter().filter(|(_, entry)| entry.tool == "forget");
            let refused: Vec<_> = refused.map(|(_, entry)| entry.failure.is_some()).collect();
            assert_eq!(refused, [true], "the log has it as a call that was refused");
            client.pipe.close().await;
        }
    }
}

#[tokio::test]
async fn what_the_person_agrees_to_or_does_not_answer_is_deleted_as_ever() {
    for version in ASKING.into_iter().chain([MODERN]) {
        for (person, limit) in [
            (answers("delete"), LONG),
            (Person::Silent, SHORT),
            (Person::Fails, LONG),
        ] {
            let world = World::new().with_questions(limit);
            let id = remember(&world, OLD).await;
            let mut client = Asked::open(&world, "mememory", version).await;
            let result = client.call("forget", json!({"id": id}), &person).await;
            if result["resultType"] == "input_required" {
                // A client that never comes back did not make the call.
                assert_eq!(recalled(&world).await, [OLD]);
                continue;
            }
            assert_eq!(
                text_of(&result),
                format!("Memory {id} deleted"),
                "{version}"
            );
            assert_eq!(recalled(&world).await, [] as [&str; 0]);
            client.pipe.close().await;
        }
    }
}

#[tokio::test]
async fn a_wipe_and_a_cleared_scope_are_asked_about_and_a_call_that_fails_is_not() {
    let said = json!([{"role": "human", "content": "Ann drinks tea"}]);
    for version in ASKING.into_iter().chain([MODERN]) {
        let world = World::new().with_questions(LONG);
        let mut client = Asked::open(&world, "memory-mcp", version).await;
        let keep = answers("keep");
        client
            .call(
                "store_memory",
                json!({"user_id": "ann", "messages": said}),
                &keep,
            )
            .await;
        let wipe = json!({"user_id": "ann", "confirm": true});
        let unconfirmed = client
            .call("wipe_user_data", json!({"user_id": "ann"}), &keep)
            .await;
        assert!(text_of(&unconfirmed).contains("confirm=true"));
        assert!(client.questions.is_empty(), "{version}");
        let kept = client.call("wipe_user_data", wipe.clone(), &keep).await;
        assert_eq!(kept["isError"], true, "{version}: {kept}");
        assert!(
            client.questions[0]["message"]
                .as_str()
                .unwrap()
                .contains("all data of ann")
        );
        let gone = client
            .call("wipe_user_data", wipe, &answers("delete"))
            .await;
        assert_ne!(gone["isError"], true, "{version}: {gone}");
        assert_ne!(
            gone["structuredContent"]["memories_deleted"], 0,
            "{version}"
        );
        client.pipe.close().await;

        let mut client = Asked::open(&world, "engram", version).await;
        let cleared = client
            .call("delete_all", json!({"scope": "attic"}), &keep)
            .await;
        assert_eq!(cleared["isError"], true, "{version}: {cleared}");
        let failed = client
            .call("delete_memory", json!({"id": "no-such-id"}), &keep)
            .await;
        assert!(!text_of(&failed).contains("the person"), "{failed}");
        assert_eq!(client.questions.len(), 1);
        client.pipe.close().await;
    }
}

#[tokio::test]
async fn a_session_asks_three_times_and_then_acts_as_ever() {
    for version in ASKING.into_iter().chain([MODERN]) {
        let world = World::new().with_questions(LONG);
        let mut ids = Vec::new();
        for text in ["one", "two", "three", "four"] {
            ids.push(remember(&world, text).await);
        }
        let mut client = Asked::open(&world, "mememory", version).await;
        for (at, id) in ids.iter().enumerate() {
            let result = client
                .call("forget", json!({"id": id}), &answers("keep"))
                .await;
            assert_eq!(result["isError"] == true, at < 3, "{version}: {result}");
        }
        assert_eq!(client.questions.len(), 3);
        client.pipe.close().await;
    }
}

#[tokio::test]
async fn two_calls_at_once_get_their_own_answers() {
    for version in ASKING {
        let world = World::new().with_questions(LONG);
        let ids = [remember(&world, "one").await, remember(&world, "two").await];
        let mut client = Asked::open(&world, "mememory", version).await;
        for (at, id) in ids.iter().enumerate() {
            let params = call("forget", json!({"id": id}));
            client
                .pipe
                .send(&request(at as u64 + 1, "tools/call", params))
                .await;
        }
        let questions = [client.pipe.next().await, client.pipe.next().await];
        // Answered in the other order.
        for question in questions.iter().rev() {
            let is_one = question["params"]["message"]
                .as_str()
                .unwrap()
                .contains("one");
            let answer = if is_one { "delete" } else { "keep" };
            let result = json!({"action": "accept", "content": {"answer": answer}});
            let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
            client.pipe.send(&reply).await;
        }
        for _ in 0..2 {
            let reply = client.pipe.next().await;
            let is_first = reply["id"] == 1;
            assert_eq!(
                reply["result"]["isError"] == true,
                !is_first,
                "{version}: {reply}"
            );
        }
        client.pipe.close().await;
    }
}

#[tokio::test]
async fn a_pipe_that_closes_with_a_question_ends_at_once_and_deletes_nothing() {
    for version in ASKING {
        let world = World::new().with_questions(LONG);
        let id = remember(&world, OLD).await;
        let mut client = Asked::open(&world, "mememory", version).await;
        let params = call("forget", json!({"id": id}));
        client.pipe.send(&request(1, "tools/call", params)).await;
        assert_eq!(client.pipe.next().await["method"], "elicitation/create");
        client.pipe.close().await;
        assert_eq!(recalled(&world).await, [OLD]);
    }
}

#[tokio::test]
async fn a_client_that_ends_with_a_question_deletes_nothing() {
    for version in ASKING {
        let world = World::new().with_questions(LONG);
        let id = remember(&world, OLD).await;
        let mut client = Asked::open(&world, "mememory", version).await;
        let result = client
            .call("forget", json!({"id": id}), &Person::Leaves)
            .await;
        assert_eq!(result["isError"], true, "{version}: {result}");
        assert_eq!(recalled(&world).await, [OLD]);
        client.pipe.close().await;
    }
    let world = World::new().with_questions(LONG);
    let id = remember(&world, OLD).await;
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(&world, config, DIALECTS).await;
    let headers = [("mcp-protocol-version", "2025-11-25"), (SESSION, "asks-0")];
    for leaves_by_error in [true, false] {
        let body = request(7, "tools/call", call("forget", json!({"id": id}))).to_string();
        let mut stream = server.begin_at("mememory", &headers, body.as_bytes()).await;
        let question = stream.next().await.unwrap();
        let message = if leaves_by_error {
            json!({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32000, "message": "Connection closed"}})
        } else {
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        };
        let taken = server
            .post_to("mememory", &headers, message.to_string().as_bytes())
            .await;
        assert_eq!(taken.status, 202, "{}", taken.body);
        let reply = stream.next().await;
        if leaves_by_error {
            assert_eq!(reply.unwrap()["result"]["isError"], true);
        } else {
            assert_eq!(reply, None);
        }
        assert_eq!(recalled(&world).await, [OLD]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_cancelled_call_takes_its_question_back_and_deletes_nothing() {
    let world = World::new().with_questions(LONG);
    let id = remember(&world, OLD).await;
    let mut client = Asked::open(&world, "mememory", "2025-11-25").await;
    client
        .pipe
        .send(&request(1, "tools/call", call("forget", json!({"id": id}))))
        .await;
    let question = client.pipe.next().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    client.pipe.send(&cancelled).await;
    let told = client.pipe.next().await;
    assert_eq!(told["method"], "notifications/cancelled");
    assert_eq!(told["params"]["requestId"], question["id"]);
    client.pipe.close().await;
    assert_eq!(recalled(&world).await, [OLD]);
}

#[tokio::test]
async fn a_round_that_is_repeated_stores_and_decides_nothing_twice() {
    let world = World::new().with_questions(LONG);
    remember(&world, OLD).await;
    let mut pipe = Pipe::connect(&world, &mememory::DIALECT);
    let params = call("remember", json!({"content": NEW}));
    let ask = |params: Value| message(1, MODERN, true, "tools/call", params);
    let first = pipe.ask(&ask(params.clone())).await["result"].take();
    let mut again = params.clone();
    again["requestState"] = first["requestState"].clone();
    again["inputResponses"] =
        json!({"person": {"action": "accept", "content": {"answer": "keep_both"}}});
    // Another call does not get the answer.
    let mut other = again.clone();
    other["arguments"]["content"] = json!("Another text.");
    let refused = pipe.ask(&ask(other)).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let done = pipe.ask(&ask(again.clone())).await;
    assert!(
        text_of(&done["result"]).contains("are both right"),
        "{done}"
    );
    for _ in 0..2 {
        let refused = pipe.ask(&ask(again.clone())).await;
        let said = refused["error"]["message"].as_str().unwrap();
        assert!(
            said.contains("`requestState`") && said.contains("look before"),
            "{said}"
        );
    }
    assert_eq!(recalled(&world).await, [OLD, NEW]);
    pipe.close().await;
}

#[tokio::test]
async fn a_late_answer_changes_nothing_but_a_late_no_is_heard() {
    for (answer, deleted) in [(answers("delete"), true), (Person::Is("cancel"), false)] {
        let world = World::new().with_questions(SHORT);
        let id = remember(&world, OLD).await;
        let mut pipe = Pipe::connect(&world, &mememory::DIALECT);
        let params = call("forget", json!({"id": id}));
        let ask = |params: Value| message(1, MODERN, true, "tools/call", params);
        let first = pipe.ask(&ask(params.clone())).await["result"].take();
        tokio::time::sleep(SHORT * 2).await;
        let mut again = params;
        again["requestState"] = first["requestState"].clone();
        again["inputResponses"] = json!({"person": answer.result().unwrap()});
        let done = pipe.ask(&ask(again)).await;
        assert_eq!(done["result"]["isError"] == true, !deleted, "{done}");
        assert_eq!(recalled(&world).await.is_empty(), deleted);
        pipe.close().await;
    }
    let world = World::new().with_questions(SHORT);
    remember(&world, OLD).await;
    let mut pipe = Pipe::connect(&world, &mememory::DIALECT);
    let mut params = call("remember", json!({"content": NEW}));
    let ask = |params: Value| message(1, MODERN, true, "tools/call", params);
    let first = pipe.ask(&ask(params.clone())).await["result"].take();
    tokio::time::sleep(SHORT * 2).await;
    params["requestState"] = first["requestState"].clone();
    params["inputResponses"] = json!({"person": answers("forget_old").result().unwrap()});
    let done = pipe.ask(&ask(params)).await;
    assert!(
        text_of(&done["result"]).starts_with("CONTRADICTION"),
        "{done}"
    );
    assert_eq!(recalled(&world).await, [OLD, NEW]);
    pipe.close().await;
}

#[tokio::test]
async fn a_memory_that_changed_meanwhile_is_left_as_it_is() {
    let world = World::new().with_questions(LONG);
    let old = remember(&world, OLD).await;
    let mut client = Asked::open(&world, "mememory", "2025-11-25").await;
    client
        .pipe
        .send(&request(
            1,
            "tools/call",
            call("remember", json!({"content": NEW})),
        ))
        .await;
    let question = client.pipe.next().await;
    let mut other = Pipe::open(&world, &mememory::DIALECT, MODERN).await;
    let changed = json!({"id": old, "content": "The API listens on port 7070."});
    other
        .request(1, "tools/call", call("update", changed))
        .await;
    other.close().await;
    let result = answers("forget_old").result().unwrap();
    client
        .pipe
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
        .await;
    let reply = client.pipe.next().await["result"].take();
    let text = text_of(&reply);
    assert!(
        text.contains("which failed: this memory was changed"),
        "{text}"
    );
    assert_eq!(recalled(&world).await.len(), 2);
    client.pipe.close().await;
}

/// A call over HTTP of a client of an earlier revision whose person is asked.
async fn asked_over_http(
    server: &Server,
    version: &str,
    params: Value,
    person: &Person,
) -> (Value, Value) {
    let greeted = server
        .post_to(
            "mememory",
            &[],
            greeting(version, true).to_string().as_bytes(),
        )
        .await;
    let session = greeted.headers[SESSION].clone();
    assert!(session.starts_with("asks-"), "{session}");
    let headers = [
        ("mcp-protocol-version", version),
        (SESSION, session.as_str()),
    ];
    let body = request(1, "tools/call", params).to_string();
    let mut stream = server.begin_at("mememory", &headers, body.as_bytes()).await;
    let question = stream.next().await.unwrap();
    if let Some(result) = person.result() {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
        let taken = server
            .post_to("mememory", &headers, answer.to_string().as_bytes())
            .await;
        assert_eq!(taken.status, 202, "{}", taken.body);
    }
    let mut reply = stream.next().await.unwrap();
    if reply["method"] == "notifications/cancelled" {
        assert_eq!(reply["params"]["requestId"], question["id"]);
        reply = stream.next().await.unwrap();
    }
    (question, reply["result"].take())
}

#[tokio::test]
async fn over_http_the_question_comes_in_the_reply_and_the_answer_by_itself() {
    for version in ASKING {
        for (person, limit, deleted) in [
            (answers("delete"), LONG, true),
            (answers("keep"), LONG, false),
            (Person::Is("decline"), LONG, false),
            (Person::Is("cancel"), LONG, false),
            (Person::Silent, SHORT, true),
        ] {
            let world = World::new().with_questions(limit);
            let id = remember(&world, OLD).await;
            let config = HttpConfig::new(Authentication::Anonymous);
            let server = Server::start_serving(&world, config, DIALECTS).await;
            let params = call("forget", json!({"id": id}));
            let (question, result) = asked_over_http(&server, version, params, &person).await;
            assert_eq!(question["method"], "elicitation/create");
            assert_eq!(result["isError"] == true, !deleted, "{version}: {result}");
            assert_eq!(recalled(&world).await.is_empty(), deleted, "{version}");
            // An answer to a question that is over is of no question.
            let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"answer": "delete"}}});
            let late = server
                .post_to(
                    "mememory",
                    &[("mcp-protocol-version", version)],
                    answer.to_string().as_bytes(),
                )
                .await;
            assert_ne!(late.status, 202);
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn a_client_that_hangs_up_with_a_question_deletes_nothing() {
    let world = World::new().with_questions(LONG);
    let id = remember(&world, OLD).await;
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(&world, config, DIALECTS).await;
    let headers = [("mcp-protocol-version", "2025-11-25"), (SESSION, "asks-0")];
    let body = request(1, "tools/call", call("forget", json!({"id": id}))).to_string();
    let mut stream = server.begin_at("mememory", &headers, body.as_bytes()).await;
    let question = stream.next().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    drop(stream);
    server.stop().await;
    assert_eq!(recalled(&world.with_questions(LONG)).await, [OLD]);
}

/// Everything that a client learns that raises each question.
async fn learned(world: &World, version: &'static str) -> Vec<Value> {
    let mut learned = Vec::new();
    let id = remember(world, OLD).await;
    let config = HttpConfig::new(Authentication::Anonymous);
    let server = Server::start_serving(world, config, DIALECTS).await;
    for dialect in DIALECTS {
        let mut pipe = Pipe::connect(world, *dialect);
        let mut asked = vec![("initialize", Value::Null), ("tools/list", json!({}))];
        for tool in dialect.tools {
            let arguments = match tool.name {
                "remember" => json!({"content": NEW}),
                "wipe_user_data" => json!({"user_id": "ann", "confirm": true}),
                "delete_all" => json!({"scope": "attic"}),
                "forget" | "memory_forget" => json!({"id": id}),
                _ => json!({}),
            };
            asked.push(("tools/call", call(tool.name, arguments)));
        }
        for (method, params) in asked {
            let asked = match method {
                "initialize" => greeting(version, false),
                _ => message(1, version, false, method, params.clone()),
            };
            learned.push(pipe.ask(&asked).await);
            if method == "initialize" && version != MODERN {
                let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                pipe.send(&told).await;
            }
            let name = params["name"].as_str().unwrap_or_default();
            let mut headers = vec![("mcp-protocol-version", version)];
            if version == MODERN {
                headers.push(("mcp-method", asked["method"].as_str().unwrap()));
                if !name.is_empty() {
                    headers.push(("mcp-name", name));
                }
            }
            let reply = server
                .post_to(dialect.name, &headers, asked.to_string().as_bytes())
                .await;
            assert!(!reply.headers.contains_key(SESSION));
            learned.push(reply.json());
        }
        pipe.close().await;
    }
    server.stop().await;
    learned
}

#[tokio::test]
async fn a_client_that_does_not_declare_questions_gets_what_it_always_got() {
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut all = Vec::new();
        for asks in [false, true] {
            let world = World::new();
            let world = if asks {
                world.with_questions(LONG)
            } else {
                world
            };
            let texts = learned(&world, version).await;
            let texts: Vec<String> = texts
                .iter()
                .map(|reply| without_ids(&reply.to_string()))
                .collect();
            all.push(texts);
        }
        assert_eq!(all[0], all[1], "{version}");
    }
}

/// A reply without the ids that a store makes up.
fn without_ids(reply: &str) -> String {
    let is_of_id = |character: char| character.is_ascii_hexdigit() || character == '-';
    let mut rest = reply;
    let mut without = String::new();
    while let Some(at) = rest.find(is_of_id) {
        let (before, from) = rest.split_at(at);
        let end = from
            .find(|character| !is_of_id(character))
            .unwrap_or(from.len());
        without.push_str(before);
        without.push_str(if end >= 8 { "ID" } else { &from[..end] });
        rest = &from[end..];
    }
    without + rest
}

#[tokio::test]
async fn earlier_revisions_and_other_ways_to_ask_are_not_used() {
    for (version, declared) in [
        ("2025-03-26", json!({"elicitation": {}})),
        ("2024-11-05", json!({"elicitation": {}})),
        ("2025-11-25", json!({"elicitation": {"url": {}}})),
        ("2025-11-25", json!({"sampling": {}})),
    ] {
        let world = World::new().with_questions(LONG);
        let id = remember(&world, OLD).await;
        let mut pipe = Pipe::connect(&world, &mememory::DIALECT);
        let client = json!({"name": "test", "version": "1"});
        let params =
            json!({"protocolVersion": version, "capabilities": declared, "clientInfo": client});
        pipe.ask(&request(0, "initialize", params)).await;
        pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        let reply = pipe
            .ask(&request(1, "tools/call", call("forget", json!({"id": id}))))
            .await;
        assert_eq!(
            text_of(&reply["result"]),
            format!("Memory {id} deleted"),
            "{version}"
        );
        pipe.close().await;
    }
}
