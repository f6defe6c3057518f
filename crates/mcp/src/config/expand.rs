//! Expands `${VAR}` in configured texts. The caller provides the values.

/// Returns the value of a variable, or `None` if it is not set.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Why a text could not be expanded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExpandError {
    /// The variable is not set and has no default.
    Variable(String),
    /// An editor would ask its user for the value; here there is nobody to ask.
    Input(String),
}

impl ExpandError {
    pub(super) fn words(&self) -> String {
        match self {
            ExpandError::Variable(name) => {
                format!("the variable `{name}` is not set; set it, or write `${{{name}:-default}}`")
            }
            ExpandError::Input(name) => {
                format!("`${{input:{name}}}` is asked for by an editor; write `${{VARIABLE}}` and set that instead")
            }
        }
    }
}

/// Expands `${VAR}`, `${VAR:-default}` and `${env:VAR}`. A `$` before anything else stands for itself.
pub(super) fn expand(text: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(length) = rest[at..].find('}') else { break };
        out.push_str(&rest[..at]);
        out.push_str(&value_of(&rest[at + 2..at + length], lookup)?);
        rest = &rest[at + length + 1..];
    }
    out.push_str(rest);
    Ok(out)
}

fn value_of(inside: &str, lookup: Lookup<'_>) -> Result<String, ExpandError> {
    if let Some(name) = inside.strip_prefix("input:") {
        return Err(ExpandError::Input(name.to_owned()));
    }
    let inside = inside.strip_prefix("env:").unwrap_or(inside);
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    // As in a shell, a variable that is set to an empty text takes the default.
    let found = lookup(name).filter(|value| default.is_none() || !value.is_empty());
    found.or_else(|| default.map(str::to_owned)).ok_or_else(|| ExpandError::Variable(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, ExpandError> {
        let lookup = |name: &str| match name {
            "TOKEN" => Some("t0p".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        expand(text, &lookup)
    }

    #[test]
    fn variables_and_defaults_are_filled_in() {
        assert_eq!(filled("Bearer ${TOKEN}").unwrap(), "Bearer t0p");
        assert_eq!(filled("${env:TOKEN}/${NONE:-a b}/${EMPTY:-c}/${EMPTY}").unwrap(), "t0p/a b/c/");
        assert_eq!(filled("costs $5 ${unclosed").unwrap(), "costs $5 ${unclosed");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(filled("${NONE}"), Err(ExpandError::Variable("NONE".into())));
        assert_eq!(filled("${input:key}"), Err(ExpandError::Input("key".into())));
    }
}
