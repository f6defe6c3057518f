//! What tests with real processes share: the launcher, and whether this machine can confine anything.

use std::io::Write;
use std::path::Path;

use updraft_sandbox::{Policy, Sandbox, SandboxLevel};
use updraft_tools::Confinement;

const LAUNCHER: &str = env!("CARGO_BIN_EXE_updraft-tools-testing");

/// A Python that every Linux system has in the same place, if it has one.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// How children are confined here. Nothing, said past the test runner's capture, where that cannot be tested.
pub(crate) async fn confinement() -> Option<Confinement> {
    let why = match Sandbox::probe(LAUNCHER).await {
        Ok(probe) if probe.level == SandboxLevel::None => "there is no sandbox on this machine".to_owned(),
        Ok(_) if !Path::new(PYTHON).exists() => format!("there is no {PYTHON}"),
        Ok(_) => {
            let path = ("PATH".to_owned(), "/usr/local/bin:/usr/bin:/bin".to_owned());
            let secret = ("OPENAI_API_KEY".to_owned(), "sk-a-secret-of-ours".to_owned());
            let mut confinement = Confinement::new(LAUNCHER, Policy::strict("/nonexistent"));
            confinement.environment = vec![path, secret];
            return Some(confinement);
        }
        Err(error) => error.to_string(),
    };
    std::io::stderr().write_all(format!("!! SKIP: {why}\n").as_bytes()).unwrap();
    None
}
