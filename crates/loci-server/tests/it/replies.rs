//! Results, failures and protocol errors.

use loci_server::Authentication;
use serde_json::{Value, json};

use crate::support::{DIALECT, LEGACY, MODERN, Pipe, Server, World, call, set_resource};

#[tokio::test]
async fn an_unknown_tool_is_a_protocol_error() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    let reply = pipe
        .request(1, "tools/call", call("nothing", json!({})))
        .await;
    assert_eq!(reply["error"]["code"], -32602);
    assert!(
        reply["error"]["message"]
            .as_str()
            .unwrap()
            .contains("`nothing`")
    );
}

#[tokio::test]
async fn faulty_arguments_are_failures_that_name_the_argument() {
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&World::new(), &DIALECT, version).await;
        let rows = [json!({}), json!({"text": 1}), json!({"text": ""})];
        for (id, arguments) in (1..).zip(rows) {
            let reply = pipe
                .request(id, "tools/call", call("echo", arguments))
                .await;
            let result = &reply["result"];
            assert_eq!(result["isError"], true, "{reply}");
            let error = json!({"code": "invalid_argument", "status": 400, "argument": "text"});
            assert_eq!(result["_meta"]["loci/error"], error);
            // Clients validate it against the tool's schema, even if the call failed.
            assert_eq!(result.get("structuredContent"), None);
            assert!(
                result["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("text")
            );
        }
        let unknown = pipe
            .request(
                9,
                "tools/call",
                call("echo", json!({"text": "a", "colour": "red"})),
            )
            .await;
        assert!(
            unknown["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains("colour")
        );
    }
}

#[tokio::test]
async fn absent_arguments_are_none() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-06-18").await;
    let reply = pipe
        .request(1, "tools/call", json!({"name": "numbers"}))
        .await;
    assert_eq!(reply["result"]["isError"], false);
    let null = pipe
        .request(
            2,
            "tools/call",
            json!({"name": "numbers", "arguments": null}),
        )
        .await;
    assert_eq!(null["result"]["isError"], false);
}

#[tokio::test]
async fn parameters_of_the_wrong_shape_are_a_protocol_error() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    let mut pipe = Pipe::open(&world, &DIALECT, "2025-11-25").await;
    let rows = [
        ("tools/call", json!({"name": "echo", "arguments": [1]})),
        ("tools/call", json!({"arguments": {}})),
        ("resources/read", json!({"uri": 5})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/nothing"}}),
        ),
        ("initialize", json!({})),
    ];
    for (id, (method, params)) in (1..).zip(rows) {
        let over_pipe = pipe.request(id, method, params.clone()).await;
        assert_eq!(
            (&over_pipe["id"], &over_pipe["error"]["code"]),
            (&json!(id), &json!(-32602)),
            "{method}"
        );
        let over_http = server.request("2025-11-25", &[], method, params).await;
        assert_eq!(over_http.json()["error"]["code"], -32602, "{method}");
    }
}

#[tokio::test]
async fn notice_and_explanations_are_in_the_metadata() {
    let world = World::new();
    let server = Server::start(&world, Authentication::Anonymous).await;
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let mut params = call("noted", json!({}));
        let unasked = pipe.request(1, "tools/call", params.clone()).await;
        assert_eq!(
            unasked["result"]["_meta"].get("loci/hits"),
            None,
            "{unasked}"
        );
        assert_eq!(unasked["result"]["_meta"]["loci/notice"], "half of it");
        params["_meta"] = json!({"loci/hits": true});
        let over_pipe = pipe.request(2, "tools/call", params.clone()).await;
        let over_http = server
            .request(version, &[], "tools/call", params)
            .await
            .json();
        for reply in [over_pipe, over_http] {
            assert_eq!(
                reply["result"]["_meta"]["loci/notice"], "half of it",
                "{version}: {reply}"
            );
            // A program can parse the first text.
            let texts: Vec<&Value> = reply["result"]["content"]
                .as_array()
                .unwrap()
                .iter()
                .map(|item| &item["text"])
                .collect();
            assert_eq!(texts, ["[]", "Note: half of it."]);
            let structured = if version == MODERN {
                json!([])
            } else {
                json!({"result": []})
            };
            assert_eq!(reply["result"]["structuredContent"], structured);
            assert_eq!(
                reply["result"]["_meta"]["loci/hits"],
                json!([{"id": "a", "final": 0.5}])
            );
        }
        let none = pipe
            .request(3, "tools/call", call("numbers", json!({})))
            .await;
        for key in ["loci/notice", "loci/hits"] {
            assert_eq!(none["result"]["_meta"].get(key), None);
        }
    }
}

