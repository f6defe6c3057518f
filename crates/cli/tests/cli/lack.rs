//! A machine that gives the program too little: an error and an exit code, not a panic.

use super::world::{Ran, World};

#[test]
fn too_little_address_space_is_an_error_and_no_panic() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_updraft");
    for kilobytes in (90_000..=95_000).step_by(1_000) {
        let limited =
            format!("ulimit -v {kilobytes}; exec timeout -s KILL 60 {program} run --model builtin 'say hello'");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &limited]).current_dir(world.ws()).env("UPDRAFT_HOME", world.home());
        let ran = Ran::of(command.env("RUST_BACKTRACE", "1").output().unwrap());
        assert!(!ran.err.contains("panicked at") && !ran.err.contains("stack backtrace"), "{kilobytes}: {}", ran.err);
        assert_ne!(ran.code, 137, "{kilobytes}: it did not end: {}", ran.err);
    }
}
