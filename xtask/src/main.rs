//! The house rules that no compiler checks: `cargo xtask check`; and what is made from the workspace: prices, packages.
//!
//! Each rule is a pure function from what was read to a list of [`Fault`]s; this file reads, prints and counts.

mod arrows;
mod clippy_files;
mod exceptions;
mod fault;
mod maps;
mod measure;
mod names;
mod package;
mod prices;
mod reading_order;
mod reference;
mod site;
mod sizes;
mod tree;
mod words;

use std::path::Path;
use std::process::ExitCode;

use fault::Fault;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check     all of the below
  arrows    no crate depends on one it must not know
  sizes     files and functions stay readable, every file says what it is for
  maps      tables of files in doc comments name files that exist
  reading   the files of ARCHITECTURE's reading order exist and are one sitting
  names     types are nouns, and one name means one thing
  words     no path of somebody's own machine in a file we publish
  links     every page of the documentation is in its contents, and no link is broken
  reference docs/reference/events.md and api.md say what the sources say

  site [--out DIR]     build the documentation as a site (target/site)
  reference --write    write docs/reference anew, after a change of commands, settings, events or the API
  prices    write crates/models/data/prices anew, after an update of `genai-prices`
  package   make the release archive, wheel, npm packages and Debian package of a program
";

/// A rule by its name, and what it finds wrong in the workspace at `root`.
type Rule = (&'static str, fn(&Path) -> Result<Vec<Fault>, String>);

const RULES: [Rule; 8] = [
    ("arrows", arrows::check),
    ("sizes", sizes::check),
    ("maps", maps::check),
    ("reading", reading_order::check),
    ("names", names::check),
    ("words", words::check),
    ("links", site::check),
    ("reference", reference::check),
];

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool speaks by printing")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let written = match words.as_slice() {
        ["prices"] => Some(prices::write(tree::root()).map(|written| format!("{} files written", written.len()))),
        ["site"] => Some(site::write(tree::root(), None)),
        ["site", "--out", folder] => Some(site::write(tree::root(), Some(folder))),
        ["reference", "--write"] => Some(reference::write(tree::root())),
        ["package", ..] => Some(package::run(tree::root(), &arguments[1..])),
        _ => None,
    };
    if let Some(written) = written {
        return match written {
            Ok(said) => {
                println!("{}: {said}", words[0]);
                ExitCode::SUCCESS
            }
            Err(why) => {
                eprintln!("{}: {why}", words[0]);
                ExitCode::FAILURE
            }
        };
    }
    let chosen: Vec<&Rule> = match words.as_slice() {
        ["check"] => RULES.iter().collect(),
        [only] => RULES.iter().filter(|(name, _)| name == only).collect(),
        _ => Vec::new(),
    };
    if chosen.is_empty() {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    }

    let root = tree::root();
    let mut faults = 0;
    for (name, check) in chosen {
        match check(root) {
            Ok(found) if found.is_empty() => println!("{name}: ok"),
            Ok(found) => {
                faults += found.len();
                for fault in found {
                    eprintln!("{name}: {fault}");
                }
            }
            Err(why) => {
                faults += 1;
                eprintln!("{name}: could not check: {why}");
            }
        }
    }
    if faults == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!("{faults} to put right");
    ExitCode::FAILURE
}
