//! Reads files of every kind: short text in this process, and everything else in a confined child.
//!
//! The child is our own program, started again with [`ARGUMENT`] in the sandbox. It has no network and none of the
//! user's files: it gets the bytes by its standard input and gives the document back as JSON. A file that is made to
//! hurt costs that child, and one message.

mod child;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;
use updraft_reader::{Document, ReadError, ReadOptions, is_packed};
use updraft_sandbox::{
    CaptureOptions, ChildResult, Command, Error, KillReason, OutputMode, Policy, ProgramExit, ResourceLimits, Sandbox,
    SandboxLevel, StdinMode,
};

use crate::confinement::Confinement;
pub use child::{ARGUMENT, main};

/// How our own program is named where its path is not known: see [`Confinement::launcher`].
const OURSELVES: &str = "/proc/self/exe";
/// Text up to this many bytes is read in this process: it cannot take long, whatever it contains.
const SHORT: usize = 1 << 20;
/// Bytes of the child's answer beyond those of the document: warnings and title.
const MARGIN: u64 = 1 << 20;

/// What reading one file may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentLimits {
    /// How long it may take.
    pub time: Duration,
    /// Most bytes of memory.
    pub memory: u64,
    /// Most bytes of the document as JSON; the rest is cut off, with a warning.
    pub output: u64,
}

impl Default for DocumentLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(20), memory: 1 << 30, output: 64 << 20 }
    }
}

/// Reads files. Cheap to clone; clones share the number of children at once.
///
/// To read files while they are brought into an index:
///
/// ```
/// use std::path::Path;
/// use updraft_reader::{Document, ReadError, ReadOptions};
/// use updraft_tools::DocumentReader;
///
/// fn for_ingest(reader: &DocumentReader) -> impl Fn(&Path, &[u8]) -> Result<Document, ReadError> + Sync {
///     move |path, content| reader.read_blocking(content, &path.to_string_lossy(), &ReadOptions::default())
/// }
/// ```
#[derive(Clone, Debug)]
pub struct DocumentReader {
    confinement: Confinement,
    limits: DocumentLimits,
    /// As many children as there are processors: more would only need more memory at once.
    room: Arc<Semaphore>,
}

impl DocumentReader {
    /// Creates a reader whose children are confined like those of a run, but without network and files.
    pub fn new(confinement: Confinement, limits: DocumentLimits) -> Self {
        let processors = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self { confinement, limits, room: Arc::new(Semaphore::new(processors)) }
    }

    /// The limits on reading one file.
    pub fn limits(&self) -> DocumentLimits {
        self.limits
    }

    /// Reads a file; `name` is its name or path. Dropping the future ends the child.
    pub async fn read(&self, bytes: Vec<u8>, name: &str, options: &ReadOptions) -> Result<Document, ReadError> {
        if is_costly(&bytes, name, options) {
            return self.read_apart(&bytes, name, options).await;
        }
        let (name, options) = (name.to_owned(), options.clone());
        let reading = tokio::task::spawn_blocking(move || updraft_reader::read(&bytes, &name, &options));
        reading.await.unwrap_or_else(|_| Err(ReadError::Stopped("the parser failed on it".to_owned())))
    }

    /// Reads a file on a thread that may wait, which no task of an async runtime runs on.
    pub fn read_blocking(&self, bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Document, ReadError> {
        if !is_costly(bytes, name, options) {
            return updraft_reader::read(bytes, name, options);
        }
        // A runtime of its own: that of the caller may stand still until this returns.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| not_started(&error))?;
        runtime.block_on(self.read_apart(bytes, name, options))
    }

    async fn read_apart(&self, bytes: &[u8], name: &str, options: &ReadOptions) -> Result<Document, ReadError> {
        // The semaphore is never closed.
        let _room = self.room.acquire().await.map_err(|error| not_started(&error))?;
        let sandbox = self.sandbox().await?;
        let program = self.program().map_err(|error| not_started(&error))?;
        let empty = tempfile::tempdir().map_err(|error| not_started(&error))?;
        let policy = self.policy(empty.path().to_owned(), program.clone());
        let command = Command {
            args: vec![ARGUMENT.to_owned()],
            env: Vec::new(),
            stdin: StdinMode::Pipe,
            output: OutputMode::Pipe(CaptureOptions::default()),
            ..Command::new(program.display().to_string())
        };
        let order = child::order(name, options, bytes.len(), self.limits.output);
        let began = Instant::now();
        let mut child = match sandbox.spawn(&policy, command).await {
            Ok(child) => child,
            // Its time was over before it had begun.
            Err(Error::Lost) if began.elapsed() >= self.limits.time => return Err(self.too_slow()),
            Err(error) => return Err(not_started(&error)),
        };
        let (stdin, stdout) = (child.stdin.take(), child.stdout());
        let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
            return Err(not_started(&"it has no pipes"));
        };
        let send = async move {
            // A child that ends early does not read all of it; how it ended says why.
            let _ = stdin.write_all(&order).await;
            let _ = stdin.write_all(bytes).await;
        };
        let mut answer = Vec::new();
        let mut stdout = stdout.take(self.limits.output + MARGIN);
        let receive = stdout.read_to_end(&mut answer);
        let ((), received) = tokio::join!(send, receive);
        drop(stdout);
        let ended = child.wait().await.map_err(|error| not_started(&error))?;
        if !ended.succeeded() || received.is_err() {
            return Err(self.stopped(&ended));
        }
        let unreadable = || ReadError::Stopped("the process that read it gave no document".to_owned());
        serde_json::from_slice::<Result<Document, ReadError>>(&answer).unwrap_or_else(|_| Err(unreadable()))
    }

