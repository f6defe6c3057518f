//! Where an attempt is made: a workspace, a folder and a process outside, servers on loopback, and a user.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;
use updraft_sandbox::{Policy, ResourceLimits, SandboxLevel};

use crate::support::{PROGRAM, left_pids};
use crate::table::{Attempt, Sign};

/// Who makes the attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Root,
    User,
}

/// An ordinary user that no machine has.
const ORDINARY: u32 = 54_321;

impl Who {
    /// Nothing if this is the user that the tests run as.
    fn other_id(self) -> Option<u32> {
        (self == Who::User && is_root()).then_some(ORDINARY)
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The program where every user can run it.
fn program() -> &'static Path {
    static PLACE: OnceLock<PathBuf> = OnceLock::new();
    PLACE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap().keep();
        std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::copy(PROGRAM, folder.join("program")).unwrap();
        at_exit(Leftover::Folder(folder.clone()));
        folder.join("program")
    })
}

/// What the tests share and must be removed when the last of them has ended.
enum Leftover {
    Folder(PathBuf),
    SharedMemory(i32),
    Queue(i32),
    Semaphore(i32),
}

static LEFTOVERS: Mutex<Vec<Leftover>> = Mutex::new(Vec::new());

fn at_exit(leftover: Leftover) {
    let mut leftovers = LEFTOVERS.lock().unwrap();
    if leftovers.is_empty() {
        // SAFETY: the function is there until the process ends.
        #[expect(unsafe_code, reason = "a test runner has no other moment after its last test")]
        unsafe {
            libc::atexit(remove_leftovers);
        }
    }
    leftovers.push(leftover);
}

extern "C" fn remove_leftovers() {
    for leftover in LEFTOVERS.lock().unwrap().drain(..) {
        match leftover {
            Leftover::Folder(path) => drop(std::fs::remove_dir_all(path)),
            // SAFETY: removing takes no memory.
            #[expect(unsafe_code, reason = "shared memory of System V has no safe interface")]
            Leftover::SharedMemory(segment) => unsafe {
                libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut());
            },
            // SAFETY: removing takes no memory.
            #[expect(unsafe_code, reason = "queues of System V have no safe interface")]
            Leftover::Queue(queue) => unsafe {
                libc::msgctl(queue, libc::IPC_RMID, std::ptr::null_mut());
            },
            // SAFETY: removing takes no memory.
            #[expect(unsafe_code, reason = "semaphores of System V have no safe interface")]
            Leftover::Semaphore(semaphore) => unsafe {
                libc::semctl(semaphore, 0, libc::IPC_RMID);
            },
        }
    }
}

/// With `UPDRAFT_TEST_STAGED=1` every attempt is made by a command whose changes are staged.
#[allow(clippy::disallowed_methods, reason = "a test reads its environment")]
fn is_staged() -> bool {
    std::env::var_os("UPDRAFT_TEST_STAGED").is_some()
}

pub(crate) struct Place {
    who: Who,
    id: String,
    workspace: tempfile::TempDir,
    out: tempfile::TempDir,
    aside: tempfile::TempDir,
    victim: Child,
    secret: OwnedFd,
    servers: Servers,
}

/// What an attempt came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Through,
    Nowhere,
}

