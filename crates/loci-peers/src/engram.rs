//! engram: the points of its collection, as Qdrant's `POST /collections/NAME/points/scroll` returns them,
//! one page or several, whole or a page on each line.

use std::path::Path;

use serde_json::{Map, Value};

use crate::json_file::{self, text, texts};
use crate::json_walk::Lists;
use crate::{Outlet, Owner, PeerCitation, PeerMemory, Result, Sharing, times};

/// The category of a discovery.
const DISCOVERY: &str = "discovery";
/// The attributes that keep their names.
const ATTRIBUTES: [&str; 5] = ["source", "repo", "workspace", "worktree_path", "base_dir"];

/// Where the points of a page are.
const LISTS: Lists<'_> = &[&["result", "points", "*"], &["points", "*"]];

/// Returns true if the file has points of engram.
pub fn wrote(path: &Path) -> bool {
    let is_own = |page: &Map<String, Value>| {
        points(page)
            .first()
            .is_some_and(|point| payload(point).is_some())
    };
    path.is_file()
        && json_file::head(path).contains("\"payload\"")
        && json_file::first_page(path, LISTS)
            .as_ref()
            .is_some_and(is_own)
}

/// Returns the points of a page, or the one that is no page.
fn points(page: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    let result = page
        .get("result")
        .and_then(Value::as_object)
        .unwrap_or(page);
    match result.get("points").and_then(Value::as_array) {
        Some(points) => points.iter().filter_map(Value::as_object).collect(),
        None => vec![result],
    }
}

/// Returns what a point says, if it is one of engram.
fn payload(point: &Map<String, Value>) -> Option<&Map<String, Value>> {
    let payload = point.get("payload")?.as_object()?;
    let is_own = ["content", "scope", "category"]
        .iter()
        .all(|key| payload.contains_key(*key));
    (is_own && point.contains_key("id")).then_some(payload)
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut more = false;
    json_file::pages(path, LISTS, outlet, |page, outlet| {
        put_page(page, &mut more, outlet)
    })?;
    if more {
        outlet.report.notice(
            "the last page names a further one (`next_page_offset`), which is not in the file: ask for it with `offset`",
        );
    }
    Ok(())
}

fn put_page(page: &Map<String, Value>, more: &mut bool, outlet: &mut Outlet<'_>) -> Result<()> {
    let result = page
        .get("result")
        .and_then(Value::as_object)
        .unwrap_or(page);
    *more = result
        .get("next_page_offset")
        .is_some_and(|offset| !offset.is_null());
    for point in points(page) {
        let id = match point.get("id") {
            Some(Value::String(id)) => id.clone(),
            Some(Value::Number(id)) => id.to_string(),
            _ => String::new(),
        };
        match payload(point) {
            Some(said) if !id.is_empty() => put(id, said, outlet)?,
            _ => outlet
                .report
                .leave_out("points that are no memory of engram"),
        }
    }
    Ok(())
}

fn put(id: String, said: &Map<String, Value>, outlet: &mut Outlet<'_>) -> Result<()> {
    let own = |key: &str| text(said, &[key]).map(str::to_owned);
    let seconds = |key: &str| {
        said.get(key)
            .and_then(Value::as_f64)
            .and_then(times::seconds)
    };
    let moment = |key: &str| text(said, &[key]).and_then(times::utc);
    let content = said.get("content").and_then(Value::as_str);
    let mut memory = PeerMemory::new(id, content.unwrap_or_default());
    memory.container = own("scope");
    let category = own("category");
    memory.is_discovery = category.as_deref() == Some(DISCOVERY);
    let kind = own("kind").filter(|_| memory.is_discovery);
    memory.kind = kind.or(category);
    memory.tags = texts(said.get("tags"));
    memory.owner = own("owner").map_or(Owner::Nobody, Owner::User);
    memory.sharing = match own("visibility").as_deref() {
        Some("shared") => Sharing::Shared,
        _ => Sharing::Private,
    };
    memory.actor = own("actor");
    memory.summary = own("summary");
    (memory.created_at, memory.updated_at) = (moment("created_at"), moment("updated_at"));
    memory.expires_at = seconds("not_after");
    if let Some(time) = seconds("not_before") {
        memory.note("not_before", &time.to_string());
    }
    for key in ATTRIBUTES {
        memory.note(key, &own(key).unwrap_or_default());
    }
    let citations = said
        .get("citations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    memory.citations = citations
        .filter_map(|citation| {
            let own = |key: &str| citation[key].as_str().map(str::to_owned);
            Some(PeerCitation {
                kind: own("kind")?,
                reference: own("ref")?,
                locator: own("locator"),
                pin: own("pin"),
                excerpt: own("excerpt"),
            })
        })
        .collect();
    outlet.put_memory(memory)
}
