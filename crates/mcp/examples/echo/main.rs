//! What an MCP call costs: an echo tool of ours, of the bare SDK, and of the official Python and TypeScript SDKs.
//!
//! `cargo run --release -p updraft-mcp --example echo -- NODE_PACKAGES PYTHON` measures all of them in one run, over pipes and
//! HTTP; the two arguments are what tests/mcp/packages.py prints for tests/mcp/clients/package.json, and
//! tests/judges/environment.py for the requirements beside it. Compare ratios only: the figures depend on what else the
//! machine does.
#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement starts processes and prints figures"
)]

mod drive;
mod serve;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use drive::{Figures, over_http, over_pipes};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Rounds; the best of each counts, since others use the machine too.
const ROUNDS: usize = 3;

fn main() -> Outcome<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve", who, "stdio"] => serve::stdio(who),
        ["serve", who, "http", port] => serve::http(who, port.parse()?),
        [packages, python] => measure(Path::new(packages), python),
        _ => Err("usage: echo NODE_PACKAGES PYTHON".into()),
    }
}

/// How each server is started: a name, a program and its first arguments.
fn servers(packages: &Path, python: &str, folder: &Path) -> Outcome<Vec<(&'static str, String, Vec<String>)>> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/bench");
    // Modules are looked for beside the file that imports them.
    std::os::unix::fs::symlink(packages.join("node_modules"), folder.join("node_modules"))?;
    std::fs::copy(scripts.join("echo.mjs"), folder.join("echo.mjs"))?;
    let ourselves = std::env::current_exe()?.display().to_string();
    let node = packages.join("node_modules/node/bin/node").display().to_string();
    let text = |path: std::path::PathBuf| path.display().to_string();
    let serve = |who: &str| vec!["serve".to_owned(), who.to_owned()];
    Ok(vec![
        ("ours", ourselves.clone(), serve("ours")),
        ("rmcp", ourselves, serve("bare")),
        ("Python", python.to_owned(), vec![text(scripts.join("echo.py"))]),
        ("TypeScript", node, vec![text(folder.join("echo.mjs"))]),
    ])
}

fn start(program: &str, args: &[String], more: &[&str]) -> Outcome<Child> {
    let mut command = Command::new(program);
    command.args(args).args(more).stdin(Stdio::piped()).stderr(Stdio::null());
    // Over HTTP nobody reads what it prints, and a pipe that is full would hold it up.
    command.stdout(if more == ["stdio"] { Stdio::piped() } else { Stdio::null() });
    Ok(command.spawn()?)
}

fn measure(packages: &Path, python: &str) -> Outcome<()> {
    let folder = std::env::temp_dir().join(format!("updraft-echo-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let servers = servers(packages, python, &folder)?;
    for way in ["stdio", "http"] {
        let mut best: Vec<Figures> = vec![Figures::default(); servers.len()];
        for _ in 0..ROUNDS {
            for ((name, program, args), best) in servers.iter().zip(&mut best) {
                let figures = one(way, program, args).map_err(|error| format!("{name} over {way}: {error}"))?;
                best.keep_better(&figures);
            }
        }
        println!("{way}");
        let ours = best[0].clone();
        for ((name, ..), figures) in servers.iter().zip(&best) {
            let (times, slower) = (ours.rate / figures.rate, figures.middle.as_secs_f64() / ours.middle.as_secs_f64());
            println!(
                "  {name:10}  p50 {:>8.0} µs  p99 {:>8.0} µs  {:>8.0} calls/s at 16   ours: {times:.2}× its throughput; its p50: {slower:.2}× ours",
                figures.middle.as_secs_f64() * 1e6,
                figures.slow.as_secs_f64() * 1e6,
                figures.rate
            );
        }
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn one(way: &str, program: &str, args: &[String]) -> Outcome<Figures> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut child = match way {
        "stdio" => start(program, args, &["stdio"])?,
        _ => start(program, args, &["http", &port.to_string()])?,
    };
    let figures = if way == "stdio" { over_pipes(&mut child) } else { over_http(port) };
    child.kill()?;
    child.wait()?;
    figures
}
