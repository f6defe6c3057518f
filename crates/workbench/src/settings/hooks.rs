//! `[[hooks]]`: programs that are called at events.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;
use updraft_run::{ASK_USER, Millis};
use updraft_tools::{ASK_MODEL, HookEvent};

use super::layer::SettingsLayer;
use super::origin::SettingOrigin;
use super::written::time;
use crate::fault::Fault;
use crate::time_format;

/// How long a hook may take unless it says otherwise, and at most.
const USUAL: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_mins(10);
/// Questions to people and to other models. The run puts them itself, and tells no hook.
const UNTOLD: [&str; 2] = [ASK_USER, ASK_MODEL];

/// One table `[[hooks]]` as it was written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenHook {
    name: Option<String>,
    event: Option<Spanned<String>>,
    command: Vec<String>,
    tools: Vec<String>,
    #[serde(deserialize_with = "time")]
    time: Option<Spanned<Millis>>,
    failure: Option<Spanned<String>>,
}

/// One hook.
#[derive(Clone, Debug)]
pub(crate) struct HookSetting {
    /// Its name.
    pub(crate) name: String,
    /// When it is called.
    pub(crate) event: HookEvent,
    /// The program and its arguments.
    pub(crate) command: Vec<String>,
    /// Only calls of these tools; all if empty.
    pub(crate) tools: Vec<String>,
    /// How long it may take.
    pub(crate) time: Duration,
    /// Whether a call is made if the hook fails.
    pub(crate) lets_pass_on_failure: bool,
    /// Where it came from, for people.
    from: String,
}

/// Adds the hooks of a layer. None is ever removed by another; those of an untrusted workspace are ignored.
pub(super) fn take(
    hooks: &mut Vec<HookSetting>,
    layer: &SettingsLayer,
    ignored: &mut Vec<String>,
) -> Result<(), Fault> {
    let written = &layer.written.hooks;
    if layer.origin == SettingOrigin::Stranger {
        ignored.extend((!written.is_empty()).then(|| "its hooks".to_owned()));
        return Ok(());
    }
    for one in written {
        let place = layer.place(one);
        hooks.push(read(one.get_ref(), &place).map_err(|why| Fault::config(format!("{place}: {why}")))?);
    }
    Ok(())
}

fn read(written: &WrittenHook, place: &str) -> Result<HookSetting, String> {
    let WrittenHook { name, event, command, tools, time, failure } = written.clone();
    let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.word()).collect();
    let word = event.ok_or_else(|| format!("the hook has no `event`; expected {}", known.join(", ")))?.into_inner();
    let event = HookEvent::ALL.into_iter().find(|event| event.word() == word);
    let event = event.ok_or_else(|| format!("the hook's `event` is `{word}`; expected {}", known.join(", ")))?;
    let program = command.first().filter(|program| !program.trim().is_empty());
    let program = program.ok_or("the hook has no `command`; expected a list: the program and its arguments")?;
    if !tools.is_empty() && !matches!(event, HookEvent::BeforeCall | HookEvent::AfterCall) {
        return Err(format!("the hook has `tools`, but `{word}` is not about calls"));
    }
    if let Some(name) = tools.iter().find(|name| UNTOLD.contains(&name.as_str())) {
        return Err(format!(
            "the hook's `tools` name `{name}`, a question that no hook is told about; deny it under [rules] instead"
        ));
    }
    let lets_pass_on_failure = match failure.map(Spanned::into_inner).as_deref() {
        None | Some("deny") => false,
        Some("pass") => true,
        Some(other) => return Err(format!("the hook's `failure` is `{other}`; expected `deny` or `pass`")),
    };
    let time = time.map_or(USUAL, |time| Duration::from_millis(time.into_inner().0));
    if time.is_zero() || time > LONGEST {
        return Err("the hook's `time` must be more than 0 and at most 10 m".to_owned());
    }
    let is_file = |word: &&String| word.contains(['/', '.']) && !word.contains(char::is_whitespace);
    let last = command.iter().rev().find(is_file).unwrap_or(program);
    let own_name = last.rsplit(['/', '\\']).next().unwrap_or(last).to_owned();
    let name = name.filter(|name| !name.trim().is_empty()).unwrap_or(own_name);
    Ok(HookSetting { name, event, command, tools, time, lets_pass_on_failure, from: place.to_owned() })
}

/// Every hook: name, value as TOML, where it came from.
pub(super) fn list(hooks: &[HookSetting]) -> Vec<(String, String, String)> {
    let row = |(at, own): (usize, &HookSetting)| {
        let (word, time) = (own.event.word(), time_format::length(Millis(own.time.as_millis() as u64)));
        let value =
            format!("{{ name = {:?}, event = {word:?}, command = {:?}, time = {time:?} }}", own.name, own.command);
        (format!("hooks.{at}"), value, own.from.clone())
    };
    hooks.iter().enumerate().map(row).collect()
}
