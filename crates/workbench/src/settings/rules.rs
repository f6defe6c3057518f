//! The table `[rules]`: what is allowed, asked about and denied. An untrusted workspace can only add to the last two.

use serde::Deserialize;
use toml::Spanned;
use updraft_run::{Rule, Rules};

use super::layer::SettingsLayer;
use super::origin::SettingOrigin;
use crate::fault::Fault;

/// The table `[rules]` as it was written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WrittenRules {
    pub(crate) allow: Vec<Spanned<String>>,
    pub(crate) ask: Vec<Spanned<String>>,
    pub(crate) deny: Vec<Spanned<String>>,
}

/// Adds the rules of a layer. Rules are never removed, and the strictest applies.
pub(super) fn take(rules: &mut Rules, layer: &SettingsLayer, ignored: &mut Vec<String>) -> Result<(), Fault> {
    let WrittenRules { allow, ask, deny } = &layer.written.rules;
    let read = |written: &Spanned<String>| {
        let place = layer.place(written);
        Rule::parse(written.get_ref(), &place).map_err(|why| Fault::config(format!("{place}: {why}")))
    };
    for written in allow {
        let rule = read(written)?;
        if layer.origin == SettingOrigin::Stranger {
            ignored.push(format!("the rule that allows `{rule}`"));
        } else {
            rules.allow.push(rule);
        }
    }
    for written in ask {
        rules.ask.push(read(written)?);
    }
    for written in deny {
        rules.deny.push(read(written)?);
    }
    Ok(())
}
