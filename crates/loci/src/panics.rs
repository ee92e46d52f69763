//! The message of a panic.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic;
use std::thread;

use crate::output::status_line;

/// Makes panics report their place and never their message, which may quote a caller's text. With
/// `RUST_BACKTRACE` set, they report the frames, too.
pub fn keep_contents_out() {
    panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        let current = thread::current();
        let name = current.name().unwrap_or("without a name");
        status_line(format_args!(
            "error: loci panicked at {place} (thread {name}); please report this"
        ));
        let frames = Backtrace::capture();
        if frames.status() == BacktraceStatus::Captured {
            status_line(format_args!("{frames}"));
        }
    }));
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const CHILD: &str = "TEST_OF_PANICS";

    #[test]
    fn a_panic_is_told_without_its_message() {
        if std::env::var_os(CHILD).is_some() {
            keep_contents_out();
            panic!("a secret");
        }
        let this = concat!(module_path!(), "::a_panic_is_told_without_its_message");
        let this = this.split_once("::").unwrap().1;
        let mut child = Command::new(std::env::current_exe().unwrap());
        let output = child
            .args(["--exact", this, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout);
        assert!(
            !output.status.success() && told.contains("panicked at") && told.contains("panics.rs"),
            "{told}"
        );
        assert!(!told.contains("a secret"), "{told}");
    }
}
