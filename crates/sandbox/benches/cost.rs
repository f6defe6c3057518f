//! What each layer of the sandbox costs per command, as a difference to a plain spawn.
//!
//! `cargo bench -p updraft-sandbox` prints the table; `-- 500` takes another number of rounds. The variants take turns,
//! so that a busy moment of the machine falls on all of them.

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a program for people")]

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use updraft_sandbox::{Command, Network, Policy, Sandbox, SandboxLevel};

const LAUNCHER: &str = env!("CARGO_BIN_EXE_updraft-sandbox-testing");

/// Something to start, and what it is measured against.
struct Variant {
    name: &'static str,
    kind: Kind,
    times: Vec<Duration>,
}

enum Kind {
    Plain,
    Sandboxed(Sandbox, Box<Policy>),
}

fn main() {
    let rounds = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(200);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(rounds));
}

async fn measure(rounds: usize) {
    let probe = Sandbox::probe(LAUNCHER).await.unwrap();
    let (small, large) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fill(large.path(), 200, 20);
    let began = Instant::now();
    Sandbox::new(LAUNCHER, SandboxLevel::Full).unwrap();
    println!("level {}, Landlock {}, {rounds} rounds of /bin/true", probe.level, probe.landlock_abi);
    println!("filters compiled once per process: {:.2} ms\n", milliseconds(began.elapsed()));
    let mut variants = variants(probe.level, small.path(), large.path());
    for _ in 0..rounds {
        for variant in &mut variants {
            let began = Instant::now();
            variant.kind.run().await;
            variant.times.push(began.elapsed());
        }
    }
    print(&mut variants);
    let _ = std::fs::remove_dir(small.path().with_extension("staged"));
    for level in [SandboxLevel::Full, SandboxLevel::Landlock].into_iter().filter(|level| *level <= probe.level) {
        print_steps(&Sandbox::new(LAUNCHER, level).unwrap(), rounds).await;
    }
}

/// The launcher's own account of its set-up: the middle value of each step.
async fn print_steps(sandbox: &Sandbox, rounds: usize) {
    let mut steps: Vec<(String, Vec<Duration>)> = Vec::new();
    for _ in 0..rounds {
        for (at, step) in sandbox.timings().await.unwrap().into_iter().enumerate() {
            match steps.get_mut(at) {
                Some((_, times)) => times.push(step.time),
                None => steps.push((step.name, vec![step.time])),
            }
        }
    }
    println!("\nsteps of level {}, p50 ms", sandbox.level());
    for (name, mut times) in steps {
        times.sort();
        println!("  {name:<30} {:>6.3}", milliseconds(times[times.len() / 2]));
    }
}

fn variants(level: SandboxLevel, small: &Path, large: &Path) -> Vec<Variant> {
    let sandboxed = |name, level, policy| {
        let kind = Kind::Sandboxed(Sandbox::new(LAUNCHER, level).unwrap(), Box::new(policy));
        Variant { name, kind, times: Vec::new() }
    };
    let host = |folder: &Path| Policy { network: Network::Host, ..Policy::strict(folder) };
    let named = Policy { network: Network::Allow(vec!["example.com".parse().unwrap()]), ..Policy::strict(small) };
    let staged = Policy { staged: Some(small.with_extension("staged")), ..Policy::strict(small) };
    let all = [
        sandboxed("launcher: second exec, limits, watching", SandboxLevel::None, host(small)),
        sandboxed("+ Landlock, seccomp, guard", SandboxLevel::Landlock, host(small)),
        sandboxed("+ namespaces and own root, host's network", SandboxLevel::Full, host(small)),
        sandboxed("+ own network: everything", SandboxLevel::Full, Policy::strict(small)),
        sandboxed("everything, changes gathered", SandboxLevel::Full, staged),
        sandboxed("everything, with the proxy", SandboxLevel::Full, named),
        sandboxed("everything, 4,000 files in 200 folders", SandboxLevel::Full, Policy::strict(large)),
    ];
    let has = |variant: &Variant| matches!(&variant.kind, Kind::Sandboxed(sandbox, _) if sandbox.level() <= level);
    let plain = Variant { name: "plain spawn", kind: Kind::Plain, times: Vec::new() };
    [plain].into_iter().chain(all.into_iter().filter(has)).collect()
}

impl Kind {
    async fn run(&self) {
        match self {
            Kind::Plain => {
                let mut command = tokio::process::Command::new("/bin/true");
                let output = command.stdin(Stdio::null()).output().await.unwrap();
                assert!(output.status.success());
            }
            Kind::Sandboxed(sandbox, policy) => {
                let ended = sandbox.spawn(policy, Command::new("/bin/true")).await.unwrap().wait().await.unwrap();
                assert!(ended.succeeded() && ended.unstaged.is_none(), "{ended:?}");
            }
        }
    }
}

fn print(variants: &mut [Variant]) {
    println!("{:<45} {:>8} {:>8} {:>8} {:>12}", "", "min ms", "p50 ms", "p95 ms", "over plain");
    let mut plain = None;
    for variant in variants {
        variant.times.sort();
        let at = |part: usize| milliseconds(variant.times[(variant.times.len() - 1) * part / 100]);
        let base = *plain.get_or_insert(at(50));
        println!("{:<45} {:>8.2} {:>8.2} {:>8.2} {:>+12.2}", variant.name, at(0), at(50), at(95), at(50) - base);
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn fill(folder: &Path, folders: usize, files: usize) {
    for number in 0..folders {
        let inner = folder.join(format!("{}/{number}", number % 10));
        std::fs::create_dir_all(&inner).unwrap();
        for file in 0..files {
            std::fs::write(inner.join(file.to_string()), "").unwrap();
        }
    }
}
