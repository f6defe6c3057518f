//! The judge: a process that judges requests and plays the services, one for all tests of this binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

/// `host:port` of the judge; nothing, and a loud word, where there is no Python for it.
pub(crate) fn judge() -> Option<&'static str> {
    // It ends when its standard input does, and that is kept here until we end.
    static JUDGE: LazyLock<Option<(Child, String)>> = LazyLock::new(start);
    JUDGE.as_ref().map(|(_, address)| address.as_str())
}

fn start() -> Option<(Child, String)> {
    let Some(python) = std::env::var("UPDRAFT_TEST_PYTHON").ok().filter(|python| !python.is_empty()) else {
        // Past the test harness, which keeps what passing tests print to itself.
        let why = "UPDRAFT_TEST_PYTHON names no Python with the official clients; dialects are not held against them";
        let _ = writeln!(std::io::stderr(), "!!\n!! SKIP: {why}\n!!");
        return None;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/judges/judge.py");
    let mut command = Command::new(python);
    command.arg(script).arg("--serve").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().to_owned();
    Some((child, address))
}