#[tokio::test]
async fn a_panic_is_an_internal_failure_and_service_goes_on() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, MODERN).await;
    let reply = pipe
        .request(1, "tools/call", call("panics", json!({})))
        .await;
    assert_eq!(reply["result"]["isError"], true);
    assert_eq!(reply["result"]["_meta"]["loci/error"]["code"], "internal");
    let next = pipe
        .request(2, "tools/call", call("numbers", json!({})))
        .await;
    assert_eq!(next["result"]["isError"], false);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let world = World::new();
    set_resource(&world, "read-me", "# Read me");
    for version in LEGACY.into_iter().chain([MODERN]) {
        let mut pipe = Pipe::open(&world, &DIALECT, version).await;
        let list = pipe.request(1, "resources/list", json!({})).await;
        assert_eq!(list["result"]["resources"][0]["uri"], "test://about");
        let templates = pipe.request(2, "resources/templates/list", json!({})).await;
        assert_eq!(
            templates["result"]["resourceTemplates"][0]["uriTemplate"],
            "test://note/{name}"
        );
        let note = pipe
            .request(3, "resources/read", json!({"uri": "test://note/read-me"}))
            .await;
        let contents = json!([{"uri": "test://note/read-me", "mimeType": "text/markdown", "text": "# Read me"}]);
        assert_eq!(note["result"]["contents"], contents);
        let expected = if version == MODERN {
            json!("private")
        } else {
            Value::Null
        };
        assert_eq!(note["result"]["cacheScope"], expected);
        let unknown = pipe
            .request(
                4,
                "resources/read",
                json!({"uri": "test://note/nobody-wrote-it"}),
            )
            .await;
        let code = if version == MODERN { -32602 } else { -32002 };
        assert_eq!(unknown["error"]["code"], code, "{version}");
        assert_eq!(
            unknown["error"]["data"]["uri"],
            "test://note/nobody-wrote-it"
        );
    }
}

#[tokio::test]
async fn completions_are_at_most_a_hundred() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    let ask = |uri: &str, name: &str, value: &str| json!({"ref": {"type": "ref/resource", "uri": uri}, "argument": {"name": name, "value": value}});
    let all = pipe
        .request(
            1,
            "completion/complete",
            ask("test://note/{name}", "name", ""),
        )
        .await;
    let completion = &all["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(150), &json!(true))
    );
    let few = pipe
        .request(
            2,
            "completion/complete",
            ask("test://note/{name}", "name", "n149"),
        )
        .await;
    assert_eq!(
        few["result"]["completion"],
        json!({"values": ["n149"], "total": 1, "hasMore": false})
    );
    let unknown = pipe
        .request(
            3,
            "completion/complete",
            ask("test://note/{name}", "colour", ""),
        )
        .await;
    assert_eq!(unknown["error"]["code"], -32602);
    let prompt =
        json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "x", "value": ""}});
    assert_eq!(
        pipe.request(4, "completion/complete", prompt).await["error"]["code"],
        -32602
    );
}

#[tokio::test]
async fn replies_that_are_due_at_the_end_of_input_are_written() {
    let mut pipe = Pipe::open(&World::new(), &DIALECT, "2025-11-25").await;
    for id in 1..=100 {
        pipe.send(&crate::support::request(
            id,
            "tools/call",
            call("echo", json!({"text": "x"})),
        ))
        .await;
    }
    let mut ids: Vec<_> = pipe
        .close()
        .await
        .iter()
        .map(|reply| reply["id"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=100).collect::<Vec<_>>());
}