impl Place {
    pub(crate) fn new(who: Who) -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let id = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let (workspace, out, aside) = (folder(who), folder(who), folder(who));
        for (path, text) in [("secret", "secret"), ("victim", "innocent")] {
            give(who, &write(out.path(), path, text));
        }
        furnish(who, workspace.path());
        let secret = inheritable(&out.path().join("secret"));
        let mut victim = Command::new("/bin/sleep");
        victim.arg("100").env("VICTIMS_SECRET", "x").current_dir(out.path()).stdin(Stdio::null()).stdout(Stdio::null());
        hand_over(&mut victim, &secret);
        let victim = as_who(who, &mut victim).spawn().unwrap();
        let servers = Servers::start(out.path(), workspace.path(), &id);
        Place { who, id, workspace, out, aside, victim, secret, servers }
    }

    /// Makes the attempt and looks what came of it.
    pub(crate) fn make(mut self, attempt: &Attempt, level: SandboxLevel) -> Came {
        let code = match level {
            SandboxLevel::None => self.without_sandbox(attempt),
            SandboxLevel::Full | SandboxLevel::Landlock => self.in_sandbox(attempt, level),
        };
        let came = self.came(attempt.sign, code);
        self.clear(attempt.sign);
        came
    }

    fn without_sandbox(&self, attempt: &Attempt) -> i64 {
        // With a parent that has the same environment, as there is one in the sandbox.
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "/bin/sh -c \"$0\"; exit $?", attempt.script]).current_dir(self.workspace.path());
        self.set_up(&mut command);
        // A pipe would wait for whoever is left behind.
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        status.code().map_or(-1, i64::from)
    }

    fn in_sandbox(&self, attempt: &Attempt, level: SandboxLevel) -> i64 {
        let policy = serde_json::to_string(&self.policy()).unwrap();
        let mut command = Command::new(program());
        command.args(["exec", &level.to_string(), &policy, "/bin/sh", "-c", attempt.script]);
        self.set_up(&mut command);
        let output = command.output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        // A sandbox that does not start contains everything, and shows nothing.
        assert_eq!(report.get("error"), None, "{}", attempt.name);
        report["code"].as_i64().unwrap()
    }

    fn policy(&self) -> Policy {
        let mut policy = Policy::strict(self.workspace.path());
        let names = ["OUT", "VICTIM", "TRY", "PORT", "PORT6", "UDP", "KEY", "ID", "WS"];
        policy.environment.extend(names.map(str::to_owned));
        policy.read.push(program().parent().unwrap().to_owned());
        policy.aside = Some(self.aside.path().to_owned());
        if is_staged() {
            policy.staged = Some(self.aside.path().join("staged"));
        }
        policy.limits = ResourceLimits {
            memory: 100 << 20,
            processes: 40,
            disk: 20 << 20,
            files: 500,
            ..ResourceLimits::default()
        };
        policy
    }

    fn set_up(&self, command: &mut Command) {
        let try_it = format!("{} attempt", program().display());
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin").env("TRY", try_it);
        command
            .env("OUT", self.out.path())
            .env("WS", self.workspace.path())
            .env("VICTIM", self.victim.id().to_string());
        command.env("PORT", self.servers.port.to_string()).env("UDP", self.servers.udp.to_string());
        command.env("PORT6", self.servers.port6.to_string()).env("KEY", self.servers.key.to_string());
        command.env("ID", &self.id).env("UPDRAFT_SECRET", "s3cret").stdin(Stdio::null());
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", self.workspace.path());
        as_who(self.who, command);
        hand_over(command, &self.secret);
    }

    fn real(&self, path: &str) -> PathBuf {
        let path = path.replace("$OUT", &self.out.path().display().to_string()).replace("$ID", &self.id);
        PathBuf::from(path.replace("$WS", &self.workspace.path().display().to_string()))
    }

    fn came(&mut self, sign: Sign, code: i64) -> Came {
        let is_through = match sign {
            Sign::Code => code == 0,
            Sign::Exists(path) => self.real(path).symlink_metadata().is_ok(),
            Sign::Gone(path) => self.real(path).symlink_metadata().is_err(),
            Sign::Evil(path) => std::fs::read_to_string(self.real(path)).is_ok_and(|text| text.contains("evil")),
            Sign::Survivor => !left_pids(self.workspace.path()).is_empty(),
            Sign::VictimEnded => self.has_ended(),
        };
        if is_through { Came::Through } else { Came::Nowhere }
    }

    fn has_ended(&mut self) -> bool {
        // A signal is on its way for a moment.
        (0..50).any(|_| {
            let has_ended = self.victim.try_wait().unwrap().is_some();
            if !has_ended {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            has_ended
        })
    }

    /// Ends what an attempt without a sandbox has left running, and removes what it wrote elsewhere.
    fn clear(&self, sign: Sign) {
        for pid in left_pids(self.workspace.path()) {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
        if let Sign::Exists(path) = sign
            && path.starts_with('/')
        {
            let _ = std::fs::remove_file(self.real(path));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        unlock(self.workspace.path());
    }
}

/// Some attempts lock folders, which then nobody but root could remove.
fn unlock(folder: &Path) {
    let _ = std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            unlock(&entry.path());
        }
    }
}

fn as_who(who: Who, command: &mut Command) -> &mut Command {
    match who.other_id() {
        Some(id) => command.uid(id).gid(id),
        None => command,
    }
}

