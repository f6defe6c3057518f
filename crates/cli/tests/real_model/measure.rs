//! How many calls of a small model are usable, with and without what we do for it. The figures stand in
//! `docs/models-small.md`.

use std::sync::Arc;

use serde_json::Value;
use updraft_lenient::read_calls;
use updraft_models::{Model, ModelAccess, Prompt, RequestDraft, TaskBrief, resolve};
use updraft_run::{Message, ToolSpec};
use updraft_tools::{Registry, Schema, ToolLimits};

use crate::server::Served;

const TOOLS: [&str; 6] = ["append_line", "edit_file", "list_files", "read_file", "search_files", "write_file"];

/// The tool it takes, the place or pattern it is about, and what is asked for.
type Request = (&'static str, &'static str, &'static str);

/// What the wording of our prompts was tried on.
const TRIED: [Request; 24] = [
    ("read_file", "notes.txt", "Show me what is in notes.txt."),
    ("read_file", "README.md", "Read the file README.md."),
    ("read_file", "config.toml", "What does config.toml say?"),
    ("read_file", "src/main.rs", "Open src/main.rs and look at it."),
    ("list_files", "docs", "List the files in the folder docs."),
    ("list_files", "", "Which files are there?"),
    ("list_files", "src", "Show me the files in src."),
    ("list_files", "tests", "What is in the folder tests?"),
    ("search_files", "TODO", "Search all files for the word TODO."),
    ("search_files", "parse_date", "Find the lines that contain parse_date."),
    ("search_files", "invoice", "Which files mention the word invoice?"),
    ("search_files", "timeout", "Search for the text timeout in src."),
    ("write_file", "hello.txt", "Write a file hello.txt with the content Hello."),
    ("write_file", "todo.md", "Create the file todo.md with the text Buy milk."),
    ("write_file", "version.txt", "Make a new file version.txt that contains 1.2.3."),
    ("write_file", "greeting.txt", "Save the text Good morning in greeting.txt."),
    ("edit_file", "app.py", "In app.py replace foo by bar."),
    ("edit_file", "colors.txt", "Change the word red to blue in colors.txt."),
    ("edit_file", "server.conf", "Replace 8080 with 9090 in server.conf."),
    ("edit_file", "letter.txt", "In letter.txt change Anna into Maria."),
    ("append_line", "log.txt", "Append the line done to log.txt."),
    ("append_line", "todo.txt", "Add the line Call Anna at the end of todo.txt."),
    ("append_line", "diary.txt", "Add a new line to diary.txt that says It rained."),
    ("append_line", "shopping.txt", "Put the line eggs at the end of shopping.txt."),
];

/// What it was never tried on.
const FRESH: [Request; 24] = [
    ("read_file", "letter.md", "Please read letter.md to me."),
    ("read_file", "Makefile", "What is written in the Makefile?"),
    ("read_file", "data/prices.csv", "Look into data/prices.csv."),
    ("read_file", "LICENSE", "Print the file LICENSE."),
    ("list_files", "photos", "List everything in the folder photos."),
    ("list_files", "lib", "Which files does the folder lib hold?"),
    ("list_files", "", "Give me a list of all files."),
    ("list_files", "scripts", "What files are in scripts?"),
    ("search_files", "password", "Find the word password in the files."),
    ("search_files", "connect", "Where is the function connect used?"),
    ("search_files", "Zurich", "Search the files for Zurich."),
    ("search_files", "deprecated", "Look for lines with the word deprecated."),
    ("write_file", "name.txt", "Write the text Peter into a new file name.txt."),
    ("write_file", "empty.csv", "Create empty.csv with the content a,b,c."),
    ("write_file", "poem.txt", "Make a file poem.txt with the text Roses are red."),
    ("write_file", "port.cfg", "Store 443 in the file port.cfg."),
    ("edit_file", "menu.txt", "In menu.txt replace tea by coffee."),
    ("edit_file", "main.c", "Change the word int to long in main.c."),
    ("edit_file", "index.html", "Replace Welcome with Hello in index.html."),
    ("edit_file", "plan.md", "In plan.md change Monday into Friday."),
    ("append_line", "names.txt", "Append the line Clara to names.txt."),
    ("append_line", "journal.md", "Add the line Slept well at the end of journal.md."),
    ("append_line", "hosts", "Add a line to hosts that says 10.0.0.1 db."),
    ("append_line", "tasks.txt", "Put the line water plants at the end of tasks.txt."),
];

/// The ways it is asked: a name, what is left out on the way, and a setting of the model.
const WAYS: [(&str, &str, &str); 4] = [
    ("text, schema and examples", "all", "text"),
    ("text, examples only", "no-schema", "text"),
    ("text, schema only", "no-examples", "text"),
    ("native tools", "all", "native"),
];

#[derive(Debug, Default, PartialEq)]
struct Tally {
    valid: usize,
    right: usize,
    about: usize,
    input: u64,
    output: u64,
}

/// Run it with `cargo test -p updraft --test real_model -- --ignored --nocapture`.
#[tokio::test]
#[ignore = "takes minutes; it makes the table of docs/models-small.md"]
async fn schema_and_examples_make_calls_usable() {
    let Some(server) = Served::model() else { return };
    let relay = Served::relay(&server);
    let tools = Registry::standard(&ToolLimits::default()).specs_for(&TOOLS);
    assert_eq!(tools.len(), TOOLS.len());
    for (set, requests) in [("tried", &TRIED), ("fresh", &FRESH)] {
        println!("\n| {set} | valid | right tool | right argument | tokens read | tokens written |");
        println!("|---|---|---|---|---|---|");
        let mut tallies = Vec::new();
        for (name, way, by) in WAYS {
            let model = format!("openai-compatible/smollm2?tools={by}&temperature=0&base={}/{way}/v1", relay.address);
            let tally = tally(&*resolve(&model, &ModelAccess::default()).unwrap(), &tools, requests).await;
            let Tally { valid, right, about, input, output } = tally;
            println!("| {name} | {valid} of {} | {right} | {about} | {input} | {output} |", requests.len());
            tallies.push(tally);
        }
        let [whole, unheld, unshown, native] = tallies.as_slice() else { unreachable!() };
        assert!(whole.valid >= requests.len() * 9 / 10 && whole.valid > unheld.valid + 3, "{set}: {tallies:?}");
        assert!(whole.about > unshown.about && whole.right > native.right, "{set}: {tallies:?}");
    }
}

/// Asks for each once, each in a conversation of its own.
async fn tally(model: &dyn Model, tools: &[ToolSpec], requests: &[Request]) -> Tally {
    let brief = TaskBrief::default();
    let mut tally = Tally::default();
    for (wanted, about, request) in requests {
        let messages = [Message::User(Arc::from(*request))];
        let system = "You are a helpful assistant with access to the files of a workspace.";
        let prompt = Prompt { system, tools, messages: &messages, max_output: 120, ..Prompt::empty(&brief) };
        let answer = model.ask(&prompt, &mut RequestDraft::default(), &mut |_| ()).await.unwrap();
        tally.input += answer.usage.input;
        tally.output += answer.usage.output;
        let read = read_calls(&answer.text, &|name| TOOLS.contains(&name));
        let native = answer.calls.iter().filter(|call| call.fault.is_none()).map(|call| (&call.name, &call.args));
        let mut calls = native.chain(read.calls.iter().map(|call| (&call.name, &call.args)));
        let called = calls.next().filter(|(name, args)| is_valid(tools, name, args));
        tally.valid += usize::from(called.is_some());
        let right = called.filter(|(name, _)| name == wanted);
        tally.right += usize::from(right.is_some());
        let main = if *wanted == "search_files" { "pattern" } else { "path" };
        tally.about += usize::from(right.is_some_and(|(_, args)| args[main].as_str().unwrap_or_default() == *about));
    }
    tally
}

fn is_valid(tools: &[ToolSpec], name: &str, args: &Value) -> bool {
    let tool = tools.iter().find(|tool| tool.name == name);
    tool.is_some_and(|tool| Schema::new(&tool.parameters).unwrap().accept(args).is_ok())
}
