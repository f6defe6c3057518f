//! Worked tasks for a small model that works on files: each with its calls, what they returned, and the answer.
//!
//! A small model does what it has seen itself do. Single calls teach it to call once and to repeat the result; whole tasks teach
//! it to look, to act, to go on with the next file, and to answer in its own words.

use std::sync::Arc;

use serde_json::json;
use updraft_run::{Message, ModelAnswer};

/// What is told of one tool's result.
pub(crate) fn result_in_words(tool: &str, text: &str) -> String {
    format!("Result of {tool}:\n{}", text.trim_end())
}

/// The tools that occur in the tasks.
const USED: [&str; 5] = ["edit_file", "read_file", "run_command", "search_files", "write_file"];

/// A task that was done.
struct Episode {
    files: &'static str,
    goal: &'static str,
    /// Tool, arguments and result.
    calls: &'static [(&'static str, &'static str, &'static str)],
    answer: &'static str,
}

/// In each, values stand that occur nowhere else, so that copies of them are noticed.
const EPISODES: [Episode; 5] = [
    Episode {
        files: "wines.csv",
        goal: "How many wines in wines.csv are from 2019?",
        calls: &[
            ("run_command", r#"{"command":"head -n 3 wines.csv"}"#, "name,year,price\nRioja,2019,12\nBaga,2017,9"),
            ("run_command", r#"{"command":"awk -F, 'NR > 1 && $2 == 2019' wines.csv | wc -l"}"#, "14"),
        ],
        answer: "14 wines in wines.csv are from 2019.",
    },
    Episode {
        files: "letter.md\nplan.md",
        goal: "What does Ann want, according to letter.md?",
        calls: &[(
            "read_file",
            r#"{"path":"letter.md"}"#,
            "1\tDear Bob,\n2\tthe roof leaks again. Could you send someone on Monday? I am at home all day.\n3\tAnn",
        )],
        answer: "She asks Bob to have her leaking roof repaired on Monday.",
    },
    Episode {
        files: "store/basket.py\nstore/shelf.py",
        goal: "Where is the class Basket defined?",
        calls: &[("search_files", r#"{"pattern":"class Basket"}"#, "store/basket.py\n31: class Basket:")],
        answer: "In store/basket.py, on line 31.",
    },
    Episode {
        files: "README.md\nlimits.py",
        goal: "Make the limit 50 in limits.py, and say so in README.md.",
        calls: &[
            (
                "read_file",
                r#"{"path":"limits.py"}"#,
                "1\tNAME = \"box\"\n2\tLIMIT = 20\n3\t\n4\tdef fits(n):\n5\t    return n <= LIMIT",
            ),
            (
                "edit_file",
                r#"{"path":"limits.py","old":"LIMIT = 20","new":"LIMIT = 50"}"#,
                "edited `limits.py`: replaced 1 place",
            ),
            ("read_file", r#"{"path":"README.md"}"#, "1\t# Box\n2\tThings fit into a box."),
            (
                "edit_file",
                r#"{"path":"README.md","old":"Things fit into a box.","new":"Things fit into a box.\nIts limit is 50."}"#,
                "edited `README.md`: replaced 1 place",
            ),
        ],
        answer: "The limit is now 50 in limits.py, and README.md says so.",
    },
    Episode {
        files: "",
        goal: "Write a file colours.txt with red and blue, one on each line.",
        calls: &[(
            "write_file",
            r#"{"path":"colours.txt","content":"red\nblue\n"}"#,
            "wrote `colours.txt`: 9 bytes, a new file",
        )],
        answer: "Wrote colours.txt with two lines.",
    },
];

/// The tasks as a conversation, in the form of the real one; nothing if a tool of theirs is not among the model's.
pub(super) fn episodes(tools: &[&str]) -> Option<Vec<Message>> {
    if !USED.iter().all(|tool| tools.contains(tool)) {
        return None;
    }
    let said = |text: String| Message::Assistant(Arc::new(ModelAnswer { text, ..ModelAnswer::default() }));
    let mut messages = Vec::new();
    for Episode { files, goal, calls, answer } in &EPISODES {
        let workspace = if files.is_empty() { String::new() } else { format!("## Workspace\n\n{files}\n\n") };
        messages.push(Message::User(format!("{workspace}# Goal\n\n{goal}").into()));
        for (tool, args, result) in *calls {
            messages.push(said(format!(r#"{{"action":"{tool}","args":{args}}}"#)));
            messages.push(Message::User(result_in_words(tool, result).into()));
        }
        messages.push(said(json!({ "answer": answer }).to_string()));
    }
    Some(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_answers_are_as_the_schema_wants_them() {
        assert!(episodes(&["read_file"]).is_none());
        let messages = episodes(&USED).unwrap();
        let said = messages.iter().filter_map(|message| match message {
            Message::Assistant(said) => Some(serde_json::from_str::<serde_json::Value>(&said.text).unwrap()),
            _ => None,
        });
        let (calls, answers): (Vec<_>, Vec<_>) = said.partition(|said| said.get("action").is_some());
        assert_eq!((calls.len(), answers.len()), (9, EPISODES.len()));
        assert!(calls.iter().all(|call| USED.contains(&call["action"].as_str().unwrap()) && call["args"].is_object()));
        let first =
            Message::User("## Workspace\n\nwines.csv\n\n# Goal\n\nHow many wines in wines.csv are from 2019?".into());
        assert_eq!(messages[0], first);
    }
}
