//! `updraft man`: prints the manual page, or writes one for each command, made from the argument definitions.

use std::path::Path;

use clap::CommandFactory;

use crate::args::{CliArgs, ManArgs};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::out;

pub(crate) fn run(args: &ManArgs) -> CliResult {
    if let Some(folder) = &args.out {
        return write_all(folder);
    }
    let mut page = Vec::new();
    page_of(&mut page).map_err(|error| CliError::failed(format!("could not make the manual page: {error}")))?;
    out::print(&String::from_utf8_lossy(&page));
    Ok(CliExitCode::Done)
}

/// Writes `updraft.1`, `updraft-run.1` and so on, as packages ship them.
fn write_all(folder: &Path) -> CliResult {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(CliArgs::command(), folder))
        .map_err(|error| CliError::file("write manual pages to", folder, &error))?;
    Ok(CliExitCode::Done)
}

/// The page, with the options of each command below its name.
fn page_of(page: &mut Vec<u8>) -> std::io::Result<()> {
    let mut command = CliArgs::command();
    command.build();
    let man = clap_mangen::Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name().to_uppercase();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        page.extend_from_slice(format!(".SH \"UPDRAFT {name}\"\n{about}.\n.PP\n").as_bytes());
        let man = clap_mangen::Man::new(command.clone());
        let mut part = Vec::new();
        man.render_synopsis_section(&mut part)?;
        man.render_options_section(&mut part)?;
        man.render_extra_section(&mut part)?;
        page.extend_from_slice(String::from_utf8_lossy(&part).replace(".SH ", ".SS ").as_bytes());
    }
    man.render_extra_section(page)?;
    man.render_version_section(page)
}
