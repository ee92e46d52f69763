//! Every revision over both transports.

use loci_server::{Authentication, ServedDialect, ToolPrefix};
use serde_json::{Value, json};

use crate::support::{
    DIALECT, LEGACY, MODERN, PLAIN, Pipe, Server, World, call, initialize, modern, request,
};

const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

#[tokio::test]
async fn every_handshake_is_answered_in_its_revision() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    for version in LEGACY {
        let mut pipe = Pipe::connect(&world, &DIALECT);
        let over_pipe = pipe.ask(&initialize(1, version)).await;
        let over_http = server
            .post(&[], initialize(1, version).to_string().as_bytes())
            .await;
        assert_eq!(over_http.status, 200, "{over_http:?}");
        for (reply, subscribes) in [(over_pipe, true), (over_http.json(), false)] {
            let result = &reply["result"];
            assert_eq!(result["protocolVersion"], version);
            assert_eq!(result["serverInfo"]["name"], "loci");
            assert_eq!(result["instructions"], "Try things here.");
            let resources = if subscribes {
                json!({"subscribe": true})
            } else {
                json!({})
            };
            assert_eq!(
                result["capabilities"],
                json!({"tools": {}, "resources": resources, "completions": {}})
            );
        }
    }
}

#[tokio::test]
async fn an_unknown_revision_gets_the_newest_with_a_handshake() {
    let mut pipe = Pipe::connect(&World::new(), &DIALECT);
    let reply = pipe.ask(&initialize(1, "2031-01-01")).await;
    assert_eq!(reply["result"]["protocolVersion"], "2025-11-25");
}

#[tokio::test]
async fn discovery_tells_what_is_served() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    let mut pipe = Pipe::connect(&world, &DIALECT);
    let over_pipe = pipe.ask(&modern(1, "server/discover", json!({}))).await;
    let over_http = server
        .request(MODERN, &[], "server/discover", json!({}))
        .await
        .json();
    for reply in [over_pipe, over_http] {
        let result = &reply["result"];
        let versions: Vec<&str> = result["supportedVersions"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(versions, [&LEGACY[..], &[MODERN]].concat());
        let capabilities =
            json!({"tools": {}, "resources": {"subscribe": true}, "completions": {}});
        assert_eq!(result["capabilities"], capabilities);
        assert_eq!(result["_meta"][SERVER_INFO]["name"], "loci");
        assert_eq!(result["cacheScope"], "public");
    }
}

#[tokio::test]
async fn a_tool_answers_in_every_revision() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let params = call("echo", json!({"text": "hello"}));
        let over_pipe = pipe.request(7, "tools/call", params.clone()).await;
        let over_http = server
            .request(version, &[], "tools/call", params)
            .await
            .json();
        for (reply, subject) in [(over_pipe, json!("local")), (over_http, Value::Null)] {
            let result = &reply["result"];
            let expected = json!({"text": "hello", "subject": subject});
            assert_eq!(result["structuredContent"], expected, "{version}");
            assert_eq!(result["content"][0]["text"], expected.to_string());
            assert_eq!(result["isError"], false);
            assert_eq!(result.get("resultType").is_some(), version == MODERN);
            assert_eq!(result["_meta"][SERVER_INFO].is_object(), version == MODERN);
        }
        assert!(pipe.close().await.is_empty());
    }
}

