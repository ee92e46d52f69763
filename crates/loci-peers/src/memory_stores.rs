//! Memory stores of Anthropic: what `GET /v1/memory_stores/{id}/memories?view=full` returns, one page
//! or several, whole or a page on each line.

use std::path::Path;

use serde_json::{Map, Value};

use crate::json_file::{self, text};
use crate::json_walk::Lists;
use crate::{Outlet, PeerMemory, Result, times};

/// The reason for which items are left out.
const OTHERS: &str = "former versions, prefixes and items that are no memory";

/// Where the items of a page are.
const LISTS: Lists<'_> = &[&["data", "*"]];

/// Returns true if the file has a page of a memory store.
pub fn wrote(path: &Path) -> bool {
    path.is_file()
        && json_file::head(path).contains("\"memory_store_id\"")
        && json_file::first_page(path, LISTS).is_some_and(|page| !items(&page).is_empty())
}

/// Returns the memories and other items of a page, or the one that is no page.
fn items(page: &Map<String, Value>) -> Vec<&Map<String, Value>> {
    match page.get("data").and_then(Value::as_array) {
        Some(list) => list.iter().filter_map(Value::as_object).collect(),
        None if page.contains_key("memory_store_id") => vec![page],
        None => Vec::new(),
    }
}

pub fn read(path: &Path, outlet: &mut Outlet<'_>) -> Result<()> {
    let mut more = None;
    json_file::pages(path, LISTS, outlet, |page, outlet| {
        put_page(page, &mut more, outlet)
    })?;
    if let Some(page) = more {
        outlet.report.notice(format!(
            "the last page names a further one ({page}), which is not in the file"
        ));
    }
    Ok(())
}

fn put_page(
    page: &Map<String, Value>,
    more: &mut Option<String>,
    outlet: &mut Outlet<'_>,
) -> Result<()> {
    *more = text(page, &["next_page"]).map(str::to_owned);
    for item in items(page) {
        let (id, place) = (text(item, &["id"]), text(item, &["path"]));
        let is_version = item.contains_key("operation");
        let (Some(id), Some(place), false) = (id, place, is_version) else {
            outlet.report.leave_out(OTHERS);
            continue;
        };
        let Some(content) = item.get("content").and_then(Value::as_str) else {
            outlet
                .report
                .leave_out("memories without their text, which `view=full` asks for");
            continue;
        };
        let mut memory = PeerMemory::new(id, content);
        memory.title = Some(place.to_owned());
        memory.container = text(item, &["memory_store_id"]).map(str::to_owned);
        memory.note("source_file", place);
        let moment = |key: &str| text(item, &[key]).and_then(times::utc);
        (memory.created_at, memory.updated_at) = (moment("created_at"), moment("updated_at"));
        outlet.put_memory(memory)?;
    }
    Ok(())
}
