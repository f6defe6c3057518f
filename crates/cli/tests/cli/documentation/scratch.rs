//! A scratch folder for one page: an empty home, a small project, `updraft` on the path, and ports of its own.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use super::blocks::Block;
use super::page_script::PageScript;

/// What a page's blocks find in their folder.
const PROJECT: [(&str, &str); 4] = [
    ("README.md", "# Tides\n\nTides computes when high water comes. It survives a crash by writing a journal first.\n"),
    ("CHANGELOG.md", "# Changes\n\n## 1.2\n\n- Ports may be given by name.\n"),
    ("notes.md", "# Notes\n\nThe branch for releases is `main`. March was the best month.\n"),
    ("sales.csv", "month,total\n2026-01,120\n2026-02,95\n2026-03,180\n"),
];

/// Ports that pages name, which other programs may have here: each page gets others in their place.
const PORTS: [&str; 2] = ["7717", "8888"];

/// Runs the blocks of a page; what is wrong with them.
pub(crate) fn try_page(name: &str, blocks: &[Block]) -> Vec<String> {
    let mut script = PageScript::of(blocks);
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path();
    furnish(scratch);
    let ports: Vec<(&str, String)> = PORTS.map(|port| (port, free_port())).into();
    for (port, other) in &ports {
        script.text = script.text.replace(&format!(":{port}"), &format!(":{other}"));
    }
    std::fs::write(scratch.join("page.sh"), &script.text).unwrap();
    let output = bash(scratch, &ports).output().unwrap();
    let mut faults = script.faults;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let last: Vec<&str> = said.iter().flat_map(|text| text.lines().rev().take(40).collect::<Vec<_>>()).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        let place = std::fs::read_to_string(scratch.join("fault")).unwrap_or_else(|_| format!("{name}: failed"));
        faults.push(format!("{place}\n{}", last.join("\n")));
        return faults;
    }
    for (number, expected) in script.outputs.iter().enumerate() {
        let printed = std::fs::read_to_string(scratch.join(format!("output.{number}"))).unwrap_or_default();
        faults.extend(expected.compare(&printed));
    }
    faults
}

fn furnish(scratch: &Path) {
    for folder in ["home", "bin", "project/docs"] {
        std::fs::create_dir_all(scratch.join(folder)).unwrap();
    }
    for (file, text) in PROJECT {
        std::fs::write(scratch.join("project").join(file), text).unwrap();
    }
    let wrapper = scratch.join("bin/updraft");
    std::fs::write(&wrapper, include_str!("updraft.sh")).unwrap();
    std::fs::set_permissions(&wrapper, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(scratch.join("functions.sh"), include_str!("functions.sh")).unwrap();
}

/// Bash with nothing of this user's: no keys, no settings, no way to the network but loopback.
fn bash(scratch: &Path, ports: &[(&str, String)]) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    // A block that waits for ever must not hold up all other tests.
    let mut command = Command::new("timeout");
    command.env_clear().args(["--kill-after=10", "240", "bash"]);
    command.arg(scratch.join("functions.sh")).arg(scratch.join("page.sh"));
    command.current_dir(scratch.join("project")).stdin(Stdio::null());
    command
        .env("PATH", format!("{}:{path}", scratch.join("bin").display()))
        .env("HOME", scratch.join("home"))
        .env("DOC_SCRATCH", scratch)
        .env("DOC_ROOT", super::root())
        .env("DOC_UPDRAFT", env!("CARGO_BIN_EXE_updraft"))
        .envs(ports.iter().map(|(port, other)| (format!("DOC_PORT_{port}"), other)))
        .env("http_proxy", "http://127.0.0.1:9")
        .env("https_proxy", "http://127.0.0.1:9")
        .env("no_proxy", "127.0.0.1,localhost")
        .env("LANG", "C.UTF-8")
        .env("NO_COLOR", "1");
    command
}

/// A port that nobody listens at.
fn free_port() -> String {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap().port().to_string()
}
