//! Workers: real processes in the real sandbox, honest ones and others.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod common;

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use common::confined::{self, PYTHON};
use serde_json::{Value, json};
use updraft_tools::worker::{
    PoolLimits, WorkerAnswerFuture, WorkerFault, WorkerHost, WorkerOutput, WorkerPool, WorkerProgram,
};

/// The smallest worker: `call(nonce, request)` is the test's.
const WORKER: &str = r#"
import json, os, struct, sys, time
def read():
    length, = struct.unpack("<I", sys.stdin.buffer.read(4))
    body = sys.stdin.buffer.read(length)
    return body[:1], body[1:9], json.loads(body[9:])
def write(kind, nonce, payload):
    os.write(1, struct.pack("<I", 9 + len(payload)) + kind + nonce + payload)
def done(nonce, **end):
    write(b"D", nonce, json.dumps(end).encode())
read()
write(b"R", bytes(8), b"")
while True:
    _, nonce, request = read()
    exec(request)
"#;

struct Quiet(Mutex<String>);

impl WorkerHost for Quiet {
    fn answer(&self, what: Value) -> WorkerAnswerFuture<'_> {
        Box::pin(async move { json!([what, "answered"]) })
    }
    fn printed(&self, text: &str) {
        self.0.lock().unwrap().push_str(text);
    }
}

struct World {
    pool: WorkerPool,
    folder: tempfile::TempDir,
}

impl World {
    async fn new(sizes: PoolLimits) -> Option<Self> {
        Self::of(WORKER, sizes).await
    }

    async fn of(script: &str, sizes: PoolLimits) -> Option<Self> {
        let program = WorkerProgram {
            name: "the test's worker".into(),
            program: PYTHON.into(),
            args: vec!["-ISBc".into(), script.into()],
            looks: false,
            read: Vec::new(),
            hello: json!({}),
            start: Duration::from_mins(1),
        };
        let pool = WorkerPool::new(confined::confinement().await?, program, sizes);
        Some(Self { pool, folder: tempfile::tempdir().unwrap() })
    }

    async fn call(&self, code: &str) -> Result<WorkerOutput, WorkerFault> {
        self.call_within(code, Duration::from_mins(1)).await
    }

    async fn call_within(&self, code: &str, limit: Duration) -> Result<WorkerOutput, WorkerFault> {
        let host = Quiet(Mutex::default());
        self.pool.call(self.folder.path(), &json!(code), &host, limit).await
    }

    async fn forgery(&self, code: &str) -> String {
        match self.call(code).await {
            Err(WorkerFault::Forged { why, .. }) => why,
            other => panic!("expected a forgery, found {other:?}"),
        }
    }
}

