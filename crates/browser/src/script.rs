//! JavaScript of the caller, in the page's own world. Whether it may run is for the caller to decide.

use serde_json::json;

use crate::cut::CutText;
use crate::error::Error;
use crate::tab::{Tab, script_value};

impl Tab {
    /// Evaluates an expression, or calls a function such as `() => document.title`; promises are waited for. The value
    /// is returned as JSON, cut at the limit for characters.
    pub async fn evaluate(&self, script: &str) -> Result<CutText, Error> {
        self.ready()?;
        let is_function = script.trim_start().starts_with("function")
            || script.trim_start().starts_with("async ")
            || script.split("=>").next().is_some_and(|head| script.contains("=>") && is_parameters(head.trim()));
        let expression = if is_function { format!("({script})()") } else { script.to_owned() };
        let params = json!({
            "expression": expression,
            "returnByValue": true,
            "awaitPromise": true,
            "userGesture": true,
            "replMode": !is_function,
        });
        let answer = self.call_within("Runtime.evaluate", params, self.limits().script).await;
        if matches!(answer, Err(Error::TimedOut { .. })) {
            // Else a loop that never ends would make the page unusable.
            let _ = self.call("Runtime.terminateExecution", json!({})).await;
        }
        let value = script_value(answer?)?;
        Ok(CutText::of(&value.to_string(), 0, self.limits().characters))
    }
}

fn is_parameters(head: &str) -> bool {
    (head.starts_with('(') && head.ends_with(')') && !head[1..head.len() - 1].contains('('))
        || (!head.is_empty() && head.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$'))
}