    /// The sandbox of commands. On a machine that has none, unless the user requires one, only the limits hold: the
    /// child is our own program, not an agent's, and files could be read nowhere else.
    async fn sandbox(&self) -> Result<Sandbox, ReadError> {
        match self.confinement.sandbox().await {
            Ok(sandbox) => Ok(sandbox),
            Err(failure) if self.confinement.level.is_some() => Err(not_started(&failure.message)),
            Err(_) => {
                let plain = Sandbox::new(&self.confinement.launcher, SandboxLevel::None);
                plain.map_err(|error| not_started(&error))
            }
        }
    }

    /// The path of our own program. After an update it is the new one in the same place.
    fn program(&self) -> std::io::Result<PathBuf> {
        if self.confinement.launcher != Path::new(OURSELVES) {
            return Ok(self.confinement.launcher.clone());
        }
        let path = std::env::current_exe()?;
        let replaced = path.to_str().and_then(|text| text.strip_suffix(" (deleted)")).map(PathBuf::from);
        Ok(replaced.unwrap_or(path))
    }

    fn policy(&self, empty: PathBuf, program: PathBuf) -> Policy {
        let DocumentLimits { time, memory, .. } = self.limits;
        let limits = ResourceLimits {
            time: Some(time),
            // The time on the clock is over first, unless whoever watches it is stopped.
            cpu: Some(time + Duration::from_secs(5)),
            memory,
            processes: 4,
            temporary: 1 << 20,
            files: 64,
            ..ResourceLimits::default()
        };
        let scratch = self.confinement.policy.scratch.clone();
        Policy { read: vec![program], environment: Vec::new(), limits, scratch, ..Policy::strict(empty) }
    }

    fn stopped(&self, ended: &ChildResult) -> ReadError {
        let memory = self.limits.memory;
        // The kernel refuses memory beyond the limit, and a program of ours then ends with this.
        let lacks_memory = ended.stderr.text().contains("memory allocation of");
        let why = match (ended.killed_for, ended.exit) {
            (Some(KillReason::Memory), _) => too_much_memory(memory),
            (None, _) if lacks_memory => too_much_memory(memory),
            (Some(KillReason::Time), _) => return self.too_slow(),
            (Some(KillReason::Processes | KillReason::Disk | KillReason::Output), _) => {
                "the process that read it went beyond its limits".to_owned()
            }
            (None, Some(ProgramExit::Signal(signal))) => format!("the parser broke down on it (signal {signal})"),
            (None, Some(ProgramExit::Code(code))) => format!("the parser broke down on it (exit code {code})"),
            (None, None) => "the process that read it was ended".to_owned(),
        };
        ReadError::Stopped(why)
    }

    fn too_slow(&self) -> ReadError {
        ReadError::Stopped(format!("it takes longer than {} s to read", self.limits.time.as_secs_f64()))
    }
}

/// Whether reading it can cost much time or memory.
fn is_costly(bytes: &[u8], name: &str, options: &ReadOptions) -> bool {
    bytes.len() > SHORT || is_packed(bytes, name, options)
}

fn too_much_memory(memory: u64) -> String {
    format!("it needs more than {} MiB of memory", memory >> 20)
}

fn not_started(why: &dyn std::fmt::Display) -> ReadError {
    ReadError::Stopped(format!("the process that reads files could not be run: {why}"))
}
