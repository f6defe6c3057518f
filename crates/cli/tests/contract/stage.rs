//! One run's home, workspace and world outside, and the lives of the process in them.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cell::{Kind, Way};
use crate::model::{Asked, Turn, plan};
use crate::outside::{Gate, Outside, tools};
use crate::shell_server;
use crate::world::{Ran, World};

const AGENT: &str = "---\nname: doer\npurpose: Does it.\ntools: [files, sandbox, mcp, ask_user]\n---\nYou do it.\n";

/// Nothing here takes longer unless it hangs.
const LONGEST: Duration = Duration::from_mins(3);

pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) outside: Outside,
    address: std::net::SocketAddr,
}

impl Stage {
    /// A workspace that is trusted, with both servers, a program that counts, and these rules.
    pub(crate) fn new(rules: &str, script: impl Fn(&Asked) -> Turn + Send + Sync + 'static) -> Self {
        let (outside, address) = Outside::serve(script);
        let world = World::new();
        let port = address.port();
        // $1 is what is counted.
        let count = format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}\nprintf 'POST /count/%s HTTP/1.1\\r\\ncontent-length: 0\\r\\n\\r\\n' \"$1\" >&3\nread -r line <&3\necho \"$line\"\n"
        );
        world.file("count.sh", &count);
        world.config("agents/doer.md", AGENT);
        world.config("config.toml", rules);
        let stage = Self { world, outside, address };
        stage.serve_on_pipes("count.sh", &json!({"network": "host"}));
        stage
    }

    /// Servers on pipes and over HTTP; the first calls this program of the workspace with what is to be counted.
    pub(crate) fn serve_on_pipes(&self, program: &str, sandbox: &Value) {
        let name = r#"$(printf '%s' "$line" | sed 's/.*"name":"\([a-z]*\.[0-9]\)".*/\1/')"#;
        let on_call = format!("bash {program} \"{name}\" > /dev/null");
        self.world.file("server.sh", &shell_server::server(&tools(), &on_call));
        let servers = json!({"mcpServers": {
            "pipe": {"command": "bash", "args": ["server.sh"], "cwd": ".", "sandbox": sandbox, "trustHints": true,
                "startSeconds": 120},
            "web": {"url": format!("http://{}/mcp", self.address), "trustHints": true}}});
        self.world.config("mcp.json", &servers.to_string());
        self.world.updraft(&["trust", "--yes"]).code(0);
    }

    /// The stage of a cell: one step acts, and unless an agent is on its own, another ends.
    pub(crate) fn of(kind: Kind) -> Self {
        let rules = if kind == Kind::Approval { "[rules]\nask = [\"run_command\"]\n" } else { "" };
        let times = std::sync::atomic::AtomicU32::new(0);
        let stage = Self::new(rules, move |asked| match (asked.step.as_str(), asked.turn) {
            ("plan", _) => Turn::Say(steps().to_string()),
            ("act", 0) if kind == Kind::Wait && times.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0 => {
                Turn::Busy
            }
            ("act", 0) if !kind.calls().is_empty() => Turn::Call(kind.calls()),
            ("act", _) => Turn::Say("acted".to_owned()),
            _ => Turn::Say("the end".to_owned()),
        });
        // Whoever calls no server shall not wait for one.
        if !matches!(kind, Kind::McpPipe | Kind::McpHttp | Kind::TwoAtOnce) {
            stage.world.config("mcp.json", r#"{"mcpServers": {}}"#);
        }
        stage
    }

    /// How a run of a cell is started.
    pub(crate) fn goal(&self, way: Way) -> Vec<String> {
        let plan = self.world.file("plan.json", &steps().to_string()).display().to_string();
        let (more, goal): (&[&str], _) = match way {
            Way::Planned => (&[], "carry it out"),
            Way::Agent => (&["--agent", "doer"], "[[act]] carry it out"),
            Way::Plan => (&["--plan", &plan], "carry it out"),
            Way::Swarm => (&["--swarm"], "carry it out"),
        };
        let all = ["run", "--yes", "--network", "host", "--model", "openai-compatible/m"];
        all.iter().chain(more).chain([&goal]).map(|&word| word.to_owned()).collect()
    }

    pub(crate) fn command<T: AsRef<str>>(&self, arguments: &[T]) -> Command {
        let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
        let mut command = self.world.command(&arguments);
        command.env("OPENAI_BASE_URL", format!("http://{}/v1", self.address));
        command
    }

    pub(crate) fn updraft<T: AsRef<str>>(&self, arguments: &[T]) -> Ran {
        self.live(arguments, None)
    }

    /// One life of the process, which may end at a gate. One that hangs is ended, with the code 124.
    pub(crate) fn live<T: AsRef<str>>(&self, arguments: &[T], gate: Option<Gate>) -> Ran {
        wait(self.outside.start(self.command(arguments), gate), LONGEST)
    }

    /// One life that lasts so long at most.
    pub(crate) fn live_for<T: AsRef<str>>(&self, arguments: &[T], time: Duration) -> Ran {
        wait(self.outside.start(self.command(arguments), None), time)
    }

    /// The only run, if it is on disk.
    pub(crate) fn run(&self) -> Option<String> {
        Some(self.world.runs().first()?["run"].as_str()?.to_owned())
    }

    /// Its journal.
    pub(crate) fn events(&self, run: &str) -> Vec<Value> {
        self.world.updraft(&["events", run, "--json"]).code(0).json()
    }

    /// Goes on until the run is over, with a person who answers and allows.
    pub(crate) fn finish(&self, run: &str) -> Result<Ran, String> {
        for _ in 0..12 {
            let ran = self.updraft(&["resume", run]);
            match ran.code {
                0 => return Ok(ran),
                3 => self.say(run)?,
                124 => return Err("it hangs".to_owned()),
                code => return Err(format!("resume ends with {code}: {}", ran.err)),
            }
        }
        Err("it asks without end".to_owned())
    }

    /// Answers every question and allows every call that waits.
    pub(crate) fn say(&self, run: &str) -> Result<(), String> {
        let shown = self.updraft(&["show", run, "--json"]).value();
        for open in shown["waiting_for"].as_array().into_iter().flatten() {
            let id = open["id"].as_str().unwrap_or_default();
            let said = if open["kind"] == "question" {
                self.updraft(&["answer", run, "blue", "--id", id])
            } else {
                self.updraft(&["approve", run, id])
            };
            if said.code != 0 && !said.err.contains("already has a response") {
                return Err(format!("a person is not heard: {}", said.err));
            }
        }
        Ok(())
    }

    /// Home and workspace, aside; what they were can be put back.
    pub(crate) fn copy(&self) -> Copy {
        let copy = Copy { aside: tempfile::tempdir().unwrap(), there: self.world.ws().parent().unwrap().to_owned() };
        clone_into(&copy.there, copy.aside.path());
        copy
    }
}

