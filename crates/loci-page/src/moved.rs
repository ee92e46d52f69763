//! The paths that views had before, which lead to the paths that they have now, because bookmarks and
//! programs name them.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use http::header::LOCATION;
use http::{HeaderValue, StatusCode, Uri};

use crate::page::Page;

/// The first parts of paths as they were, and as they are; the longer one of two comes first.
const MOVED: [(&str, &str); 6] = [
    ("/palace/map", "/browse/overview"),
    ("/palace", "/browse"),
    ("/time", "/facts"),
    ("/keep", "/settings"),
    ("/recalls", "/activity"),
    ("/now", "/home"),
];
/// The view that a page shows without a path, and the JSON interface under a name.
const HOME: &str = "/home";

/// Returns the routes of the former paths behind a prefix, which a nested router does not see.
pub(crate) fn routes(prefix: &'static str) -> Router<Arc<Page>> {
    let formers = MOVED.iter().map(|(former, _)| *former);
    let lead = any(move |uri: Uri| ready(lead(prefix, &uri)));
    formers.fold(Router::new(), |routes, former| {
        let routes = routes.route(former, lead.clone());
        // The rest of a longer path is a part of the shorter one.
        if former.matches('/').count() > 1 {
            routes
        } else {
            routes.route(&format!("{former}/{{*rest}}"), lead.clone())
        }
    })
}

fn lead(prefix: &str, uri: &Uri) -> Response {
    let location = now_at(
        prefix,
        uri.path_and_query().map_or("/", |path| path.as_str()),
    );
    let location = location.and_then(|location| HeaderValue::try_from(location).ok());
    match location {
        // With 308 a client repeats the method and the body of a change.
        Some(location) => (StatusCode::PERMANENT_REDIRECT, [(LOCATION, location)]).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns the present path of a former one behind a prefix, with its query.
fn now_at(prefix: &str, path: &str) -> Option<String> {
    let (present, rest) = MOVED.iter().find_map(|(former, present)| {
        let rest = path.strip_prefix(former)?;
        let is_whole = rest.is_empty() || rest.starts_with(['/', '?']);
        is_whole.then_some((*present, rest))
    })?;
    if prefix.is_empty() && present == HOME {
        return Some(format!("/{}", rest.trim_start_matches('/')));
    }
    Some(format!("{prefix}{present}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn former_paths_lead_to_the_present_ones() {
        let rows = [
            ("/palace", Some("/browse")),
            (
                "/palace/room?wing=a&room=b",
                Some("/browse/room?wing=a&room=b"),
            ),
            ("/palace/map", Some("/browse/overview")),
            ("/palace/mapped", Some("/browse/mapped")),
            ("/time?entity=max", Some("/facts?entity=max")),
            ("/time/add", Some("/facts/add")),
            ("/keep/import/run", Some("/settings/import/run")),
            ("/recalls?days=7", Some("/activity?days=7")),
            ("/now", Some("/")),
            ("/timeless", None),
            ("/browse", None),
        ];
        for (former, present) in rows {
            assert_eq!(now_at("", former).as_deref(), present, "{former}");
        }
        // A server of another name is never where a former path leads.
        let evil = now_at("", "/now//evil.example");
        assert_eq!(evil.as_deref(), Some("/evil.example"));
        let of_interface = now_at("/api/v1", "/now");
        assert_eq!(of_interface.as_deref(), Some("/api/v1/home"));
    }
}
