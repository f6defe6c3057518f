//! A run with every kind of effect, killed at random moments and resumed until it is done.
//!
//! The moments come from a seed that is printed; `UPDRAFT_KILL_SEED` repeats them and `UPDRAFT_KILLS` asks for more.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::dice::{Dice, environment, seed};
use crate::journal;
use crate::model::{Asked, Turn, plan};
use crate::stage::Stage;

/// Kills in all, where the environment does not say otherwise.
const KILLS: usize = 40;

/// What the first plan does at the same time, and what the second does when a step of the first has failed.
const FIRST: [&str; 8] = ["command", "write", "append", "pipe", "web", "both", "ask", "allow"];
const THEN: [&str; 2] = ["around", "more"];

/// Effects that are counted outside; the others leave a file.
const COUNTED: [&str; 7] = ["command.0", "pipe.0", "web.0", "both.0", "both.1", "around.0", "more.0"];
const FILES: [(&str, &str); 3] =
    [("deep/file.txt", "write.0\n"), ("log.txt", "append.0\n"), ("allowed.txt", "allow.0\n")];

/// Runs that are killed at the same time: a life mostly waits.
const AT_ONCE: usize = 4;

/// What was counted over all runs.
#[derive(Debug, Default)]
struct Counts {
    kills: usize,
    runs: usize,
    effects: usize,
    doubts: usize,
    /// Effects in doubt that had happened.
    happened_in_doubt: usize,
    /// Calls that were refused because words from outside had come in since they were allowed. The agent is told.
    refused: usize,
}

impl Counts {
    fn add(&mut self, other: &Self) -> &Self {
        self.kills += other.kills;
        self.runs += other.runs;
        self.effects += other.effects;
        self.doubts += other.doubts;
        self.happened_in_doubt += other.happened_in_doubt;
        self.refused += other.refused;
        self
    }

    /// Says from time to time how far it is.
    fn say(&self) {
        if self.runs.is_multiple_of(100) {
            println!("{self:?}");
        }
    }
}

fn calls(step: &str) -> Vec<(&'static str, Value)> {
    let counted = |number| format!("{step}.{number}");
    let command = |number| ("run_command", json!({"command": format!("bash note.sh {}", counted(number))}));
    let write = |path: &str| ("write_file", json!({"path": path, "content": counted(0) + "\n"}));
    match step {
        "command" | "around" => vec![command(0)],
        "pipe" | "more" => vec![("mcp_pipe_count", json!({"name": counted(0)}))],
        "web" => vec![("mcp_web_count", json!({"name": counted(0)}))],
        "both" => vec![command(0), ("mcp_web_count", json!({"name": counted(1)}))],
        "write" => vec![write("deep/file.txt")],
        "append" => vec![("append_line", json!({"path": "log.txt", "line": counted(0)}))],
        "allow" => vec![write("allowed.txt")],
        "ask" => vec![("ask_user", json!({"question": "Which colour?"}))],
        _ => vec![],
    }
}

/// Eight steps at once, one that fails and is planned around, and the end. Whoever is told that an outcome is unknown
/// leaves it at that.
fn script(asked: &Asked) -> Turn {
    match (asked.step.as_str(), asked.turn) {
        ("plan", 0) if asked.told.contains("met a failure") => {
            let reads: Vec<&str> = FIRST.into_iter().chain(THEN).collect();
            Turn::Say(plan(&[("around", "doer", &[]), ("more", "doer", &[]), ("end", "thinker", &reads)]).to_string())
        }
        ("plan", 0) => {
            let mut steps: Vec<(&str, &str, &[&str])> = FIRST.iter().map(|&id| (id, "doer", &[][..])).collect();
            steps.extend([("bad", "thinker", &[][..]), ("rest", "thinker", &["bad"][..])]);
            Turn::Say(plan(&steps).to_string())
        }
        ("bad", _) => Turn::Say(json!({"error": "it cannot be done"}).to_string()),
        ("end", _) => Turn::Say("the end".to_owned()),
        (step, 0) => Turn::Call(calls(step)),
        _ => Turn::Say("done".to_owned()),
    }
}

/// A stage where commands and the server on pipes note what they do in a file outside of the workspace: one that brings
/// words from the network would make a person be asked about what follows.
fn stage() -> Stage {
    let stage = Stage::new("[rules]\nask = [\"write_file(allowed.txt)\"]\n", script);
    std::fs::create_dir(notes(&stage)).unwrap();
    stage.world.file("note.sh", &format!("echo \"$1\" >> {}/effects\n", notes(&stage).display()));
    stage.serve_on_pipes("note.sh", &json!({"write": [notes(&stage)]}));
    stage
}

fn notes(stage: &Stage) -> PathBuf {
    stage.world.ws().with_file_name("notes")
}

fn goal(stage: &Stage) -> Vec<String> {
    let notes = notes(stage).display().to_string();
    let words = ["run", "--yes", "--write", &notes, "--model", "openai-compatible/m", "carry it out"];
    words.map(str::to_owned).to_vec()
}

