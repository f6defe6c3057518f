//! Models that are not available for a while: the server is gone, the key is wrong, the account is empty. No run is lost by it,
//! and nothing that is done is done again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;

use super::world::{Ran, World};

/// A model server that can leave, come back, and refuse.
#[derive(Clone)]
struct Server(Arc<Mutex<State>>);

struct State {
    address: SocketAddr,
    /// The prompts that it answered, by the word they hold.
    answered: Vec<&'static str>,
    /// It leaves after so many answers.
    leaves_after: Option<usize>,
    /// It refuses after so many answers, unless the key is the right one.
    refuses: Option<(usize, &'static str, &'static str)>,
    key: &'static str,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State { address, answered: Vec::new(), leaves_after: None, refuses: None, key: "good-key" };
        let server = Self(Arc::new(Mutex::new(state)));
        server.serve(listener);
        server
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn come_back(&self) {
        self.set(|state| state.leaves_after = None);
        let address = self.0.lock().unwrap().address;
        self.serve(TcpListener::bind(address).unwrap());
    }

    fn answered(&self) -> Vec<&'static str> {
        self.0.lock().unwrap().answered.clone()
    }

    fn serve(&self, listener: TcpListener) {
        let server = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                server.answer(&stream.unwrap());
                let state = server.0.lock().unwrap();
                if state.leaves_after == Some(state.answered.len()) {
                    return;
                }
            }
        });
    }

    fn answer(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream);
        let (mut length, mut key) = (0, String::new());
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end();
            let lower = line.to_ascii_lowercase();
            if let Some(number) = lower.strip_prefix("content-length: ") {
                length = number.parse().unwrap();
            }
            if lower.starts_with("authorization: bearer ") {
                line[22..].clone_into(&mut key);
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        lines.read_exact(&mut body).unwrap();
        let (status, body) = self.reply(&String::from_utf8_lossy(&body), &key);
        let head = "content-type: application/json\r\nconnection: close";
        let text = format!("HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let _ = lines.into_inner().write_all(text.as_bytes());
    }

    fn reply(&self, body: &str, key: &str) -> (&'static str, String) {
        let Some(word) = ["task-two", "task-one"].into_iter().find(|word| body.contains(word)) else {
            return ("404 Not Found", "{}".to_owned());
        };
        let mut state = self.0.lock().unwrap();
        if let Some((after, status, why)) = state.refuses
            && state.answered.len() >= after
            && key != state.key
        {
            return (status, json!({"error": {"message": why, "code": why}}).to_string());
        }
        state.answered.push(word);
        let answer = json!({
            "choices": [{"index": 0, "message": {"role": "assistant", "content": format!("{word} is done")}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        });
        ("200 OK", answer.to_string())
    }
}

/// A run of two steps, one after the other.
fn run(world: &World, server: &Server) -> Command {
    let plan = json!({"steps": [
        {"id": "one", "agent": "thinker", "prompt": "task-one", "writes": ["first"]},
        {"id": "two", "agent": "thinker", "prompt": "do task-two now", "after": ["one"]},
    ]});
    let plan = world.file("plan.json", &plan.to_string());
    with_server(world, server, &["run", "--model", "openai/m", "--plan", plan.to_str().unwrap(), "go"])
}

fn with_server(world: &World, server: &Server, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("OPENAI_BASE_URL", format!("http://{}/v1", server.0.lock().unwrap().address));
    command.env("OPENAI_API_KEY", "old-key").env("UPDRAFT_MAX_WAIT", "1s");
    command
}

fn ended(mut command: Command) -> Ran {
    Ran::of(command.output().unwrap())
}

#[test]
fn a_server_that_is_away_for_five_seconds_is_waited_for() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.leaves_after = Some(1));
    let child = run(&world, &server).env("UPDRAFT_MAX_WAIT", "1m").spawn().unwrap();
    World::until("the server has left", || server.answered().len() == 1);
    std::thread::sleep(Duration::from_secs(5));
    server.come_back();
    let ran = Ran::of(child.wait_with_output().unwrap()).code(0);
    assert_eq!(ran.out, "task-two is done\n");
    ran.says("waiting for openai/m, attempt 5, next try in 5 s: 127.0.0.1:")
        .says("can't be reached: is the server running?");
    assert_eq!(server.answered(), ["task-one", "task-two"]);
}

