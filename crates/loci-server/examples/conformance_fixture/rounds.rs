//! Tools and a prompt that need answers from the client first (2026-07-28).

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ErrorData,
    GetPromptRequestParams, GetPromptResponse, InputRequiredResult, InputResponses,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use crate::{Fixture, typed};

/// Returns a request that asks the user for one value.
fn question(message: &str, name: &str, kind: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {name: {"type": kind}}, "required": [name]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

/// Returns a request to the client's model.
fn sampling(text: &str, tokens_max: u32) -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": text}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": tokens_max}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

fn required(requests: Value, state: Option<String>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = json!({"resultType": "input_required", "inputRequests": requests});
    if let Some(state) = state {
        result["requestState"] = json!(state);
    }
    typed(result)
}

fn done(text: &str) -> Result<CallToolResponse, ErrorData> {
    typed::<CallToolResult>(
        json!({"resultType": "complete", "content": [{"type": "text", "text": text}]}),
    )
    .map(CallToolResponse::Complete)
}

/// Returns the answer to `key` if it exists and has the required member.
fn answer<'a>(responses: Option<&'a InputResponses>, key: &str, member: &str) -> Option<&'a Value> {
    let value = responses?.get(key)?.get(member)?;
    if value.is_null() { None } else { Some(value) }
}

/// Calls a tool of several rounds; returns `None` for any other tool.
pub fn call(
    fixture: &Fixture,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let responses = request.input_responses.as_ref();
    let has = |key: &str, member: &str| answer(responses, key, member).is_some();
    let name = request.name.strip_prefix("test_input_required_result_");
    let response = match name.unwrap_or(&request.name) {
        "elicitation" => match answer(responses, "user_name", "content")
            .and_then(|content| content["name"].as_str())
        {
            Some(name) => done(&format!("Hello, {name}!"))?,
            None => required(
                json!({"user_name": question("What is your name?", "name", "string")}),
                None,
            )?
            .into(),
        },
        "test_streaming_elicitation" if has("confirm", "content") => done("confirmed")?,
        "test_streaming_elicitation" => required(
            json!({"confirm": question("Shall it go on?", "ok", "boolean")}),
            None,
        )?
        .into(),
        "sampling" => match answer(responses, "capital_question", "content") {
            Some(content) => done(content["text"].as_str().unwrap_or_default())?,
            None => required(
                json!({"capital_question": sampling("What is the capital of France?", 100)}),
                None,
            )?
            .into(),
        },
        "list_roots" => match answer(responses, "client_roots", "roots") {
            Some(roots) => done(&format!("The roots are {roots}"))?,
            None => required(json!({"client_roots": roots()}), None)?.into(),
        },
        "request_state" | "tampered_state" => confirmed(fixture, request)?,
        "multiple_inputs" => several(fixture, request)?,
        "multi_round" => one_by_one(fixture, request)?,
        "capabilities" => by_capability(context)?,
        "test_missing_capability" => {
            let needed: ClientCapabilities = typed(json!({"sampling": {}}))?;
            if context
                .client_capabilities()
                .is_none_or(|capabilities| capabilities.sampling.is_none())
            {
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            done("the client samples")?
        }
        _ => return Ok(None),
    };
    Ok(Some(response))
}

fn confirmed(
    fixture: &Fixture,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = &request.request_state {
        fixture.take_state(state)?;
        if answer(request.input_responses.as_ref(), "confirm", "content").is_some() {
            return done("state-ok");
        }
    }
    let state = fixture.give_state("confirm");
    Ok(required(
        json!({"confirm": question("Please confirm", "ok", "boolean")}),
        Some(state),
    )?
    .into())
}

fn several(
    fixture: &Fixture,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    if let Some(state) = &request.request_state {
        fixture.take_state(state)?;
        let responses = request.input_responses.as_ref();
        let needed = [
            ("user_name", "content"),
            ("greeting", "content"),
            ("client_roots", "roots"),
        ];
        if needed
            .iter()
            .all(|(key, member)| answer(responses, key, member).is_some())
        {
            return done("all three are there");
        }
    }
    let requests = json!({
        "user_name": question("What is your name?", "name", "string"),
        "greeting": sampling("Generate a greeting", 50),
        "client_roots": roots(),
    });
    Ok(required(requests, Some(fixture.give_state("several")))?.into())
}

fn one_by_one(
    fixture: &Fixture,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let round = request
        .request_state
        .as_deref()
        .map(|state| fixture.take_state(state))
        .transpose()?;
    let has = |key: &str| answer(request.input_responses.as_ref(), key, "content").is_some();
    match round.as_deref() {
        Some("two") if has("step2") => done("both steps are done"),
        Some("one") if has("step1") => {
            let requests = json!({"step2": question("Step 2: What is your favorite color?", "color", "string")});
            Ok(required(requests, Some(fixture.give_state("two")))?.into())
        }
        _ => {
            let requests =
                json!({"step1": question("Step 1: What is your name?", "name", "string")});
            Ok(required(requests, Some(fixture.give_state("one")))?.into())
        }
    }
}

fn by_capability(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
    let capabilities = context.client_capabilities().unwrap_or_default();
    let mut requests = json!({});
    if capabilities.sampling.is_some() {
        requests["sampled"] = sampling("Say something", 50);
    }
    if capabilities.elicitation.is_some() {
        requests["asked"] = question("Say something", "text", "string");
    }
    Ok(required(requests, None)?.into())
}

pub fn prompt(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let Some(content) = answer(request.input_responses.as_ref(), "user_context", "content") else {
        let requests = json!({"user_context": question("What context should the prompt use?", "context", "string")});
        return Ok(required(requests, None)?.into());
    };
    let text = format!(
        "Use this context: {}",
        content["context"].as_str().unwrap_or_default()
    );
    let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    typed(json!({"resultType": "complete", "messages": messages})).map(GetPromptResponse::Complete)
}