#[tokio::test]
async fn the_compact_form_is_the_texts_alone() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    let compact = || ServedDialect {
        is_compact: true,
        ..ServedDialect::from(&DIALECT)
    };
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&world, compact(), version).await;
        for (name, texts) in [
            (
                "echo",
                vec![json!({"text": "hello", "subject": "local"}).to_string()],
            ),
            (
                "noted",
                vec!["[]".to_owned(), "Note: half of it.".to_owned()],
            ),
        ] {
            let arguments = if name == "echo" {
                json!({"text": "hello"})
            } else {
                json!({})
            };
            let reply = pipe.request(1, "tools/call", call(name, arguments)).await;
            let content = reply["result"]["content"].as_array().unwrap();
            let found: Vec<&str> = content
                .iter()
                .map(|item| item["text"].as_str().unwrap())
                .collect();
            assert_eq!(found, texts, "{version}");
            assert_eq!(reply["result"].get("structuredContent"), None, "{version}");
        }
        let over_pipe = pipe.request(2, "tools/list", json!({})).await;
        let message = if version == MODERN {
            modern(3, "tools/list", json!({}))
        } else {
            request(3, "tools/list", json!({}))
        };
        let headers = [
            ("mcp-protocol-version", version),
            ("mcp-method", "tools/list"),
        ];
        let body = message.to_string();
        let by_url = |path: &'static str| server.post_to(path, &headers, body.as_bytes());
        let asked = by_url("test?compact").await.json();
        let declined = by_url("test?compact=0").await.json();
        for (list, is_compact) in [(over_pipe, true), (asked, true), (declined, false)] {
            let tools = list["result"]["tools"].as_array().unwrap();
            assert!(!tools.is_empty());
            for tool in tools {
                assert_eq!(
                    tool.get("outputSchema").is_none(),
                    is_compact,
                    "{version}: {tool}"
                );
                assert!(tool["inputSchema"].is_object());
            }
        }
    }
}

#[tokio::test]
async fn a_prefix_is_part_of_the_names_of_tools() {
    let world = World::new();
    for version in LEGACY.into_iter().chain([MODERN]) {
        let served = ServedDialect {
            prefix: Some(ToolPrefix::parse("prefix", "work").unwrap()),
            ..ServedDialect::from(&DIALECT)
        };
        let mut pipe = Pipe::open(&world, served, version).await;
        let list = pipe.request(1, "tools/list", json!({})).await;
        let names: Vec<&str> = list["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert!(
            names.iter().all(|name| name.starts_with("work_")),
            "{names:?}"
        );
        let echo = |name: &str| call(name, json!({"text": "hello"}));
        let reply = pipe.request(2, "tools/call", echo("work_echo")).await;
        assert_eq!(
            reply["result"]["structuredContent"]["text"], "hello",
            "{version}"
        );
        for name in ["echo", "workecho", "work_", "work_work_echo"] {
            let reply = pipe.request(3, "tools/call", echo(name)).await;
            assert_eq!(reply["error"]["code"], -32602, "{name}: {reply}");
        }
    }
}

#[tokio::test]
async fn other_values_than_objects_are_wrapped_before_2026() {
    let world = World::new();
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let list = pipe.request(1, "tools/list", json!({})).await;
        let schema = &list["result"]["tools"][0]["outputSchema"];
        let reply = pipe
            .request(2, "tools/call", call("numbers", json!({})))
            .await;
        let content = &reply["result"]["structuredContent"];
        assert_eq!(reply["result"]["content"][0]["text"], "[1,2,3]");
        if version == MODERN {
            assert_eq!(schema["type"], "array");
            assert_eq!(*content, json!([1, 2, 3]));
        } else {
            assert_eq!(schema["type"], "object");
            assert_eq!(schema["properties"]["result"]["type"], "array");
            assert_eq!(schema["required"], json!(["result"]));
            assert_eq!(*content, json!({"result": [1, 2, 3]}));
        }
    }
}