#[test]
fn a_server_that_is_away_for_longer_stops_the_run_which_goes_on_when_it_is_back() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.leaves_after = Some(1));
    let ran = ended(run(&world, &server)).code(4);
    let id = world.last();
    let command = format!("`updraft resume {id}` continues where it stopped");
    ran.says("can't be reached: is the server running?").says("not done").says(&command);
    let shown = world.updraft(&["show", &id]).code(0).out;
    assert!(shown.contains("not done") && shown.contains("can't be reached") && shown.contains(&command), "{shown}");
    let events = world.updraft(&["events", &id]).out;
    assert!(!events.contains("step_failed") && !events.contains("a new plan"), "{events}");

    // Still away: nothing is used up by trying.
    for _ in 0..4 {
        ended(with_server(&world, &server, &["resume", &id])).code(4);
    }
    server.come_back();
    assert_eq!(ended(with_server(&world, &server, &["resume", &id])).code(0).out, "task-two is done\n");
    assert_eq!(server.answered(), ["task-one", "task-two"], "what was done is not done again");
    world.updraft(&["replay", &id]).code(0);
}

#[test]
fn a_key_that_no_longer_counts_stops_the_run_and_a_new_one_goes_on() {
    let refusals = [
        ("401 Unauthorized", "invalid_api_key", "set OPENAI_API_KEY"),
        ("403 Forbidden", "no access", "set OPENAI_API_KEY"),
        ("429 Too Many Requests", "insufficient_quota", "no credit left"),
        ("402 Payment Required", "payment required", "no credit left"),
    ];
    std::thread::scope(|scope| {
        for (status, why, advice) in refusals {
            scope.spawn(move || {
                let (world, server) = (World::new(), Server::new());
                server.set(|state| state.refuses = Some((1, status, why)));
                let begun = Instant::now();
                let ran = ended({
                    let mut command = run(&world, &server);
                    command.env("UPDRAFT_MAX_WAIT", "10m");
                    command
                })
                .code(4);
                assert!(begun.elapsed() < Duration::from_secs(30), "{status} is not waited for");
                assert!(!ran.err.contains("! two"), "the reason is said once, at the end: {}", ran.err);
                ran.says("stopped: ").says(advice).says("updraft resume");
                let mut again = with_server(&world, &server, &["resume", &world.last()]);
                again.env("OPENAI_API_KEY", "good-key");
                assert_eq!(ended(again).code(0).out, "task-two is done\n");
                assert_eq!(server.answered(), ["task-one", "task-two"]);
            });
        }
    });
}

#[test]
fn no_key_at_all_at_resume_loses_nothing() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.refuses = Some((1, "401 Unauthorized", "invalid_api_key")));
    ended(run(&world, &server)).code(4);
    let id = world.last();
    let mut bare = with_server(&world, &server, &["resume", &id]);
    bare.env_remove("OPENAI_API_KEY").env_remove("OPENAI_BASE_URL");
    ended(bare).code(4).says("OPENAI_API_KEY");
    let mut again = with_server(&world, &server, &["resume", &id]);
    again.env("OPENAI_API_KEY", "good-key");
    ended(again).code(0);
}

#[test]
fn an_overload_is_waited_for_and_a_bad_request_is_not() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.refuses = Some((1, "503 Service Unavailable", "overloaded")));
    let mut command = run(&world, &server);
    let child = command.env("UPDRAFT_MAX_WAIT", "1m").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    server.set(|state| state.refuses = None);
    Ran::of(child.wait_with_output().unwrap()).code(0).says("waiting for openai/m").says("status 503: overloaded");

    server.set(|state| state.refuses = Some((0, "400 Bad Request", "no such parameter")));
    let ran = ended(run(&world, &server));
    assert!(matches!(ran.code, 1 | 5), "{} {}", ran.code, ran.err);
}