/// How often an effect happened, wherever it was noted.
fn happened(stage: &Stage, name: &str) -> usize {
    let text = std::fs::read_to_string(notes(stage).join("effects")).unwrap_or_default();
    let web = stage.outside.seen().effects.get(name).copied().unwrap_or_default();
    text.lines().filter(|line| *line == name).count() + web as usize
}

#[test]
fn killed_at_any_moment_it_goes_on_and_nothing_is_lost_or_repeated() {
    let kills = environment("UPDRAFT_KILLS").and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let seed = seed("UPDRAFT_KILL_SEED");
    println!("seed {seed}");
    let mut dice = Dice(seed);
    let time = whole_life();
    let seeds: Vec<u64> = (0..AT_ONCE).map(|_| dice.next()).collect();
    let all = Mutex::new(Counts::default());
    std::thread::scope(|scope| {
        for mut dice in seeds.into_iter().map(Dice) {
            let all = &all;
            scope.spawn(move || {
                while all.lock().unwrap().kills < kills {
                    let mut counts = Counts::default();
                    let came = one_run(&mut dice, time, &mut counts);
                    all.lock().unwrap().add(&counts).say();
                    came.unwrap_or_else(|why| panic!("seed {seed}: {why}"));
                }
            });
        }
    });
    println!("{:?}: 0 lost, 0 repeated, every doubt told, every journal replays", all.lock().unwrap());
}

/// How long a life of the process lasts here, up to where it waits for a person.
fn whole_life() -> Duration {
    let stage = stage();
    let began = Instant::now();
    let ran = stage.updraft(&goal(&stage));
    assert_eq!(ran.code, 3, "{}", ran.err);
    began.elapsed()
}

fn one_run(dice: &mut Dice, time: Duration, counts: &mut Counts) -> Result<(), String> {
    let stage = stage();
    counts.runs += 1;
    // With others at work beside it, a life lasts up to as many times as long.
    let mut moment = || {
        let slowness = 1 + dice.below(AT_ONCE);
        let part = f64::from(u32::try_from(dice.below(1000) * slowness).unwrap_or_default()) / 900.0;
        time.mul_f64(part)
    };
    counts.kills += usize::from(stage.live_for(&goal(&stage), moment()).code == 124);
    let Some(run) = stage.run() else { return Ok(()) };
    // A question to a model that was cut off twice is asked a third and last time, and this one not killed.
    for _ in 0..12 {
        if journal::is_cut_off(&stage.events(&run)) {
            break;
        }
        stage.say(&run)?;
        let life = stage.live_for(&["resume", &run], moment());
        counts.kills += usize::from(life.code == 124);
        if life.code == 0 {
            break;
        }
    }
    let end = stage.finish(&run)?;
    if end.out.trim() != "the end" {
        return Err(format!("another end: {} {}", end.out, end.err));
    }
    judge(&stage, &run, counts)
}

/// Every effect happened once, or its step was told that nobody knows; and the journal replays.
fn judge(stage: &Stage, run: &str, counts: &mut Counts) -> Result<(), String> {
    let (events, told) = (stage.events(run), stage.outside.seen().told);
    let (doubts, refused) = (journal::doubts(&events), journal::refused(&events));
    for name in COUNTED {
        let count = happened(stage, name);
        let is_refused = refused.contains(name);
        counts.refused += usize::from(is_refused);
        if count > 1 || (count == 0 && !doubts.contains(name) && !is_refused) {
            let step = name.split('.').next().unwrap_or_default();
            let of_it = journal::of_step(&events, step);
            return Err(format!("{name} happened {count} times, and these are in doubt: {doubts:?}\n{of_it}"));
        }
        counts.effects += count;
        counts.happened_in_doubt += usize::from(count == 1 && doubts.contains(name));
    }
    for (path, text) in FILES {
        let found = std::fs::read_to_string(stage.world.ws().join(path)).unwrap_or_default();
        let is_in_doubt = doubts.contains(text.trim());
        if found != text && !(found.is_empty() && is_in_doubt) {
            return Err(format!("{path} holds {found:?}, and these are in doubt: {doubts:?}"));
        }
        counts.effects += usize::from(found == text);
        counts.happened_in_doubt += usize::from(found == text && is_in_doubt);
    }
    let left = leftovers(&stage.world.ws());
    if !left.is_empty() {
        return Err(format!("a write that was cut off left {left:?}"));
    }
    let told: usize = told.values().sum();
    if told != doubts.len() {
        return Err(format!("{doubts:?} are in doubt, and the model was told of {told}"));
    }
    counts.doubts += doubts.len();
    let replayed = stage.updraft(&["replay", run, "--strict"]);
    if replayed.code == 0 { Ok(()) } else { Err(format!("it does not replay: {}", replayed.err)) }
}

/// Files that a write cut off in the middle left behind where a person would see them.
fn leftovers(folder: &Path) -> Vec<String> {
    let known = ["a.txt", "count.sh", "note.sh", "server.sh", "deep", "log.txt", "allowed.txt"];
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| !known.contains(&name.as_str()) && !name.starts_with('.')).collect()
}
