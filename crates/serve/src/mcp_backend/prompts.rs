//! The prompts of the server, for two ways of working with Updraft: plan and execute, review and fix.

use updraft_mcp::server::ErrorData;
use updraft_mcp::server::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};

use updraft_mcp::server::PromptRequest;

struct PromptTemplate {
    name: &'static str,
    description: &'static str,
    /// The name and the description of its only argument.
    argument: (&'static str, &'static str),
    text: &'static str,
}

const PATTERNS: [PromptTemplate; 2] = [
    PromptTemplate {
        name: "plan-and-execute",
        description: "Let Updraft's agents write the design, wait for it, then carry it out yourself",
        argument: ("goal", "What to build or change"),
        text: include_str!("plan-and-execute.md"),
    },
    PromptTemplate {
        name: "review-and-fix",
        description: "Let Updraft's agents review what you have written, then fix what they find",
        argument: ("subject", "What to review: files, a feature, a page"),
        text: include_str!("review-and-fix.md"),
    },
];

pub(super) fn all() -> Vec<Prompt> {
    let prompt = |pattern: &PromptTemplate| {
        let (name, text) = pattern.argument;
        let argument = PromptArgument::new(name).with_description(text).with_required(true);
        Prompt::new(pattern.name, Some(pattern.description), Some(vec![argument]))
    };
    PATTERNS.iter().map(prompt).collect()
}

pub(super) fn fill_in(wanted: &PromptRequest) -> Result<GetPromptResult, ErrorData> {
    let pattern = PATTERNS.iter().find(|pattern| pattern.name == wanted.name);
    let pattern =
        pattern.ok_or_else(|| ErrorData::invalid_params(format!("no prompt named `{}`", wanted.name), None))?;
    let (name, _) = pattern.argument;
    let missing = || ErrorData::invalid_params(format!("the prompt needs the argument `{name}`"), None);
    let given = wanted.arguments.get(name).and_then(|given| given.as_str()).ok_or_else(missing)?;
    let text = pattern.text.trim().replace(&format!("{{{name}}}"), given);
    Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description(pattern.description))
}