/// Leaves a descriptor open for a child, as a careless parent would.
fn hand_over(command: &mut Command, secret: &OwnedFd) {
    let secret = secret.as_raw_fd();
    // SAFETY: dup2 and fcntl are among the calls that are safe between fork and exec.
    #[expect(unsafe_code, reason = "std has no way to pass a descriptor by number")]
    unsafe {
        command.pre_exec(move || {
            // It may be that number already, and then would close by itself.
            let is_left_open = libc::dup2(secret, 9) == 9 && libc::fcntl(9, libc::F_SETFD, 0) == 0;
            if is_left_open { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
}

fn folder(who: Who) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    give(who, folder.path());
    folder
}

fn give(who: Who, path: &Path) {
    if let Some(id) = who.other_id() {
        chown(path, Some(id), Some(id)).unwrap();
    }
}

fn write(folder: &Path, path: &str, text: &str) -> PathBuf {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, text).unwrap();
    path
}

/// A repository, a nested one, an editor's settings, links with guarded names, and a program that runs as root.
fn furnish(who: Who, workspace: &Path) {
    for repository in [".git", "nested/.git"] {
        write(workspace, &format!("{repository}/HEAD"), "ref: refs/heads/main\n");
        write(workspace, &format!("{repository}/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
        write(workspace, &format!("{repository}/hooks/pre-commit"), "check\n");
        std::fs::create_dir_all(workspace.join(repository).join("objects")).unwrap();
        std::fs::create_dir_all(workspace.join(repository).join("refs/heads")).unwrap();
    }
    write(workspace, ".vscode/tasks.json", "{}\n");
    write(workspace, "real/rc", "known\n");
    give_all(who, workspace);
    for (target, link) in [("real", "linkdir"), ("linkdir/rc", ".zshrc"), ("missing", ".gdbinit")] {
        symlink(target, workspace.join(link)).unwrap();
    }
    if is_root() {
        let path = workspace.join("root-id");
        std::fs::copy("/usr/bin/id", &path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4755)).unwrap();
    }
}

fn give_all(who: Who, path: &Path) {
    give(who, path);
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            give_all(who, &entry.unwrap().path());
        }
    }
}

/// Opened so that children inherit it.
fn inheritable(path: &Path) -> OwnedFd {
    std::fs::File::open(path).unwrap().into()
}

/// Servers of the host that an attempt may try to reach. Those on loopback are shared and live as long as the tests.
struct Servers {
    port: u16,
    port6: u16,
    udp: u16,
    key: i32,
    _sockets: [UnixListener; 4],
    _datagrams: UnixDatagram,
}

impl Servers {
    fn start(out: &Path, workspace: &Path, id: &str) -> Servers {
        static SHARED: OnceLock<(u16, u16, u16)> = OnceLock::new();
        let (port, port6, udp) = *SHARED.get_or_init(|| (greet("127.0.0.1:0"), greet("[::1]:0"), echo()));
        let name = SocketAddr::from_abstract_name(format!("updraft-escape-{id}")).unwrap();
        let listen = |folder: &Path, name: &str| {
            std::fs::create_dir_all(folder).unwrap();
            let listener = UnixListener::bind(folder.join(name)).unwrap();
            std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o777)).unwrap();
            listener
        };
        let sockets = [
            listen(out, "socket"),
            UnixListener::bind_addr(&name).unwrap(),
            listen(workspace, "service"),
            listen(&workspace.join("nested/deep"), "service"),
        ];
        let datagrams = UnixDatagram::bind(workspace.join("datagrams")).unwrap();
        std::fs::set_permissions(workspace.join("datagrams"), PermissionsExt::from_mode(0o777)).unwrap();
        Servers { port, port6, udp, key: shared_memory(), _sockets: sockets, _datagrams: datagrams }
    }
}

fn greet(address: &str) -> u16 {
    // A machine without the newer protocol has no such server; the attempt is then skipped aloud.
    let Ok(listener) = TcpListener::bind(address) else { return 0 };
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.and_then(|mut stream| stream.write_all(b"hello"));
        }
    });
    port
}

fn echo() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 16]) {
            let _ = socket.send_to(b"pong", from);
        }
    });
    port
}

/// A segment, a queue and a semaphore that everyone on the host may use.
fn shared_memory() -> i32 {
    static KEY: OnceLock<i32> = OnceLock::new();
    *KEY.get_or_init(|| {
        let key = 0x5550_0000 | (std::process::id() as i32 & 0xffff);
        let flags = libc::IPC_CREAT | 0o666;
        // SAFETY: no memory is passed.
        #[expect(unsafe_code, reason = "what is of System V has no safe interface")]
        let (segment, queue, semaphore) =
            unsafe { (libc::shmget(key, 4096, flags), libc::msgget(key, flags), libc::semget(key, 1, flags)) };
        assert!(segment >= 0 && queue >= 0 && semaphore >= 0);
        at_exit(Leftover::SharedMemory(segment));
        at_exit(Leftover::Queue(queue));
        at_exit(Leftover::Semaphore(semaphore));
        key
    })
}
