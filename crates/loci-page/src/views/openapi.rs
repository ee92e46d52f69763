//! The description of the JSON interface, in OpenAPI.

mod parameters;

use std::collections::BTreeSet;
use std::sync::LazyLock;

use askama::Template;
use axum::Json;
use axum::extract::Request;
use axum::response::{Html, IntoResponse, Response};
use http::header::ACCEPT;
use loci_core::{Error, ErrorCode};
use serde_json::{Map, Value};
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi as Document, Ref};
use utoipa::{Modify, OpenApi};

use crate::failure::{Failure, failure};
use crate::form::{API, Form};
use crate::looks::Looks;
use crate::view::Ui;

use parameters::{example, meaning_of};

use super::{
    admin, as_agent, calls, errands, explain, home, insights, map, memories, memory, memory_tool,
    next_session, palace, people, preview, recalls, review, search, selected, timeline,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "loci",
        description = "The memory of agents, as people see it and set it right. Errors are `{\"error\": {\"code\", \
                       \"message\", \"argument\"}}` with the status that belongs to the code."
    ),
    servers((url = "/api/v1")),
    security(("token" = [])),
    modifiers(&Token, &EachOperation),
    components(schemas(Failure)),
    tags(
        (name = "Home", description = "What is new, and who asked for something."),
        (name = "Search", description = "Memories by a question, and why one is found or not."),
        (name = "Browse", description = "Places, the memories in them, and what is done with these."),
        (name = "Facts", description = "What holds, and when it did."),
        (name = "Review", description = "What a person should decide."),
        (name = "Activity", description = "The calls of agents, and what they got."),
        (name = "Settings", description = "Connected apps, backups, import and export."),
    ),
    paths(
        home::view,
        home::back_up,
        search::view,
        search::results::view,
        search::hits::list,
        search::saved::save,
        search::saved::remove,
        search::facets::view,
        as_agent::view,
        explain::view,
        palace::view,
        palace::room,
        map::view,
        preview::view,
        memories::list,
        memories::store,
        memory_tool::run,
        memories::add_missing,
        memory::view,
        memory::edit,
        memory::restore,
        memory::pin,
        memory::reveal,
        selected::move_to,
        selected::tag,
        selected::share,
        selected::forget,
        selected::unforget,
        selected::delete,
        selected::export,
        timeline::view,
        timeline::entities::entities,
        timeline::entities::list,
        timeline::facts::list,
        timeline::change::add,
        timeline::change::end,
        timeline::change::correct,
        review::view,
        review::list,
        review::change::keep,
        review::change::redact,
        review::change::trust,
        review::change::accept,
        review::change::dismiss,
        recalls::view,
        insights::view,
        calls::list,
        next_session::view,
        next_session::move_memory,
        next_session::unpin,
        next_session::add,
        crate::events::listen,
        errands::backups,
        errands::back_up,
        errands::connect,
        errands::disconnect,
        errands::check,
        errands::make_token,
        errands::revoke_token,
        people::view,
        people::remove,
        people::delete,
        admin::parts::view,
        admin::parts::data,
        admin::parts::access,
        admin::parts::model,
        admin::parts::all_settings,
        admin::parts::about,
        admin::run,
        admin::import,
        admin::import_run,
        admin::import_discard,
        admin::import_undo,
        admin::show_all_users,
        admin::restore,
        admin::export,
    )
)]
struct Interface;

/// Says how a program identifies itself.
struct Token;

impl Modify for Token {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        document
            .components
            .get_or_insert_default()
            .add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

/// Gives each operation the place of the page that it belongs to, and the errors in which every
/// request may end, because the generators of clients know only the answers that are declared.
struct EachOperation;

impl Modify for EachOperation {
    fn modify(&self, document: &mut Document) {
        let components = document.components.get_or_insert_default();
        for code in ErrorCode::ALL {
            let content = ContentBuilder::new()
                .schema(Some(Ref::from_schema_name("Error")))
                .build();
            let response = ResponseBuilder::new()
                .description(meaning(code))
                .content("application/json", content)
                .build();
            let responses = &mut components.responses;
            responses.insert(code.name().to_owned(), response.into());
        }
        for (path, item) in &mut document.paths.paths {
            let operations = [&mut item.get, &mut item.post, &mut item.delete];
            for operation in operations.into_iter().flatten() {
                operation.tags = Some(vec![place(path).to_owned()]);
                let responses = &mut operation.responses.responses;
                for code in ErrorCode::ALL {
                    let status = code.http_status().to_string();
                    responses.insert(status, Ref::from_response_name(code.name()).into());
                }
            }
        }
    }
}

/// Returns the meaning of an error for the author of a client.
fn meaning(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::InvalidArgument => {
            "A parameter is missing, unknown, or has another type or range."
        }
        ErrorCode::NotFound => "There is nothing of this name that you may see.",
        ErrorCode::Conflict => "It was changed since you read it.",
        ErrorCode::Unauthorized => "The token is missing, unknown or expired.",
        ErrorCode::Forbidden => "The token does not permit this.",
        ErrorCode::TooLarge => "The body is larger than the limit.",
        ErrorCode::RateLimited => "Too many requests; the header `Retry-After` says when to go on.",
        ErrorCode::Unavailable | ErrorCode::Corrupt => "The store does not answer now.",
        ErrorCode::Internal => "A fault of loci; its log has the cause.",
    }
}