#[test]
fn an_interrupt_while_it_waits_ends_it_at_once_however_often() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.leaves_after = Some(1));
    ended(run(&world, &server)).code(4);
    let id = world.last();
    for _ in 0..4 {
        let mut command = with_server(&world, &server, &["resume", &id]);
        let child = command.env("UPDRAFT_MAX_WAIT", "10m").spawn().unwrap();
        std::thread::sleep(Duration::from_secs(5));
        let begun = Instant::now();
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        Ran::of(child.wait_with_output().unwrap()).code(130).says("nothing is lost");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    server.come_back();
    ended(with_server(&world, &server, &["resume", &id])).code(0);
    assert_eq!(server.answered(), ["task-one", "task-two"]);
}

#[test]
fn a_failure_of_the_server_itself_is_tried_a_few_times_and_loses_nothing() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.refuses = Some((1, "500 Internal Server Error", "the prompt broke it")));
    let ran = ended(run(&world, &server)).code(4);
    ran.says("failed 4 times: status 500").says("updraft resume");
    server.set(|state| state.refuses = None);
    assert_eq!(ended(with_server(&world, &server, &["resume", &world.last()])).code(0).out, "task-two is done\n");
    assert_eq!(server.answered(), ["task-one", "task-two"]);
}

#[test]
fn a_key_that_was_set_anew_counts_in_a_process_that_runs() {
    let (world, server) = (World::new(), Server::new());
    server.set(|state| state.refuses = Some((1, "401 Unauthorized", "invalid_api_key")));
    let key_of = |variable: &str| world.config("config.toml", &format!("[providers.openai]\nkey_env = {variable:?}\n"));
    key_of("OLD_KEY");
    let mut command = run(&world, &server);
    command.env_remove("OPENAI_API_KEY").env("OLD_KEY", "old-key").env("NEW_KEY", "good-key");
    let child = command.env("UPDRAFT_MAX_WAIT", "1m").spawn().unwrap();
    World::until("the first step is done", || server.answered().len() == 1);
    key_of("NEW_KEY");
    let ran = Ran::of(child.wait_with_output().unwrap()).code(0);
    assert_eq!(ran.out, "task-two is done\n");
}

#[test]
fn a_server_that_only_sends_comments_stops_the_run() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = asked.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // Held open, with comments that say nothing.
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1 << 13]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n");
            heard.lock().unwrap().push(stream.try_clone().unwrap());
            std::thread::spawn(move || {
                while stream.write_all(b": still here\n\n").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    let mut command = world.command(&["run", "--agent", "thinker", "--model", "openai/m", "think"]);
    command.env("OPENAI_BASE_URL", format!("http://{address}/v1")).env("OPENAI_API_KEY", "a-key-of-ours");
    command.env("UPDRAFT_SILENCE", "1s");
    ended(command).code(4).says(" for 1 s; set a longer `silence`").says("updraft resume");
    assert_eq!(asked.lock().unwrap().len(), 1);
    let shown = world.updraft(&["show", "--json", &world.last()]).code(0).value();
    assert_eq!((&shown["statistics"]["doubtful_calls"], &shown["statistics"]["turns"]), (&json!(1), &json!(1)));
}

#[test]
fn a_planner_whose_model_refuses_is_waited_for_and_another_model_goes_on() {
    for (status, why) in [("404 Not Found", "no such model"), ("400 Bad Request", "this model does not take `tools`")] {
        let (world, server) = (World::new(), Server::new());
        server.set(|state| state.refuses = Some((0, status, why)));
        let ran = ended(with_server(&world, &server, &["run", "--model", "openai/m", "do task-one"])).code(4);
        let id = world.last();
        ran.says(why).says(&format!("`updraft resume {id} --model PROVIDER/NAME` continues with another"));
        let plan = json!({"steps": [{"id": "one", "agent": "thinker", "prompt": "think", "model": "fast"}]});
        let rules = json!({"rules": [{"when": {"agent": "planner"}, "answer": {"json": plan}}], "default": {"text": "thought"}});
        let other = world.script("s.json", &rules);
        let ran = ended(with_server(&world, &server, &["resume", &id, "--model", &other])).code(0);
        assert_eq!(ran.out, "thought\n");
        assert_eq!(server.answered(), Vec::<&str>::new(), "every agent has the other model");
        let events = world.updraft(&["events", &id]).out;
        assert!(events.contains("with scripted/") && !events.contains("step_failed"), "{events}");
        world.updraft(&["replay", &id]).code(0);
        world.updraft(&["resume", &id, "--model", "opnai/m"]).code(5);
    }
}
