//! A machine that gives the program too few threads: an error and an exit code, not a panic.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use super::world::{Ran, World};

#[test]
fn too_few_threads_are_an_error_and_no_panic() {
    let world = World::new();
    let folder = world.ws().parent().unwrap().to_owned();
    let program = folder.join("updraft");
    let built = env!("CARGO_BIN_EXE_updraft");
    std::fs::hard_link(built, &program).or_else(|_| std::fs::copy(built, &program).map(drop)).unwrap();
    for open in [&folder, &world.ws()] {
        std::fs::set_permissions(open, std::fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut errors = 0;
    for threads in 1..=6 {
        // The limit is on all threads of a user, and root has none: so where we are root, a user nobody else is.
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "60"]);
        if rustix::process::geteuid().is_root() {
            command.args(["setpriv", "--reuid=64321", "--regid=64321", "--clear-groups"]);
        }
        command.arg("prlimit").arg(format!("--nproc={threads}")).arg(&program);
        command.args(["run", "--model", "builtin", "say hello"]).current_dir(world.ws());
        command.env("UPDRAFT_HOME", world.home()).env("RUST_BACKTRACE", "1");
        let ran = Ran::of(command.output().unwrap());
        assert!(!ran.err.contains("panicked at") && !ran.err.contains("stack backtrace"), "{threads}: {}", ran.err);
        assert!(matches!(ran.code, 0 | 1), "{threads}: {}: {}", ran.code, ran.err);
        if ran.code == 1 {
            assert!(ran.err.contains("Resource temporarily unavailable"), "{threads}: {}", ran.err);
            errors += 1;
        }
    }
    assert!(errors > 0, "no limit was too low, so nothing was tested");
}