#[tokio::test]
async fn the_list_of_tools_is_fixed_and_complete() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &DIALECT, MODERN).await;
    let reply = pipe.request(1, "tools/list", json!({})).await;
    let result = &reply["result"];
    let tools = result["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
            "numbers", "echo", "forget", "panics", "noted", "long", "waits"
        ]
    );
    assert_eq!(result["cacheScope"], "public");
    assert_eq!(result["ttlMs"], 300_000);
    assert_eq!(result["_meta"][SERVER_INFO]["name"], "loci");
    let echo = &tools[1];
    assert_eq!(echo["title"], "Echo");
    assert_eq!(echo["description"], "Says back what it was told.");
    assert_eq!(echo["inputSchema"]["required"], json!(["text"]));
    let hints = json!({
        "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
    });
    assert_eq!(tools[2]["annotations"], hints);
    let needed_at_once = |tool: &&Value| tool["_meta"]["anthropic/alwaysLoad"] == true;
    let needed: Vec<_> = tools
        .iter()
        .filter(needed_at_once)
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(needed, ["numbers", "noted"]);
    let paged = pipe.request(2, "tools/list", json!({"cursor": "x"})).await;
    assert_eq!(paged["error"]["code"], -32602);
}

#[tokio::test]
async fn what_is_not_advertised_is_not_served() {
    let world = World::new();
    let mut pipe = Pipe::open(&world, &PLAIN, "2025-11-25").await;
    let missing = [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "no/such/method",
    ];
    for (id, method) in (1..).zip(missing) {
        let params = json!({
            "name": "x", "uri": "test://x", "level": "info",
            "ref": {"type": "ref/resource", "uri": "test://x"}, "argument": {"name": "x", "value": ""},
        });
        let reply = pipe.request(id, method, params).await;
        assert_eq!(reply["error"]["code"], -32601, "{method}: {reply}");
    }
    let server = Server::start(&world, Authentication::Anonymous).await;
    let subscribe = server
        .request(
            "2025-11-25",
            &[],
            "resources/subscribe",
            json!({"uri": "test://about"}),
        )
        .await;
    assert_eq!(subscribe.json()["error"]["code"], -32601);
    let ping = pipe.ask(&request(40, "ping", json!({}))).await;
    assert_eq!(ping["result"], json!({}));
}

#[tokio::test]
async fn a_request_without_handshake_is_refused_and_the_next_one_served() {
    let mut pipe = Pipe::connect(&World::new(), &DIALECT);
    pipe.send(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}}),
    )
    .await;
    pipe.send(&json!({"jsonrpc": "2.0", "id": 4, "result": {}}))
        .await;
    let refused = pipe.ask(&request(1, "tools/list", json!({}))).await;
    assert_eq!(
        (&refused["id"], &refused["error"]["code"]),
        (&json!(1), &json!(-32602))
    );
    let served = pipe.ask(&modern(2, "tools/list", json!({}))).await;
    assert_eq!(served["result"]["tools"][0]["name"], "numbers");
    assert!(pipe.close().await.is_empty());
}

#[tokio::test]
async fn a_modern_request_over_http_must_say_what_it_is() {
    let server = Server::start(&World::new(), Authentication::Anonymous).await;
    let body = modern(1, "tools/list", json!({})).to_string();
    let no_method = server
        .post(&[("mcp-protocol-version", MODERN)], body.as_bytes())
        .await;
    assert_eq!(
        (no_method.status, &no_method.json()["error"]["code"]),
        (400, &json!(-32020))
    );
    let plain = request(1, "tools/list", json!({})).to_string();
    let headers = [
        ("mcp-protocol-version", MODERN),
        ("mcp-method", "tools/list"),
    ];
    let no_meta = server.post(&headers, plain.as_bytes()).await;
    assert_eq!(
        (no_meta.status, &no_meta.json()["error"]["code"]),
        (400, &json!(-32602))
    );
    let unknown = server.request(MODERN, &[], "no/such", json!({})).await;
    assert_eq!(
        (unknown.status, &unknown.json()["error"]["code"]),
        (404, &json!(-32601))
    );
    for method in [
        "initialize",
        "resources/subscribe",
        "resources/unsubscribe",
        "ping",
        "logging/setLevel",
    ] {
        let removed = server.request(MODERN, &[], method, json!({})).await;
        assert_eq!(
            (removed.status, &removed.json()["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    let get = server
        .send("GET /mcp/test", &[("accept", "text/event-stream")], b"")
        .await;
    assert_eq!(get.status, 405);
}
