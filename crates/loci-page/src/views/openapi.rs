//! The description of the JSON interface, in OpenAPI.

use axum::Json;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{
    activity, admin, as_agent, explain, map, memory, palace, recalls, review, search, selected,
    timeline,
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
    modifiers(&Token),
    paths(
        activity::view,
        search::view,
        as_agent::view,
        explain::view,
        palace::view,
        palace::room,
        map::view,
        memory::view,
        memory::edit,
        memory::pin,
        selected::move_to,
        selected::tag,
        selected::share,
        selected::forget,
        selected::unforget,
        selected::delete,
        timeline::view,
        timeline::entities::entities,
        timeline::change::add,
        timeline::change::end,
        timeline::change::correct,
        review::view,
        review::change::keep,
        review::change::redact,
        review::change::trust,
        review::change::accept,
        review::change::dismiss,
        recalls::view,
        admin::view,
        admin::run,
        admin::import,
        admin::import_run,
        admin::import_discard,
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

/// Sends the description.
pub(crate) async fn send() -> Response {
    Json(Interface::openapi()).into_response()
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
            // The first view has another path, and only a session can take something back.
            let is_left_out = ["/", "/undo", "/openapi.json"].contains(&path);
            assert!(is_left_out || described.contains_key(path), "{path}");
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
