//! What a warm `run_python` call costs, and a tool call from code, beside a bare Python that answers on pipes.
//!
//! `cargo bench -p updraft-tools --bench python` prints the table; `-- 500` takes another number of rounds. The variants
//! take turns, so that a busy moment of the machine falls on all of them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program for people"
)]

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};
use updraft_run::{EffectClass, Reply, ToolCall, ToolOutput, ToolSpec};
use updraft_sandbox::Policy;
use updraft_tools::worker::PythonConfig;
use updraft_tools::{
    CallContext, Caller, ChangeWitness, Confinement, Dispatcher, Place, Registry, ToolFuture, ToolLimits, Workspace,
};

const LAUNCHER: &str = env!("CARGO_BIN_EXE_updraft-tools-testing");
const PYTHON: &str = "/usr/bin/python3";
/// Tool calls made by one piece of code, so that the call around them hardly counts.
const CALLS: u32 = 200;
/// Reads a line of JSON, works it out in its own process, writes a line: nothing is fresh, nothing is confined.
const BARE: &str = "import sys, json\nfor line in sys.stdin:\n  call = json.loads(line)\n  \
                    print(json.dumps(eval(call['code'], dict(call['variables']))), flush=True)";

fn main() {
    let rounds = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(300);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(rounds));
}

/// A Python outside of any sandbox, which answers one line with one line.
struct Bare {
    _child: tokio::process::Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Bare {
    fn start() -> Self {
        let mut command = tokio::process::Command::new(PYTHON);
        command.args(["-ISBc", BARE]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { _child: child, input, output: BufReader::new(output).lines() }
    }

    async fn call(&mut self) {
        let line = json!({ "code": "x + 1", "variables": { "x": 41 } }).to_string() + "\n";
        self.input.write_all(line.as_bytes()).await.unwrap();
        assert_eq!(self.output.next_line().await.unwrap().as_deref(), Some("42"));
    }
}

/// Answers at once, so that only the way to it and back is measured.
struct Echo;

impl Caller for Echo {
    fn call(&self, call: ToolCall) -> ToolFuture<'_> {
        Box::pin(async move { Reply::Output(Arc::new(ToolOutput { value: Some(call.args), ..ToolOutput::default() })) })
    }

    fn class(&self, _: &ToolCall) -> EffectClass {
        EffectClass::Pure
    }
}

/// Whether what code changes is seen.
#[derive(Clone, Copy)]
enum Seen {
    No,
    Among(usize),
}

struct World {
    dispatcher: Dispatcher,
    cx: CallContext,
    _folders: [tempfile::TempDir; 2],
}

impl World {
    /// A workspace with so many files of 1 KB in folders of a hundred.
    fn new(seen: Seen) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kept = tempfile::tempdir().unwrap();
        let witness = match seen {
            Seen::No => ChangeWitness::default(),
            Seen::Among(files) => {
                for n in 0..files {
                    let above = folder.path().join(format!("folder-{}", n / 100));
                    std::fs::create_dir_all(&above).unwrap();
                    std::fs::write(above.join(format!("file-{n}")), format!("{n:<1023}\n")).unwrap();
                }
                ChangeWitness::new(Some(kept.path().to_owned()))
            }
        };
        let mut confinement = Confinement::new(LAUNCHER, Policy::strict("/nonexistent"));
        confinement.environment = vec![("PATH".into(), "/usr/bin:/bin".into())];
        let python = PythonConfig { program: Some(PYTHON.into()), ..PythonConfig::default() };
        let registry = Registry::default().with_python(confinement, python);
        let place = Place { workspace: Workspace::open(folder.path()).unwrap() };
        let mut cx = CallContext::new(place, "bench");
        cx.around.variables = Arc::new(vec![("x".to_owned(), Arc::new(json!(41)))]);
        cx.around.caller = Some(Arc::new(Echo));
        let echo = ToolSpec { name: "echo".into(), description: String::new(), parameters: json!({}) };
        cx.around.tools = vec![echo].into();
        let dispatcher = Dispatcher::new(registry, ToolLimits::default()).with_witness(witness);
        Self { dispatcher, cx, _folders: [folder, kept] }
    }

    async fn call(&self, code: &str) -> Value {
        let call = ToolCall { id: "1".into(), name: "run_python".into(), args: json!({ "code": code }), fault: None };
        match self.dispatcher.call(&call, &self.cx).await.reply {
            Reply::Output(output) if !output.is_error => output.value.as_ref().unwrap()["result"].clone(),
            other => panic!("{other:?}"),
        }
    }
}

async fn measure(rounds: usize) {
    let (mut bare, world) = (Bare::start(), World::new(Seen::No));
    let began = Instant::now();
    world.call("x + 1").await;
    println!(
        "{rounds} rounds; the first call, with finding Python and starting a worker: {:.0} ms\n",
        began.elapsed().as_secs_f64() * 1e3
    );
    let calls = format!(
        "import time\nbegan = time.perf_counter()\nfor n in range({CALLS}): echo(n=n)\ntime.perf_counter() - began"
    );
    let mut times: [Vec<Duration>; 4] = Default::default();
    for round in 0..rounds {
        let began = Instant::now();
        bare.call().await;
        times[0].push(began.elapsed());
        let began = Instant::now();
        assert_eq!(world.call("x + 1").await, json!(42));
        times[1].push(began.elapsed());
        // Agents think between two calls; meanwhile the process for the next one is made.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let began = Instant::now();
        assert_eq!(world.call("x + 1").await, json!(42));
        times[2].push(began.elapsed());
        if round % 10 == 0 {
            let seconds = world.call(&calls).await.as_f64().unwrap();
            times[3].push(Duration::from_secs_f64(seconds) / CALLS);
        }
    }
    print(times);
    println!("\nrun_python: x + 1, 10 ms apart, by how many files the workspace has, of 1 KB each");
    println!("{:<36} {:>8} {:>8} {:>8} {:>9}", "", "min µs", "p50 µs", "p95 µs", "first ms");
    compare("changes not seen", Seen::No, rounds).await;
    for files in [0, 100, 1_000, 10_000] {
        compare(&format!("changes seen, {files} files"), Seen::Among(files), rounds).await;
    }
}

async fn compare(name: &str, seen: Seen, rounds: usize) {
    let world = World::new(seen);
    // So that the clock's grain does not make every file look freshly written.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let began = Instant::now();
    world.call("x + 1").await;
    let first = began.elapsed().as_secs_f64() * 1e3;
    let mut times = Vec::new();
    for _ in 0..rounds {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let began = Instant::now();
        assert_eq!(world.call("x + 1").await, json!(42));
        times.push(began.elapsed());
    }
    times.sort();
    let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
    println!("{name:<36} {:>8.0} {:>8.0} {:>8.0} {first:>9.0}", at(0), at(50), at(95));
}

fn print(times: [Vec<Duration>; 4]) {
    let names = [
        "a line to a bare Python and back",
        "run_python: x + 1, back to back",
        "run_python: x + 1, 10 ms apart",
        "a tool call from code and back",
    ];
    println!("{:<36} {:>8} {:>8} {:>8} {:>8}", "", "min µs", "p50 µs", "p95 µs", "÷ bare");
    let mut floor = None;
    for (name, mut times) in names.into_iter().zip(times) {
        times.sort();
        let at = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
        let floor = *floor.get_or_insert(at(50));
        println!("{name:<36} {:>8.0} {:>8.0} {:>8.0} {:>8.1}", at(0), at(50), at(95), at(50) / floor);
    }
}
