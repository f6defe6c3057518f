//! The fixed sentences of the built-in model. Its table of English is in `matching.rs`.

/// Added to every answer to a person: that the question was not understood by a language model, and how to connect one.
pub(super) const NO_MODEL: &str = "No language model is connected: this is a word search, and every line in quotation marks is quoted \
    from the file and place before it. To connect one, set a key (GEMINI_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY) or start a server: `updraft models`.";

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

/// Said of a folder without anything that introduces it.
pub(super) const NOTHING_TO_QUOTE: &str = "I found nothing to quote in the files of this folder.";
/// Introduces lines that do not cover all that is asked.
pub(super) const CLOSEST: &str = "No line speaks of all that is asked; the closest are:";

/// Says that words stand in no file.
pub(super) fn no_evidence(what: &str) -> String {
    format!("I found no evidence in the files of this folder for: {what}.")
}

/// Says that words stand in the files, but no line was found that answers.
pub(super) fn nothing_together(what: &str) -> String {
    format!("I found no line in the files of this folder that speaks of these together: {what}.")
}

/// A step's description and prompt, for the plan.
pub(super) struct StepText {
    pub(super) description: &'static str,
    pub(super) prompt: &'static str,
}

/// The text of the steps that find.
pub(super) const FIND: StepText = StepText {
    description: "Find what the files say",
    prompt: "Find the passages that answer your part of the goal. Quote their best lines word for word, with path and place.",
};
/// The text of the step that answers.
pub(super) const COMPOSE: StepText = StepText {
    description: "Answer with the best quotations",
    prompt: "Answer the goal with the best quotations, each with its file and place. Where there is no evidence, say so.",
};
/// The text of the swarm's second step.
pub(super) const REVIEW: StepText = StepText {
    description: "Check the findings",
    prompt: "Check the findings against the goal and say whether they can be handed over.",
};
