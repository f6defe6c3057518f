//! Runs that need a person, in words that programs pass on: the question, and what an answer in words means.

use updraft_workbench::service::PendingQuestion;

/// One question, in words.
pub(crate) fn question(wait: &PendingQuestion) -> String {
    if wait.is_approval {
        let (name, arguments) = (tool(wait), &wait.call["args"]);
        return format!(
            "May the run call `{name}` with `{arguments}`? It asks because {}. Answer `approve` or `deny`.",
            wait.text.trim_end_matches('.')
        );
    }
    match wait.options.as_slice() {
        [] => wait.text.clone(),
        options => format!("{} ({})", wait.text, options.join(" / ")),
    }
}

/// The tool that is to be called.
pub(crate) fn tool(wait: &PendingQuestion) -> &str {
    wait.call["name"].as_str().unwrap_or("a tool")
}

/// Whether a text approves or denies, and what it adds to that.
pub(crate) fn decision(text: &str) -> Option<(bool, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let allow = match word.to_lowercase().as_str() {
        "approve" | "approved" | "allow" | "yes" => true,
        "deny" | "denied" | "no" => false,
        _ => return None,
    };
    Some((allow, rest.trim_start_matches(|c: char| !c.is_alphanumeric()).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_is_given_by_its_first_word() {
        assert_eq!(decision("Approve"), Some((true, String::new())));
        assert_eq!(decision(" no: it is too large "), Some((false, "it is too large".to_owned())));
        assert_eq!(decision("perhaps"), None);
        assert_eq!(decision("notable"), None);
    }
}
