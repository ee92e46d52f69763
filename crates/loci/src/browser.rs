//! The browser that shows a page to a person.

use serde_json::json;

use crate::exit::Failure;
use crate::output::{Output, status_line};

/// Prints the address of a page, and opens it in a browser unless that is not wanted.
pub fn show(url: &str, output: Output, opens: bool) -> Result<(), Failure> {
    output.either(&json!({ "url": url }), format_args!("{url}\n"))?;
    if opens && let Err(error) = open::that_detached(url) {
        status_line(format_args!(
            "no browser could be opened ({error}); open the address in one, within a minute"
        ));
    }
    Ok(())
}
