//! `loci man`: the manual page, or the pages of all commands.

use std::path::Path;

use clap_mangen::Man;

use crate::cli::command_line;
use crate::exit::{Exit, Failure};
use crate::output::{print, status_line};

pub fn run(out: Option<&Path>) -> Result<(), Failure> {
    let Some(folder) = out else {
        let mut page = Vec::new();
        Man::new(command_line()).render(&mut page)?;
        return Ok(print(String::from_utf8_lossy(&page))?);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command_line(), folder))
        .map_err(|error| {
            let message = format!(
                "the pages cannot be written to {}: {error}; choose another folder",
                folder.display()
            );
            Failure::new(Exit::Failure, message)
        })?;
    status_line(format_args!("wrote the pages to {}", folder.display()));
    Ok(())
}
