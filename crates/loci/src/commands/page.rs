//! `loci page`: opens the page in a browser.

use std::fs;
use std::time::Duration;

use loci_core::ErrorCode;
use loci_http::{check_ready, sign_in_path};

use super::serve;
use crate::browser::show;
use crate::cli::{self, Serve};
use crate::exit::Failure;
use crate::output::{Output, status_line};
use crate::own_server::running_url;
use crate::secret;
use crate::settings::Settings;

/// The time for the answer of a server on this machine.
const TIMEOUT: Duration = Duration::from_secs(3);

pub fn run(settings: &Settings, arguments: &cli::Page, output: Output) -> Result<(), Failure> {
    let opens = !arguments.print;
    let Some(url) = running_url(&settings.data) else {
        return serve::run_with_page(settings, &Serve::default(), output, opens);
    };
    check_ready("bind", &url, TIMEOUT)?;
    let token = fs::read_to_string(secret::file_in(&settings.data)).ok();
    let path = match sign_in_path(&url, token.as_deref().map(str::trim), TIMEOUT) {
        Ok(path) => path,
        Err(error) if error.code == ErrorCode::Unauthorized => {
            status_line(format_args!(
                "{}; sign in with another one (`loci token create`)",
                error.message
            ));
            "/sign-in".to_owned()
        }
        Err(error) => return Err(error.into()),
    };
    show(&format!("{url}{path}"), output, opens)
}
