//! What a model is told between two turns.

use serde::{Deserialize, Serialize};

/// Something the model is told between two turns. The text is in the prompt files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// The next answer is the last one.
    LastTurn,
    /// The previous answer was announced as the last one, but the step was given more turns.
    MoreTurns,
    /// These variables are missing from the result.
    MissingOutput {
        /// Their names.
        names: Vec<String>,
    },
    /// The task does not look done.
    Unfinished {
        /// Why, and the task once more.
        what: String,
    },
    /// The result does not fit its schema, or is not what was asked for.
    Unfit {
        /// What is wrong with it.
        what: String,
    },
    /// All tools of this turn failed: answer from what is known.
    AllToolsFailed,
    /// The model repeats the same call, and it returns the same.
    RepeatedCall {
        /// The tool.
        name: String,
        /// How often it has returned this in the newest turns.
        #[serde(default)]
        times: u32,
        /// The beginning of what it returned.
        #[serde(default)]
        returned: String,
    },
    /// The last answer reached the output limit; the next answer is appended to it.
    CutOff,
    /// The plan has these faults.
    PlanFaults {
        /// One sentence each.
        faults: Vec<String>,
    },
    /// Citations in the result do not hold.
    FalseCitations {
        /// One sentence each.
        faults: Vec<String>,
    },
    /// The user sent another message.
    Told {
        /// In their words.
        message: String,
    },
    /// Background commands of the step have ended with the process that ran them.
    BackgroundEnded {
        /// Their names.
        names: Vec<String>,
    },
}
