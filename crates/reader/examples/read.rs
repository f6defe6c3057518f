//! Prints a file as Markdown: `read FILE [--json] [--pages 1-3] [--sheet NAME]`.

use std::process::ExitCode;

use updraft_reader::{PageSelection, ReadOptions, read};

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (mut path, mut is_json, mut options) = (String::new(), false, ReadOptions::default());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => is_json = true,
            "--pages" => options.pages = arguments.next().and_then(|pages| PageSelection::parse(&pages).ok()),
            "--sheet" => options.sheet = arguments.next(),
            _ => path = argument,
        }
    }
    let document = std::fs::read(&path).map_err(|error| error.to_string());
    let document = document.and_then(|bytes| read(&bytes, &path, &options).map_err(|error| error.to_string()));
    match document {
        Ok(document) if is_json => println!("{}", serde_json::to_string_pretty(&document).unwrap_or_default()),
        Ok(document) => {
            print!("{}", document.to_markdown());
            for warning in &document.warnings {
                eprintln!("warning: {warning}");
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
