//! Counts which tools a step has called and how often; calls made by code are counted under the call that ran the code.

use std::fmt;

use serde::Serialize;
use updraft_run::{EffectAddress, Run};

/// A tool, and how often it was called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolCallCount {
    /// The tool.
    pub tool: String,
    /// How often.
    pub calls: u32,
    /// The tools that its code called.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub from_code: Vec<ToolCallCount>,
}

impl ToolCallCount {
    /// Counts the call at an address that the run has just asked for.
    pub fn count(all: &mut Vec<ToolCallCount>, run: &Run, id: &EffectAddress) {
        let Some(call) = run.call_at(id) else { return };
        match id.outer().and_then(|outer| run.call_at(&outer)) {
            Some(outer) => Self::of(&mut Self::of(all, &outer.name).from_code, &call.name).calls += 1,
            None => Self::of(all, &call.name).calls += 1,
        }
    }

    fn of<'a>(all: &'a mut Vec<ToolCallCount>, tool: &str) -> &'a mut ToolCallCount {
        let at = all.iter().position(|used| used.tool == tool).unwrap_or_else(|| {
            all.push(ToolCallCount { tool: tool.to_owned(), ..ToolCallCount::default() });
            all.len() - 1
        });
        &mut all[at]
    }

    /// All of them in one line: `run_python ×2 (read_file ×3, search_files), write_file`.
    pub fn in_words(all: &[ToolCallCount]) -> String {
        all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for ToolCallCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        if self.calls > 1 {
            write!(f, " ×{}", self.calls)?;
        }
        if self.from_code.is_empty() { Ok(()) } else { write!(f, " ({})", Self::in_words(&self.from_code)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_code_called_stands_behind_what_ran_it() {
        let mut all = Vec::new();
        ToolCallCount::of(&mut all, "run_python").calls = 2;
        let inner = &mut ToolCallCount::of(&mut all, "run_python").from_code;
        ToolCallCount::of(inner, "read_file").calls = 3;
        ToolCallCount::of(inner, "search_files").calls = 1;
        ToolCallCount::of(&mut all, "write_file").calls = 1;
        assert_eq!(ToolCallCount::in_words(&all), "run_python ×2 (read_file ×3, search_files), write_file");
    }
}
