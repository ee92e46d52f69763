//! Tools, prompts and resources that answer immediately.

use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ErrorData, GetPromptRequestParams, GetPromptResult,
    ReadResourceResult, ServerNotification, ServerRequest,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::{DEFINITIONS, Fixture, ListChange, is_modern, typed};

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A WAV file without samples.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const PAUSE: Duration = Duration::from_millis(50);

fn text(text: impl Into<String>) -> Value {
    json!([{"type": "text", "text": text.into()}])
}

pub async fn call(
    fixture: &Fixture,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
    let content = match request.name.as_ref() {
        "test_error_handling" => {
            let content = text("This tool intentionally returns an error for testing");
            return typed(json!({"resultType": "complete", "content": content, "isError": true}));
        }
        "test_tool_with_logging" => logging(&context).await?,
        "test_tool_with_progress" => progress(&context).await?,
        "test_logging_tool" => {
            if context.meta.log_level().is_some() {
                log(&context, "asked for").await?;
            }
            text("done")
        }
        "test_trigger_tool_change" => changed(fixture, ListChange::Tools),
        "test_trigger_prompt_change" => changed(fixture, ListChange::Prompts),
        "test_sampling" => {
            let message =
                json!({"role": "user", "content": {"type": "text", "text": argument("prompt")}});
            let params = json!({"messages": [message], "maxTokens": 100});
            let answer = ask(&context, "sampling/createMessage", params).await?;
            text(format!(
                "LLM response: {}",
                answer["content"]["text"].as_str().unwrap_or_default()
            ))
        }
        "test_elicitation" => {
            let params =
                json!({"message": argument("message"), "requestedSchema": DEFINITIONS["contact"]});
            elicited(
                "User response",
                &ask(&context, "elicitation/create", params).await?,
            )
        }
        "test_elicitation_sep1034_defaults" => elicited(
            "Elicitation completed",
            &ask(
                &context,
                "elicitation/create",
                DEFINITIONS["defaults"].clone(),
            )
            .await?,
        ),
        "test_elicitation_sep1330_enums" => elicited(
            "Elicitation completed",
            &ask(&context, "elicitation/create", DEFINITIONS["enums"].clone()).await?,
        ),
        "test_header_parameter" => text(argument("region")),
        name => constant(name)
            .ok_or_else(|| ErrorData::invalid_params(format!("there is no tool `{name}`"), None))?,
    };
    typed(json!({"resultType": "complete", "content": content}))
}

/// Returns the content of a tool whose answer is always the same.
fn constant(name: &str) -> Option<Value> {
    Some(match name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => json!([{"type": "image", "data": PNG, "mimeType": "image/png"}]),
        "test_audio_content" => json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]),
        "test_embedded_resource" => json!([{"type": "resource", "resource": {
            "uri": "test://embedded-resource", "mimeType": "text/plain", "text": "This is an embedded resource content.",
        }}]),
        "test_multiple_content_types" => json!([
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource", "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": r#"{"test":"data","value":123}"#,
            }},
        ]),
        "json_schema_2020_12_tool" => text("done"),
        _ => return None,
    })
}

fn changed(fixture: &Fixture, change: ListChange) -> Value {
    // Sending fails when no client is listening, which is fine.
    let _ = fixture.changes.send(change);
    text("done")
}

fn elicited(what: &str, answer: &Value) -> Value {
    let (action, content) = (
        answer["action"].as_str().unwrap_or_default(),
        &answer["content"],
    );
    text(format!("{what}: action={action}, content={content}"))
}

/// Sends the client a request, as servers could before revision 2026-07-28.
async fn ask(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorData> {
    let request: ServerRequest = typed(json!({"method": method, "params": params}))?;
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn notify(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<(), ErrorData> {
    let notification: ServerNotification = typed(json!({"method": method, "params": params}))?;
    let sent = context.peer.send_notification(notification).await;
    sent.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn log(context: &RequestContext<RoleServer>, message: &str) -> Result<(), ErrorData> {
    notify(
        context,
        "notifications/message",
        json!({"level": "info", "data": message}),
    )
    .await
}

async fn logging(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    if !is_modern(context) {
        log(context, "Tool execution started").await?;
        tokio::time::sleep(PAUSE).await;
        log(context, "Tool processing data").await?;
        tokio::time::sleep(PAUSE).await;
        log(context, "Tool execution completed").await?;
    }
    Ok(text("done"))
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<Value, ErrorData> {
    if let Some(token) = context.meta.get_progress_token() {
        for progress in [0, 50, 100] {
            let params = json!({"progressToken": token, "progress": progress, "total": 100});
            notify(context, "notifications/progress", params).await?;
            tokio::time::sleep(PAUSE).await;
        }
    }
    Ok(text("done"))
}

pub fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let argument = |name: &str| {
        request
            .arguments
            .as_ref()
            .and_then(|arguments| arguments.get(name)?.as_str())
    };
    let argument = |name: &str| argument(name).unwrap_or_default().to_owned();
    let said = |text: String| json!({"role": "user", "content": {"type": "text", "text": text}});
    let messages = match request.name.as_str() {
        "test_simple_prompt" => json!([said("This is a simple prompt for testing.".to_owned())]),
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            json!([said(format!(
                "Prompt with arguments: arg1='{first}', arg2='{second}'"
            ))])
        }
        "test_prompt_with_embedded_resource" => json!([
            {"role": "user", "content": {"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain", "text": "Embedded resource content for testing.",
            }}},
            said("Please process the embedded resource above.".to_owned()),
        ]),
        "test_prompt_with_image" => json!([
            {"role": "user", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
            said("Please analyze the image above.".to_owned()),
        ]),
        name => {
            return Err(ErrorData::invalid_params(
                format!("there is no prompt `{name}`"),
                None,
            ));
        }
    };
    typed(json!({"resultType": "complete", "messages": messages}))
}

pub fn read(uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let template = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let content = match (uri, template) {
        ("test://static-text", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "This is the content of the static text resource."})
        }
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "Watch me."})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        (_, Some(id)) => {
            let data =
                json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            json!({"uri": uri, "mimeType": "application/json", "text": data.to_string()})
        }
        _ => {
            return Err(ErrorData::resource_not_found(
                "there is no such resource",
                Some(json!({"uri": uri})),
            ));
        }
    };
    typed(json!({"resultType": "complete", "contents": [content]}))
}