/// Returns the name of the place of the page that a path belongs to.
fn place(path: &str) -> &'static str {
    match path.split('/').nth(1).unwrap_or_default() {
        "search" | "explain" | "facets" => "Search",
        "browse" | "memories" | "memory" | "memory-tool" | "selected" => "Browse",
        "facts" | "entities" => "Facts",
        "review" | "decisions" => "Review",
        "activity" | "calls" | "insights" | "next-session" => "Activity",
        "settings" | "backups" | "hosts" | "people" | "tokens" => "Settings",
        _ => "Home",
    }
}

/// Returns the description, with an example of each parameter and each field of a request.
fn described() -> Value {
    let mut document = serde_json::to_value(Interface::openapi()).unwrap_or_default();
    let mut bodies = BTreeSet::new();
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    let of_paths = paths.filter_map(|(_, path)| path.as_object_mut());
    for operation in of_paths.flat_map(Map::values_mut) {
        if operation["operationId"] == RUN_ANY {
            operation["deprecated"] = Value::Bool(true);
        }
        let content = &operation["requestBody"]["content"]["application/json"];
        bodies.extend(schema_of(&content["schema"]).map(str::to_owned));
        let parameters = operation.get_mut("parameters");
        for parameter in parameters
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let name = parameter["name"].as_str().unwrap_or_default();
            let meaning = meaning_of(name);
            let (example, is_old) = (example(name, &parameter["schema"]), name == "offset");
            parameter["example"] = example;
            describe(parameter, meaning);
            if is_old {
                parameter["deprecated"] = Value::Bool(true);
            }
        }
    }
    for body in bodies {
        let fields = document["components"]["schemas"][body].get_mut("properties");
        for (name, field) in fields.and_then(Value::as_object_mut).into_iter().flatten() {
            field["example"] = example(name, field);
            describe(field, meaning_of(name));
        }
    }
    document
}

/// Gives a parameter or a field its description, if it has no comment of its own.
fn describe(described: &mut Value, meaning: Option<&str>) {
    if let Some(meaning) = meaning.filter(|_| described.get("description").is_none()) {
        described["description"] = Value::from(meaning);
    }
}

/// Returns the name of the schema that a reference leads to.
fn schema_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.rsplit('/').next()
}

/// The name of the operation that runs any errand.
const RUN_ANY: &str = "keep_run";

static DESCRIBED: LazyLock<Value> = LazyLock::new(described);

/// Sends the description.
pub(crate) async fn send() -> Response {
    Json(&*DESCRIBED).into_response()
}

/// Lists the operations for a person, or sends the description to a program.
pub(crate) async fn show(request: Request) -> Response {
    let accepted = request.headers().get(ACCEPT);
    let is_person = accepted
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.contains("text/html"));
    if !is_person {
        return send().await;
    }
    let ui = Ui::of_stranger(Looks::of(request.headers()));
    let page = Operations {
        ui: &ui,
        groups: groups(&DESCRIBED),
    };
    match page.render() {
        Ok(html) => Html(html).into_response(),
        Err(error) => {
            let error = Error::internal(format!("the operations cannot be shown: {error}"));
            failure(&error, Form::Html, Looks::of(request.headers()))
        }
    }
}

/// The list of operations for people.
#[derive(Template)]
#[template(path = "operations.html")]
struct Operations<'a> {
    ui: &'a Ui,
    groups: Vec<Group>,
}

/// The operations of a place of the page.
struct Group {
    name: String,
    description: String,
    operations: Vec<Operation>,
}

/// An operation.
struct Operation {
    method: String,
    path: String,
    summary: String,
    is_deprecated: bool,
    parameters: Vec<Parameter>,
}

/// A parameter, or a field of the body.
struct Parameter {
    name: String,
    is_required: bool,
    description: String,
    example: String,
}

