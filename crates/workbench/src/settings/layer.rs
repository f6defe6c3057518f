//! One source of settings: a file, the environment or the flags.

use std::path::{Path, PathBuf};

use toml::Spanned;
use updraft_run::{ApprovalMode, Millis};

use super::browser::WrittenBrowser;
use super::log::WrittenLog;
use super::origin::SettingOrigin;
use super::web::WrittenWeb;
use super::written::{WrittenBudget, WrittenSettings, dollars_to_cost};
use crate::fault::Fault;
use crate::{folders, time_format, untrusted};

/// The settings from one source, and where it is.
pub(crate) struct SettingsLayer {
    pub(crate) written: WrittenSettings,
    pub(crate) origin: SettingOrigin,
    pub(crate) file: PathBuf,
    text: String,
}

impl SettingsLayer {
    /// Reads a file; a missing file sets nothing.
    pub(crate) fn file(path: &Path, origin: SettingOrigin) -> Result<Self, Fault> {
        let text = match untrusted::read_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(Fault::config(format!("could not read `{}`: {error}", path.display()))),
        };
        let written = toml::from_str(&text).map_err(|error| in_words(path, &text, &error))?;
        Ok(Self { written, origin, file: path.to_owned(), text })
    }

    /// Reads `UPDRAFT_MODEL` and the other environment variables.
    pub(crate) fn environment() -> Result<Self, Fault> {
        let dollars = |text: &str| {
            text.parse().map_err(|_| "expected dollars, for instance 0.50".into()).and_then(dollars_to_cost)
        };
        let time = |text: &str| time_format::duration(text).map(|length| Millis(length.as_millis() as u64));
        let approvals = |text: &str| {
            ApprovalMode::from_word(text).ok_or_else(|| "expected `ask`, `refuse`, `allow` or `read-only`".into())
        };
        let written = WrittenSettings {
            model: folders::set("UPDRAFT_MODEL").map(unplaced),
            turns: number("UPDRAFT_TURNS")?,
            query_turns: number("UPDRAFT_QUERY_TURNS")?,
            agent_turns: number("UPDRAFT_AGENT_TURNS")?,
            max_wait: parsed("UPDRAFT_MAX_WAIT", time)?,
            silence: parsed("UPDRAFT_SILENCE", time)?,
            stall: parsed("UPDRAFT_STALL", time)?,
            parallel: number("UPDRAFT_PARALLEL")?,
            revisits: number("UPDRAFT_REVISITS")?,
            replans: number("UPDRAFT_REPLANS")?,
            plan_attempts: number("UPDRAFT_PLAN_ATTEMPTS")?,
            repeats: number("UPDRAFT_REPEATS")?,
            max_steps: number("UPDRAFT_MAX_STEPS")?,
            max_output: number("UPDRAFT_MAX_OUTPUT")?,
            think: folders::set("UPDRAFT_THINK").map(unplaced),
            probe: parsed("UPDRAFT_PROBE", yes_or_no)?,
            cache: parsed("UPDRAFT_CACHE", yes_or_no)?,
            assume: parsed("UPDRAFT_ASSUME", yes_or_no)?,
            approvals: parsed("UPDRAFT_APPROVALS", approvals)?,
            mode: parsed("UPDRAFT_MODE", |text| {
                ApprovalMode::from_mode(text).ok_or_else(|| "expected `read-only`, `workspace` or `full`".into())
            })?,
            budget: WrittenBudget {
                cost: parsed("UPDRAFT_BUDGET", dollars)?,
                tokens: number("UPDRAFT_MAX_TOKENS")?,
                time: parsed("UPDRAFT_MAX_TIME", time)?,
                turns: number("UPDRAFT_MAX_TURNS")?,
                calls: number("UPDRAFT_MAX_CALLS")?,
            },
            browser: WrittenBrowser {
                program: folders::set("UPDRAFT_BROWSER").map(unplaced),
                ..WrittenBrowser::default()
            },
            web: WrittenWeb { loopback: parsed("UPDRAFT_WEB_LOOPBACK", yes_or_no)?, ..WrittenWeb::default() },
            log: WrittenLog::at_level(folders::set("UPDRAFT_LOG").map(unplaced)),
            ..WrittenSettings::default()
        };
        Ok(Self { written, origin: SettingOrigin::Environment, file: PathBuf::new(), text: String::new() })
    }

    /// The settings from the command line.
    pub(crate) fn flags(written: WrittenSettings) -> Self {
        Self { written, origin: SettingOrigin::Flag, file: PathBuf::new(), text: String::new() }
    }

    /// Where a value came from, in one line, for lists of settings.
    pub(crate) fn source<T>(&self, value: &Spanned<T>) -> String {
        match self.origin {
            SettingOrigin::User | SettingOrigin::Workspace | SettingOrigin::Stranger => {
                format!("{} {}", self.origin.word(), self.place(value))
            }
            SettingOrigin::Default | SettingOrigin::Environment | SettingOrigin::Flag => self.origin.word().to_owned(),
        }
    }

    /// Where a value is written, for error messages.
    pub(crate) fn place<T>(&self, value: &Spanned<T>) -> String {
        match self.origin {
            SettingOrigin::Default => "default".into(),
            SettingOrigin::Environment => "the environment".into(),
            SettingOrigin::Flag => "the command line".into(),
            SettingOrigin::User | SettingOrigin::Workspace | SettingOrigin::Stranger => {
                format!("{}:{}", self.file.display(), line_of(&self.text, value.span().start))
            }
        }
    }
}

fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

fn parsed<T>(name: &str, parse: impl Fn(&str) -> Result<T, String>) -> Result<Option<Spanned<T>>, Fault> {
    let Some(text) = folders::set(name) else { return Ok(None) };
    parse(text.trim())
        .map(|value| Some(unplaced(value)))
        .map_err(|why| Fault::config(format!("{name} is `{text}`; {why}")))
}

fn number<T: std::str::FromStr>(name: &str) -> Result<Option<Spanned<T>>, Fault> {
    parsed(name, |text| text.parse().map_err(|_| "expected a whole number".into()))
}

fn yes_or_no(text: &str) -> Result<bool, String> {
    match text {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("expected yes or no".into()),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// The error of TOML or serde, with the file, the line and similar names.
fn in_words(path: &Path, text: &str, error: &toml::de::Error) -> Fault {
    let line = error.span().map_or(1, |span| line_of(text, span.start));
    let place = format!("{}:{line}", path.display());
    let message = error.message();
    let Some(rest) = message.strip_prefix("unknown field `") else {
        return Fault::config(format!("{place}: {message}"));
    };
    let mut names = rest.split('`');
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.skip(1).step_by(2).collect();
    Fault::config(format!("{place}: `{unknown}` is not a setting"))
        .hint(format!("available: {}", updraft_run::close_to(unknown, &known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (String, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        let fault = SettingsLayer::file(&file, SettingOrigin::User).err().unwrap();
        (fault.message.replace(&folder.path().display().to_string(), ""), fault.hints)
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_close_names() {
        let (message, hints) = fault("model = \"builtin\"\n\nturn = 3\n");
        assert_eq!(message, "/config.toml:3: `turn` is not a setting");
        assert_eq!(hints, ["available: `turns`"]);
    }

    #[test]
    fn a_value_of_another_kind_is_named_with_its_line() {
        let (message, _) = fault("[budget]\ntime = \"soon\"\n");
        assert!(message.starts_with("/config.toml:2: `soon` is not a duration"), "{message}");
    }
}
