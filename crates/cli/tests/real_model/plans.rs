//! Plans of a small model: how many of twenty goals get a plan that can be carried out, without falling back to one step.

use serde_json::Value;

use crate::goals::Place;
use crate::server::Served;

const GOALS: [&str; 20] = [
    "What time does the harbour open?",
    "Write a short report about harbour.txt.",
    "List the files of this folder and say what each is for.",
    "Find every TODO in the source code and sort them by file.",
    "Rename the function parse to read in all files.",
    "Compute the average of the numbers 3, 8, 12 and 21.",
    "Compare the two configuration files and list the differences.",
    "Translate harbour.txt into French.",
    "Check whether the README mentions how to install the program.",
    "Plot the monthly sales from sales.csv.",
    "Summarise the newest three articles about solar power.",
    "Fix the failing test in the parser.",
    "Which dependencies of this project are outdated?",
    "Draft an e-mail that invites Anna to the meeting on Friday.",
    "Explain how the cache works, with file names and lines.",
    "Convert data.json to a CSV file.",
    "Find out who wrote the function connect and why.",
    "Make a table of the capitals of five European countries.",
    "Review the last change for mistakes.",
    "Count the words in harbour.txt and write the number to words.txt.",
];

/// Run it with `cargo test -p updraft --test real_model -- --ignored --nocapture valid_plans`.
#[test]
#[ignore = "takes minutes; its figure stands in docs/plans.md"]
fn a_small_model_gives_valid_plans() {
    let Some(server) = Served::model() else { return };
    let place = Place::new(&server);
    let (mut valid, mut longest) = (0, 0);
    for goal in GOALS {
        let ran = place.updraft_with(&["run", "--plan-only", "--json", goal], "600");
        let err = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{goal}: {err}");
        let plan: Value = serde_json::from_slice(&ran.stdout).unwrap();
        let is_own = !err.contains("one step instead of a plan");
        valid += usize::from(is_own);
        let steps: Vec<&str> =
            plan["steps"].as_array().unwrap().iter().filter_map(|step| step["agent"].as_str()).collect();
        println!("{} {goal} -> {}", if is_own { "valid" } else { "NONE " }, steps.join(", "));
        let shown: Value =
            serde_json::from_slice(&place.updraft_with(&["show", "last", "--json"], "600").stdout).unwrap();
        let planner = shown["steps"].as_array().unwrap().iter().find(|step| step["id"] == "plan").unwrap();
        let (read, turns) = (planner["input_tokens"].as_u64().unwrap(), planner["turns"].as_u64().unwrap());
        longest = longest.max(read / turns.max(1));
    }
    println!("{valid} of {} plans are valid; the longest prompt had {longest} tokens", GOALS.len());
    assert!(valid >= 19, "{valid} of {}", GOALS.len());
    assert!(longest < 1_000, "{longest}");
}
