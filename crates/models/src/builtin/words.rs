//! The fixed sentences of the built-in model. Its tables of English are in `stem.rs`.

/// Added to every answer to a person: that the question was not understood by a language model, and how to connect one.
pub(super) const NO_MODEL: &str = "No language model is connected: this is a word search, and every line in quotation marks is quoted \
    from the file and line behind it. To connect one, set a key (GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY) or start a server: `updraft models`.";

/// Said by agents whose work needs more than finding and quoting.
pub(super) const CANNOT_WRITE: &str =
    "The built-in model cannot write or run code; connect a language model for this step.";
/// The same for the web.
pub(super) const CANNOT_BROWSE: &str =
    "The built-in model cannot browse the web; connect a language model for this step.";
/// The same where there are neither tools nor inputs.
pub(super) const CANNOT_LOOK: &str =
    "The built-in model can only search files and quote them, and this step has no tool to do so and nothing to read.";
/// Said in place of a judgement, because only rules were applied.
pub(super) const NOT_JUDGED: &str = "Not judged: no language model is connected.";
/// The person could not be asked.
pub(super) const NOT_ASKED: &str = "The question could not be put to the person.";

/// Says that something does not occur in the files.
pub(super) fn no_evidence(files: usize, what: &str) -> String {
    format!("I found no evidence in the {} of this folder for: {what}.", count_of_files(files))
}

/// Introduces lines that mention the right thing, but do not answer the question.
pub(super) fn closest(files: usize, missing: &str, shared: &str) -> String {
    format!(
        "I found no evidence in the {} of this folder for: {missing}. The closest lines only mention {shared}:",
        count_of_files(files)
    )
}

/// Says that there is nothing to read.
pub(super) fn nothing_to_read(files: usize) -> String {
    format!("I found nothing to quote in the {} of this folder.", count_of_files(files))
}

fn count_of_files(files: usize) -> String {
    match files {
        0 => "files".to_owned(),
        1 => "1 file".to_owned(),
        more => format!("{more} files"),
    }
}

/// A step's description and prompt, for the plan.
pub(super) struct StepText {
    pub(super) description: &'static str,
    pub(super) prompt: &'static str,
}

/// The text of the step that lists files.
pub(super) const LOOK: StepText = StepText {
    description: "List the files of the folder",
    prompt: "List the files of the workspace. Give their paths, documents and sources first.",
};
/// The text of the step that searches.
pub(super) const SEARCH: StepText = StepText {
    description: "Search the files for the words of the goal",
    prompt: "Search all files for each telling word of the goal. Give for each word the files and lines it stands in.",
};
/// The text of the steps that read; they differ in their share of the files.
pub(super) const READ: StepText = StepText {
    description: "Read a share of the best files and quote them",
    prompt: "Read your share of the files that fit the goal best. Quote the lines that speak to it, word for word, with path and line.",
};
/// The text of the step that answers.
pub(super) const COMPOSE: StepText = StepText {
    description: "Answer with the best quotations",
    prompt: "Answer the goal with the best quotations, each with its file and line. Where there is no evidence, say so.",
};
/// The text of the swarm's first step.
pub(super) const RESEARCH: StepText = StepText {
    description: "Find and quote what the files say",
    prompt: "Find the lines that speak to the goal. Quote them word for word, with path and line.",
};
/// The text of the swarm's second step.
pub(super) const REVIEW: StepText = StepText {
    description: "Check the findings",
    prompt: "Check the findings against the goal and say whether they can be handed over.",
};