/// The descriptors that this process has open, by number.
fn descriptors() -> Vec<PathBuf> {
    std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn a_worker_is_kept_and_serves_again() {
    let Some(world) = World::new(PoolLimits::default()).await else { return };
    let first = world.call("write(b'V', nonce, b'[1, 2]'); done(nonce, pid=os.getpid())").await.unwrap();
    let second = world.call("write(b'O', nonce, b'hello'); done(nonce, pid=os.getpid())").await.unwrap();
    assert_eq!((first.value, second.value), (Some(json!([1, 2])), None));
    assert_eq!((first.end["pid"].as_u64(), second.printed.head), (second.end["pid"].as_u64(), b"hello".to_vec()));
    assert_eq!(world.pool.idle(), 1);
}

#[tokio::test]
async fn what_a_worker_wants_is_answered() {
    let Some(world) = World::new(PoolLimits::default()).await else { return };
    let code = r#"
for number in 1, 2: write(b"Q", nonce, json.dumps({"id": number, "what": "w" * number}).encode())
answers = sorted([read()[2], read()[2]], key=lambda one: one["id"])
done(nonce, answers=answers)
"#;
    let done = world.call(code).await.unwrap();
    let wanted = json!([{"id": 1, "value": ["w", "answered"]}, {"id": 2, "value": ["ww", "answered"]}]);
    assert_eq!(done.end["answers"], wanted);
}

#[tokio::test]
async fn a_worker_that_forges_is_ended_and_named() {
    let Some(world) = World::new(PoolLimits { frame: 10_000, ..PoolLimits::default() }).await else { return };
    let forgeries = [
        ("done(b'another!')", "a frame that does not belong to this call"),
        ("os.write(1, b'hello world, this is print')", "a frame of 1819043176 bytes"),
        ("write(b'V', nonce, b'x' * 20000)", "a frame of 20009 bytes"),
        ("write(b'A', nonce, b'{}')", "a frame of kind 'A'"),
        ("write(b'R', nonce, b'')", "Ready in the middle of a call"),
        ("write(b'V', nonce, b'1'); write(b'V', nonce, b'2')", "Value in the middle of a call"),
        ("write(b'V', nonce, b'[' * 5000 + b']' * 5000)", "JSON that cannot be read: recursion limit"),
        ("write(b'V', nonce, b'{')", "JSON that cannot be read"),
        ("write(b'Q', nonce, b'{\"id\": 2, \"what\": 1}')", "question 2, as number 1"),
        ("write(b'Q', nonce, b'{\"id\": 1, \"what\": 1}' * 2)", "JSON that cannot be read"),
    ];
    for (code, wanted) in forgeries {
        let why = world.forgery(&format!("{code}; time.sleep(60)")).await;
        assert!(why.contains(wanted), "{code}: {why}");
        assert_eq!(world.pool.idle(), 0, "{code}");
    }
}

#[tokio::test]
async fn a_worker_that_speaks_unasked_is_not_used_again() {
    let Some(world) = World::new(PoolLimits::default()).await else { return };
    // In one write, so that both have come when the call is over.
    let twice = "os.write(1, 2 * (struct.pack('<I', 11) + b'D' + nonce + b'{}'))";
    let first = world.call(twice).await.unwrap();
    let second = world.call("done(nonce, spent=True, said=[os.getpid(), 'second'])").await.unwrap();
    assert_eq!(second.end["said"][1], "second");
    assert_eq!((first.end["spent"].clone(), world.pool.idle()), (Value::Null, 0));
}

#[tokio::test]
async fn one_that_takes_too_long_is_ended_and_hurts_no_neighbour() {
    let Some(world) = World::new(PoolLimits::default()).await else { return };
    let endless = "write(b'O', nonce, b'begun'); time.sleep(600)";
    let neighbour = "time.sleep(1); done(nonce, fine=True)";
    let (slow, fine) = tokio::join!(world.call_within(endless, Duration::from_secs(10)), world.call(neighbour));
    let Err(WorkerFault::TimedOut { printed, ended, .. }) = slow else { panic!("expected a time-out, found {slow:?}") };
    assert_eq!((printed.head, ended.is_some()), (b"begun".to_vec(), true));
    assert_eq!(fine.unwrap().end, json!({"fine": true}));
    assert_eq!(world.pool.idle(), 1);
}

#[tokio::test]
async fn one_that_ends_is_told_of_with_its_last_words() {
    let Some(world) = World::new(PoolLimits::default()).await else { return };
    let ended = world.call("sys.stderr.write('last words'); sys.stderr.flush(); os._exit(3)").await;
    let Err(WorkerFault::Ended { ended: Some(ended), .. }) = ended else { panic!("expected an end, found {ended:?}") };
    assert_eq!((ended.exit_code(), ended.stderr.text()), (3, "last words".to_owned()));
}

#[tokio::test]
async fn fifty_blocking_calls_overlap_and_leave_nothing() {
    let Some(world) = World::new(PoolLimits { idle: 4, ..PoolLimits::default() }).await else { return };
    world.call("done(nonce)").await.unwrap();
    world.pool.close().await;
    let before = descriptors().len();
    // Each waits for all the others, so that they end only if all run at the same time.
    let code = r"
open('here-%s' % nonce.hex(), 'w').close()
while sum(name.startswith('here-') for name in os.listdir()) < 50: time.sleep(0.02)
done(nonce, fine=True)
";
    let calls = futures_util::future::join_all((0..50).map(|_| world.call(code))).await;
    assert!(calls.iter().all(|call| call.as_ref().is_ok_and(|done| done.end == json!({"fine": true}))), "{calls:?}");
    assert_eq!(world.pool.idle(), 4);
    world.pool.close().await;
    assert_eq!(descriptors().len(), before);
    let children = std::fs::read_to_string(format!("/proc/self/task/{}/children", std::process::id())).unwrap();
    assert_eq!(children, "");
}

#[tokio::test]
async fn idle_ones_end_after_a_while() {
    let sizes = PoolLimits { idle_time: Duration::from_millis(200), ..PoolLimits::default() };
    let Some(world) = World::new(sizes).await else { return };
    world.call("done(nonce)").await.unwrap();
    assert_eq!(world.pool.idle(), 1);
    while world.pool.idle() > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn one_that_cannot_start_says_why() {
    let Some(world) = World::of("import nothing_of_that_name", PoolLimits::default()).await else { return };
    let fault = world.call("").await;
    let Err(WorkerFault::NotStarted(failure)) = fault else { panic!("expected no start, found {fault:?}") };
    assert!(failure.message.contains("No module named 'nothing_of_that_name'"), "{failure}");
}
