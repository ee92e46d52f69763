//! A call without the required scope never happens, in any revision and with any headers.

use loci_core::{AuditQuery, ErrorCode, Ownership, Result, Scope, Scopes, Space};
use loci_dialects::{DIALECTS, Dialect, Hints, Reply as ToolReply, Tool, TypedTool};
use loci_engine::Call;
use loci_server::{Authentication, HttpConfig};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::support::{
    LEGACY, MODERN, NO_USUAL_TOOLS, Reply, Server, World, call, modern, request, with_issuer,
};

/// The tokens of these tests and their scopes.
const TOKENS: [(&str, &[Scope]); 4] = [
    ("reader", &[Scope::Read]),
    ("writer", &[Scope::Write]),
    ("idle", &[]),
    ("ann", &[Scope::Read, Scope::Write]),
];

/// Returns each revision, and true if the message is sent in a batch.
fn eras() -> impl Iterator<Item = (&'static str, bool)> {
    LEGACY
        .into_iter()
        .chain([MODERN])
        .map(|version| (version, false))
        .chain([("2025-03-26", true)])
}

/// Returns minimal arguments that a schema allows: only the required ones, with minimal values.
/// Names are the user's.
fn least(schema: &Value, user: &str) -> Value {
    if let Some(branch) = ["anyOf", "oneOf"]
        .iter()
        .find_map(|keyword| schema.get(*keyword)?.get(0))
    {
        return least(branch, user);
    }
    if let Some(value) = schema
        .get("enum")
        .and_then(|values| values.get(0))
        .or_else(|| schema.get("const"))
    {
        return value.clone();
    }
    match schema["type"]
        .as_str()
        .or_else(|| schema["type"][0].as_str())
    {
        Some("object") => {
            let required = schema["required"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            let least_of = |name: &str| (name.to_owned(), least(&schema["properties"][name], user));
            Value::Object(required.map(least_of).collect::<Map<_, _>>())
        }
        Some("array") => {
            let count = schema["minItems"].as_u64().unwrap_or(1);
            (0..count).map(|_| least(&schema["items"], user)).collect()
        }
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        _ => json!(user),
    }
}

/// True if a token with these scopes may call the tool.
fn may_call(scopes: &[Scope], tool: &Tool) -> bool {
    tool.scopes()
        .iter()
        .all(|scope| Scopes::of(scopes).allow(scope))
}

/// Calls a tool as clients of a revision do.
async fn call_in(
    server: &Server,
    dialect: &Dialect,
    (version, in_batch): (&str, bool),
    token: &str,
    name_header: Option<&str>,
    params: &Value,
) -> Reply {
    let message = if version == MODERN {
        modern(1, "tools/call", params.clone())
    } else {
        request(1, "tools/call", params.clone())
    };
    let message = if in_batch { json!([message]) } else { message };
    let authorization = format!("Bearer secret-of-{token}");
    let mut headers = vec![
        ("authorization", authorization.as_str()),
        ("mcp-protocol-version", version),
        ("mcp-method", "tools/call"),
    ];
    headers.extend(name_header.map(|name| ("mcp-name", name)));
    server
        .post_to(dialect.name, &headers, message.to_string().as_bytes())
        .await
}

/// Fails unless the reply says that the scope is lacking.
fn check_denied(reply: &Reply, in_batch: bool, tool: &Tool, what: &str) {
    let names: Vec<&str> = tool.scopes().iter().map(Scope::name).collect();
    if in_batch {
        assert_eq!(reply.status, 200, "{what}");
        let result = &reply.json()[0]["result"];
        let plural = if names.len() > 1 { "s" } else { "" };
        let text = format!(
            "{} needs a token with the scope{plural} `{}`",
            tool.name,
            names.join("` and `")
        );
        assert_eq!(
            (&result["isError"], &result["content"][0]["text"]),
            (&json!(true), &json!(text)),
            "{what}"
        );
        return;
    }
    assert_eq!(reply.status, 403, "{what}");
    let body = reply.json();
    assert_eq!(
        (&body["id"], &body["error"]["data"]["code"]),
        (&json!(1), &json!("forbidden")),
        "{what}"
    );
    let challenge = &reply.headers["www-authenticate"];
    assert!(
        challenge.contains("error=\"insufficient_scope\""),
        "{what}: {challenge}"
    );
    let scopes: Vec<String> = names.iter().map(|name| format!("memory:{name}")).collect();
    assert!(
        challenge.contains(&format!("scope=\"{}\"", scopes.join(" "))),
        "{what}: {challenge}"
    );
}

#[test]
fn a_tool_that_may_change_something_needs_more_than_to_read() {
    for (dialect, tool) in DIALECTS
        .iter()
        .flat_map(|dialect| dialect.tools.iter().map(move |tool| (dialect, tool)))
    {
        // Without arguments it only shows the settings; with arguments it checks the scope itself.
        let only_shows = tool.name == "mempalace_hook_settings";
        assert_eq!(
            tool.scope == Scope::Read,
            tool.hints.read_only || only_shows,
            "{}: {}",
            dialect.name,
            tool.name
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_of_any_dialect_runs_without_its_scopes_in_any_revision() {
    let (_, _, authentication) = with_issuer();
    let world = World::new();
    let server = Server::start_serving(&world, HttpConfig::new(authentication), DIALECTS).await;
    let version = world.engine.version(&Space::default()).unwrap();
    let mut denied = 0;
    for dialect in DIALECTS {
        for tool in dialect.tools {
            let forged = dialect
                .tools
                .iter()
                .find(|other| other.scope != tool.scope)
                .map(|other| Some(other.name));
            for (token, _) in TOKENS
                .into_iter()
                .filter(|(_, scopes)| !may_call(scopes, tool))
            {
                let params = call(tool.name, least(&Value::Object(tool.input_schema()), token));
                for era in eras() {
                    for name_header in [Some(tool.name), None].into_iter().chain(forged) {
                        let reply =
                            call_in(&server, dialect, era, token, name_header, &params).await;
                        let what = format!(
                            "{} {} {token} {era:?} {name_header:?}",
                            dialect.name, tool.name
                        );
                        check_denied(&reply, era.1, tool, &what);
                        denied += 1;
                    }
                }
            }
        }
    }
    assert_eq!(
        world.engine.version(&Space::default()).unwrap(),
        version,
        "something was written"
    );
    let noted = world
        .engine
        .audit()
        .entries(&AuditQuery {
            limit: usize::MAX,
            ..AuditQuery::default()
        })
        .unwrap();
    assert_eq!(noted.len(), denied);
    for (_, entry) in noted {
        assert_eq!(
            entry.failure.map(|failure| failure.code),
            Some(ErrorCode::Forbidden),
            "{}",
            entry.tool
        );
    }
}

/// Makes the same calls with the required scopes, so that the test above cannot pass for another
/// reason.
#[tokio::test(flavor = "multi_thread")]
async fn with_its_scopes_every_tool_runs_in_every_revision() {
    let (_, _, authentication) = with_issuer();
    let world = World::new();
    let server = Server::start_serving(&world, HttpConfig::new(authentication), DIALECTS).await;
    for dialect in DIALECTS {
        let version = world.engine.version(&Space::default()).unwrap();
        for tool in dialect.tools {
            for (token, _) in TOKENS
                .into_iter()
                .filter(|(_, scopes)| may_call(scopes, tool))
            {
                let params = call(tool.name, least(&Value::Object(tool.input_schema()), token));
                for era in eras() {
                    let reply =
                        call_in(&server, dialect, era, token, Some(tool.name), &params).await;
                    let what = format!("{} {} {token} {era:?} {reply:?}", dialect.name, tool.name);
                    let body = if era.1 {
                        reply.json()[0].clone()
                    } else {
                        reply.json()
                    };
                    assert!(
                        reply.status == 200 && body.get("result").is_some(),
                        "{what}"
                    );
                    assert!(
                        !reply.body.contains("needs a token with the scope"),
                        "{what}"
                    );
                }
            }
        }
        // The least call of the memory tool is a look, and the tools of `openai` only read.
        let writes = !["anthropic", "openai"].contains(&dialect.name);
        assert!(
            !writes || world.engine.version(&Space::default()).unwrap() > version,
            "no tool of {} wrote anything",
            dialect.name
        );
    }
}

#[tokio::test]
async fn a_refusal_says_how_to_get_the_scope() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let metadata = format!(
        "resource_metadata=\"http://{}/.well-known/oauth-protected-resource/mcp/test\"",
        server.address
    );
    let rows = [
        (
            "secret-of-reader",
            "make one with `loci token create --subject NAME --scopes read,write`",
        ),
        (
            "secret-of-idle",
            "make one with `loci token create --subject NAME --scopes write`",
        ),
        (
            "issued.ann",
            "get one from https://issuer.example with `memory:write`",
        ),
    ];
    for (token, how) in rows {
        let headers = [("authorization", format!("Bearer {token}"))];
        let headers = headers
            .each_ref()
            .map(|(name, value)| (*name, value.as_str()));
        let reply = server
            .request(MODERN, &headers, "tools/call", call("forget", json!({})))
            .await;
        let message = format!("`forget` needs the scope `write`, which this token lacks; {how}");
        let body = json!({
            "jsonrpc": "2.0", "id": 1,
            "error": {"code": -32600, "message": message, "data": {"code": "forbidden", "status": 403}},
        });
        assert_eq!((reply.status, reply.json()), (403, body));
        assert_eq!(reply.headers["content-type"], "application/json");
        let challenge = format!(
            "Bearer realm=\"loci\", error=\"insufficient_scope\", error_description=\"{message}\", scope=\"memory:write\", {metadata}"
        );
        assert_eq!(reply.headers["www-authenticate"], challenge);
    }
}

#[tokio::test]
async fn a_refusal_names_every_scope_at_once() {
    let (_, _, authentication) = with_issuer();
    let server =
        Server::start_serving(&World::new(), HttpConfig::new(authentication), DIALECTS).await;
    let params = call("update", json!({"id": "m", "content": "text"}));
    let both = "`update` needs the scopes `read` and `write`, not all of which this token has";
    let rows = [
        (
            "secret-of-reader",
            "make one with `loci token create --subject NAME --scopes read,write`",
        ),
        (
            "secret-of-writer",
            "make one with `loci token create --subject NAME --scopes read,write`",
        ),
        (
            "issued.ann",
            "get one from https://issuer.example with `memory:read memory:write`",
        ),
    ];
    for (token, how) in rows {
        let bearer = format!("Bearer {token}");
        let body = request(1, "tools/call", params.clone()).to_string();
        let reply = server
            .post_to("mememory", &[("authorization", &bearer)], body.as_bytes())
            .await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["message"]),
            (403, &json!(format!("{both}; {how}")))
        );
        assert!(
            reply.headers["www-authenticate"].contains("scope=\"memory:read memory:write\""),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn what_is_in_resources_needs_the_scope_to_read() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    let template = json!({"type": "ref/resource", "uri": "test://note/{name}"});
    let rows = [
        (
            "resources/read",
            json!({"uri": "test://about"}),
            &["2025-11-25", MODERN][..],
        ),
        (
            "resources/subscribe",
            json!({"uri": "test://about"}),
            &["2025-11-25"],
        ),
        (
            "completion/complete",
            json!({"ref": template, "argument": {"name": "name", "value": "n"}}),
            &["2025-11-25", MODERN],
        ),
        (
            "subscriptions/listen",
            json!({"notifications": {"resourceSubscriptions": ["test://about"]}}),
            &[MODERN],
        ),
    ];
    for (method, params, versions) in rows {
        for version in versions {
            let headers = [("authorization", "Bearer secret-of-writer")];
            let reply = server
                .request(version, &headers, method, params.clone())
                .await;
            assert_eq!(
                (reply.status, &reply.json()["id"]),
                (403, &json!(1)),
                "{method} {version}"
            );
            assert!(
                reply.headers["www-authenticate"].contains("scope=\"memory:read\""),
                "{method} {version}"
            );
            let message = &reply.json()["error"]["message"];
            assert!(
                message
                    .as_str()
                    .unwrap()
                    .starts_with(&format!("`{method}` needs the scope `read`")),
                "{message}"
            );
        }
    }
    // In a batch the handler refuses.
    let batch = json!([
        request(1, "resources/read", json!({"uri": "test://about"})),
        request(
            2,
            "completion/complete",
            json!({"ref": template, "argument": {"name": "name", "value": "n"}})
        ),
        request(3, "resources/list", json!({})),
    ]);
    let reply = server
        .post(
            &[("authorization", "Bearer secret-of-writer")],
            batch.to_string().as_bytes(),
        )
        .await;
    let replies = reply.json();
    assert_eq!(reply.status, 200);
    assert_eq!(replies[0]["error"]["data"]["code"], "forbidden");
    assert_eq!(replies[1]["error"]["data"]["code"], "forbidden");
    assert!(replies[2]["result"].is_object());
}

#[tokio::test]
async fn a_header_that_contradicts_the_body_is_refused_even_with_the_scope() {
    let (_, _, authentication) = with_issuer();
    let server = Server::start(&World::new(), authentication).await;
    for (version, status) in [("2025-11-25", 200), (MODERN, 400)] {
        let era = (version, false);
        let params = call("forget", json!({}));
        let reply = call_in(
            &server,
            &crate::support::DIALECT,
            era,
            "ann",
            Some("echo"),
            &params,
        )
        .await;
        assert_eq!(reply.status, status, "{reply:?}");
        if version == MODERN {
            assert_eq!(reply.json()["error"]["code"], -32020);
        }
    }
}

/// Takes nothing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

struct Rule;

impl TypedTool for Rule {
    const NAME: &'static str = "rule";
    const TITLE: &'static str = "Rule";
    const SCOPE: Scope = Scope::Admin;
    const HINTS: Hints = Hints::REPLACES;
    const OPERATION: &'static str = "test";
    type Arguments = NoArguments;
    type Output = Value;

    fn run(_call: &Call<'_>, _arguments: NoArguments) -> Result<ToolReply> {
        ToolReply::json(&json!({}), None)
    }
}

static ADMIN_TOOLS: [Tool; 1] = [Tool::of::<Rule>()];
static ADMIN: Dialect = Dialect {
    name: "admin",
    title: "Admin",
    instructions: "",
    usual_tools: NO_USUAL_TOOLS,
    ownership: Ownership::Usual,
    user_argument: None,
    tools: &ADMIN_TOOLS,
    resources: None,
};

#[tokio::test]
async fn admin_is_for_its_token_alone() {
    let (_, _, authentication) = with_issuer();
    let world = World::new();
    let server = Server::start_serving(&world, HttpConfig::new(authentication), &[&ADMIN]).await;
    let params = call("rule", json!({}));
    for (token, status) in [("root", 200), ("ann", 403)] {
        let reply = call_in(&server, &ADMIN, ("2025-11-25", false), token, None, &params).await;
        assert_eq!(reply.status, status, "{reply:?}");
    }
    let open = Server::start_serving(
        &world,
        HttpConfig::new(Authentication::Anonymous),
        &[&ADMIN],
    )
    .await;
    let reply = call_in(
        &open,
        &ADMIN,
        ("2025-11-25", false),
        "nobody",
        None,
        &params,
    )
    .await;
    let message =
        "`rule` needs the scope `admin`, which no caller has on a server without authentication";
    assert_eq!(
        (reply.status, &reply.json()["error"]["message"]),
        (403, &json!(message))
    );
}