/// The plan of a cell.
pub(crate) fn steps() -> Value {
    plan(&[("act", "doer", &[]), ("end", "thinker", &["act"])])
}

pub(crate) struct Copy {
    aside: tempfile::TempDir,
    there: PathBuf,
}

impl Copy {
    pub(crate) fn restore(&self) {
        clone_into(self.aside.path(), &self.there);
    }
}

/// Repeated where it fails: what a killed process had started may still be tidying up.
fn clone_into(from: &Path, to: &Path) {
    World::until("a copy is whole", || {
        ["home", "ws"].iter().all(|name| {
            let _ = std::fs::remove_dir_all(to.join(name));
            Command::new("cp").arg("-a").arg(from.join(name)).arg(to).stderr(Stdio::null()).status().unwrap().success()
        })
    });
}

/// Waits for a process, and ends it where it takes too long.
pub(crate) fn wait(mut child: Child, longest: Duration) -> Ran {
    let limit = Instant::now() + longest;
    let mut is_late = false;
    let (out, err) = (read_all(child.stdout.take()), read_all(child.stderr.take()));
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > limit {
            child.kill().unwrap();
            is_late = true;
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let status = child.wait().unwrap();
    let ran = Ran::of(Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() });
    Ran { code: if is_late { 124 } else { ran.code }, ..ran }
}

/// Reads all that comes, meanwhile: a pipe holds 64 KB, and who writes more would wait for ever.
fn read_all(from: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            from.read_to_end(&mut bytes).unwrap();
        }
        bytes
    })
}