fn groups(document: &Value) -> Vec<Group> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut groups: Vec<Group> = document["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tag| Group {
            name: text(&tag["name"]),
            description: text(&tag["description"]),
            operations: Vec::new(),
        })
        .collect();
    for (path, operations) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in operations.as_object().into_iter().flatten() {
            let place = groups
                .iter_mut()
                .find(|group| operation["tags"][0] == *group.name);
            let Some(group) = place else { continue };
            group.operations.push(Operation {
                method: method.to_uppercase(),
                path: format!("{API}{path}"),
                summary: text(&operation["summary"]),
                is_deprecated: operation["deprecated"] == true,
                parameters: parameters(document, operation),
            });
        }
    }
    groups.retain(|group| !group.operations.is_empty());
    groups
}

fn parameters(document: &Value, operation: &Value) -> Vec<Parameter> {
    let shown = |name: &str, is_required: bool, value: &Value| Parameter {
        name: name.to_owned(),
        is_required,
        description: value["description"].as_str().unwrap_or_default().to_owned(),
        example: match &value["example"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        },
    };
    let of_path = operation["parameters"].as_array().into_iter().flatten();
    let mut parameters: Vec<Parameter> = of_path
        .map(|value| {
            let name = value["name"].as_str().unwrap_or_default();
            shown(name, value["required"] == true, value)
        })
        .collect();
    let content = &operation["requestBody"]["content"]["application/json"];
    if let Some(schema) = schema_of(&content["schema"]) {
        let schema = &document["components"]["schemas"][schema];
        let required = schema["required"].as_array();
        for (name, value) in schema["properties"].as_object().into_iter().flatten() {
            let is_required = required.is_some_and(|names| names.contains(&name.as_str().into()));
            parameters.push(shown(name, is_required, value));
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_described() {
        let document = serde_json::to_value(Interface::openapi()).unwrap();
        let described = document["paths"].as_object().unwrap();
        let source = include_str!("../views.rs");
        for rest in source.split(".route(\"").skip(1) {
            let path = rest.split('"').next().unwrap_or_default();
            // The first view has a name, too; only a session can take something back
            // and knows what it changed.
            let is_left_out = ["/", "/undo", "/history", "/openapi.json"].contains(&path);
            assert!(is_left_out || described.contains_key(path), "{path}");
        }
    }

    #[test]
    fn every_operation_declares_every_error_and_a_place() {
        let document = serde_json::to_value(Interface::openapi()).unwrap();
        let schemas = &document["components"]["schemas"];
        assert_eq!(schemas["Error"]["required"], serde_json::json!(["error"]));
        let places: Vec<_> = document["tags"].as_array().unwrap().iter().collect();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for operation in operations.as_object().unwrap().values() {
                let tag = &operation["tags"][0];
                assert!(places.iter().any(|place| place["name"] == *tag), "{path}");
                for code in ErrorCode::ALL {
                    let declared = &operation["responses"][code.http_status().to_string()];
                    let expected = format!("#/components/responses/{}", code.name());
                    assert_eq!(declared["$ref"], expected, "{path}");
                }
            }
        }
    }

    #[test]
    fn every_parameter_and_field_of_a_request_has_a_description_and_an_example() {
        let mut lacking = Vec::new();
        for group in groups(&DESCRIBED) {
            for operation in group.operations {
                for parameter in &operation.parameters {
                    if parameter.description.is_empty() || parameter.example.is_empty() {
                        let Operation { method, path, .. } = &operation;
                        lacking.push(format!("{method} {path}: {}", parameter.name));
                    }
                }
            }
        }
        assert_eq!(lacking, [""; 0], "write a comment, and a row in `EXAMPLES`");
    }

    #[test]
    fn what_lists_in_parts_takes_and_gives_the_same() {
        let document = &*DESCRIBED;
        for (path, operations) in document["paths"].as_object().unwrap() {
            let parameters = operations["get"]["parameters"].as_array();
            let names: Vec<&str> = parameters
                .into_iter()
                .flatten()
                .filter_map(|parameter| parameter["name"].as_str())
                .collect();
            if !names.contains(&"cursor") {
                continue;
            }
            assert!(names.contains(&"limit"), "{path}");
            let answer = &operations["get"]["responses"]["200"]["content"]["application/json"];
            let schema = schema_of(&answer["schema"]).unwrap();
            let fields = document["components"]["schemas"][schema]["properties"].as_object();
            for field in ["items", "next_cursor"] {
                assert!(fields.unwrap().contains_key(field), "{path}: {field}");
            }
        }
    }

    #[test]
    fn every_operation_has_a_name_of_its_own_and_words() {
        let document = serde_json::to_value(Interface::openapi()).unwrap();
        let mut names = std::collections::BTreeSet::new();
        for (path, operations) in document["paths"].as_object().unwrap() {
            for operation in operations.as_object().unwrap().values() {
                let summary = operation["summary"].as_str().unwrap_or_default();
                assert!(summary.ends_with('.'), "{path}: {summary:?}");
                assert!(names.insert(operation["operationId"].to_string()), "{path}");
            }
        }
    }
}
