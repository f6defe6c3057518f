//! The model's server, for as long as a test runs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program of `tests/real-model` that printed its address. It ends when its input does, so also when the test dies.
pub(crate) struct Served {
    child: Child,
    /// Where it listens, such as `http://127.0.0.1:41234`.
    pub(crate) address: String,
}

impl Served {
    /// Serves the model, or says loudly that there is none.
    pub(crate) fn model() -> Option<Self> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (Some(model), Some(python)) = (set("UPDRAFT_TEST_MODEL"), set("UPDRAFT_TEST_MODEL_PYTHON")) else {
            let why = "UPDRAFT_TEST_MODEL and UPDRAFT_TEST_MODEL_PYTHON name no model; no real model is asked";
            // Past the test harness, which keeps what passing tests print to itself.
            let _ = writeln!(std::io::stderr(), "!!\n!! SKIP: {why}\n!!");
            return None;
        };
        Some(Self::start(&python, "serve.py", &model))
    }

    /// Stands before a server and takes something out of each request.
    pub(crate) fn relay(before: &Self) -> Self {
        Self::start("python3", "relay.py", &before.address)
    }

    fn start(python: &str, program: &str, argument: &str) -> Self {
        let mut command = Command::new(python);
        command.arg("-B").arg(folder().join(program)).arg(argument);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        assert!(address.starts_with("http://127.0.0.1:"), "{program} says `{address}`");
        Self { child, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real-model")
}
