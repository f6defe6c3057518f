//! The binary on a pseudoterminal of its own, which a terminal emulator shows.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::termios::{Winsize, tcsetwinsize};

use crate::world::World;

/// Lines that the emulator remembers after they have scrolled away.
const SCROLLBACK: usize = 20_000;

/// A terminal with a program on it.
pub(crate) struct Pty {
    master: File,
    pub(crate) child: Child,
    shown: Arc<Mutex<Shown>>,
    reader: Option<JoinHandle<()>>,
}

/// What the program has written, and what that looks like.
pub(crate) struct Shown {
    emulator: vt100::Parser,
    bytes: Vec<u8>,
}

impl Pty {
    /// Starts a program on a terminal with this many columns and 24 rows.
    pub(crate) fn start(command: &Command, columns: u16) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let pty = |_| File::options().read(true).write(true).open(&name).unwrap();
        let [stdin, stdout, stderr] = [0, 1, 2].map(pty);
        let master = File::from(master);
        set_size(&master, columns, 24);
        // A session of its own, with the terminal as the one that controls it.
        let mut session = Command::new("setsid");
        session.args(["--ctty", "--wait"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        session.current_dir(command.get_current_dir().unwrap()).env("TERM", "xterm");
        session.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
        let child = session.spawn().unwrap();
        let emulator = vt100::Parser::new(24, columns, SCROLLBACK);
        let shown = Arc::new(Mutex::new(Shown { emulator, bytes: Vec::new() }));
        let (mut reader, seen) = (master.try_clone().unwrap(), Arc::clone(&shown));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(read @ 1..) = reader.read(&mut buffer) {
                let mut seen = seen.lock().unwrap();
                seen.emulator.process(&buffer[..read]);
                seen.bytes.extend_from_slice(&buffer[..read]);
            }
        });
        Self { master, child, shown, reader: Some(reader) }
    }

    /// The console of a world, with these arguments.
    pub(crate) fn chat(world: &World, columns: u16, args: &[&str]) -> Self {
        let mut command = world.command(&[&["chat"], args].concat());
        command.env_remove("NO_COLOR").env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("LC_CTYPE");
        Self::start(&command, columns)
    }

    pub(crate) fn types(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let mut shown = self.shown.lock().unwrap();
        shown.emulator.screen_mut().set_size(rows, columns);
        set_size(&self.master, columns, rows);
    }

    /// The emulator: as long as somebody holds it, nothing is read from the program.
    pub(crate) fn terminal(&self) -> Arc<Mutex<Shown>> {
        Arc::clone(&self.shown)
    }

    /// What is on the screen.
    pub(crate) fn screen(&self) -> String {
        self.shown.lock().unwrap().emulator.screen().contents()
    }

    /// All rows: those that have scrolled away, and the screen.
    pub(crate) fn all(&self) -> String {
        let mut shown = self.shown.lock().unwrap();
        let screen = shown.emulator.screen_mut();
        let (rows, columns) = screen.size();
        screen.set_scrollback(usize::MAX);
        let mut lines: Vec<String> = Vec::new();
        loop {
            let back = screen.scrollback();
            let most = if back == 0 { usize::from(rows) } else { back.min(rows.into()) };
            lines.extend(screen.rows(0, columns).take(most));
            if back == 0 {
                return lines.join("\n");
            }
            screen.set_scrollback(back.saturating_sub(rows.into()));
        }
    }

    /// Everything the program has written.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.shown.lock().unwrap().bytes.clone()
    }

    /// Waits until the screen shows something.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) {
        self.until(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&str) -> bool) {
        let limit = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !holds(&self.screen()) {
            assert!(std::time::Instant::now() < limit, "waited in vain for {what}:\n{}", self.screen());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Waits for the end of the program, and for all that it has written.
    pub(crate) fn end(&mut self) -> i32 {
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        self.reader.take().unwrap().join().unwrap();
        code
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn set_size(terminal: &File, columns: u16, rows: u16) {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
}
