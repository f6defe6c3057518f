//! `updraft models`: lists providers and keys, models with prices and limits, and what `auto` would choose; or checks
//! one.

mod check;
mod pull;

use std::fmt::Write as _;

use serde_json::json;
use updraft_models::{
    DialectKind, ModelAccess, Price, Provider, RateLimit, choose, context_window, known_models, price_of, provider,
    providers, shown,
};
use updraft_workbench::Flags;

use crate::args::{ModelsArgs, ModelsCommand};
use crate::fault::{CliError, CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::{WorkspaceSettings, limit_in_words};
use crate::{model_access, runtime};

pub(crate) fn run(folders: &AppFolders, args: &ModelsArgs) -> CliResult {
    if let Some(ModelsCommand::Pull(pull)) = &args.command {
        return pull::run(folders, pull);
    }
    let workspace = folders::workspace(None).unwrap_or_default();
    let flags = Flags { probe: args.no_probe.then_some(false), ..Flags::default() };
    let settings = WorkspaceSettings::load(folders, &workspace, &flags)?;
    let access = model_access::access(folders, &settings, &workspace);
    if let Some(model) = &args.check {
        let access = ModelAccess { cache: None, ..access };
        return runtime::block_on(check::check(&access, &model_access::model_spec(model), args.json));
    }
    let text = match &args.provider {
        Some(name) => of_provider(name, &access, args.json)?,
        None => overview(&access, args.json)?,
    };
    out::print(&text);
    Ok(CliExitCode::Done)
}

/// All providers, the models of those that can be used, the profiles, and what `auto` chooses.
fn overview(access: &ModelAccess, as_json: bool) -> Result<String, CliError> {
    let paint = Paint::for_stdout();
    let chosen = runtime::block_on(async { Ok(choose("auto", access).await?) })?;
    let mut text = String::new();
    for provider in providers() {
        text.push_str(&provider_line(&provider, access, as_json, paint));
    }
    for (name, reach) in access.reach.iter().filter(|(name, _)| provider(name).is_none()) {
        let (base, has_key) = (shown(reach.base.as_deref().unwrap_or_default()), access.key(name).is_some());
        let key = if has_key { "key set" } else { "no key" };
        let line = if as_json {
            json!({ "provider": name, "about": "from the settings", "usable": true, "key": has_key, "base_url": base })
                .to_string()
        } else {
            format!("{} {name:18} from the settings ({key}; at {base})", paint.green("✓"))
        };
        let _ = writeln!(text, "{line}");
    }
    if as_json {
        for (name, spec) in &access.profiles {
            let _ = writeln!(text, "{}", json!({ "profile": name, "model": spec }));
        }
        let _ = writeln!(text, "{}", json!({ "auto": chosen.spec, "why": chosen.why }));
        return Ok(text);
    }
    let usable = providers().into_iter().filter(|provider| access.key(provider.name).is_some());
    let mut seen = false;
    for provider in usable.filter(|provider| !provider.models.fast.is_empty()) {
        text.push_str(if seen { "" } else { "\n" });
        seen = true;
        for (name, purposes) in by_purpose(&provider) {
            let _ = writeln!(text, "  {}", model_line(provider.name, name, &purposes, access));
        }
    }
    for (name, spec) in &access.profiles {
        let _ = writeln!(text, "  {name} = {spec}");
    }
    let _ = writeln!(text, "\nauto takes {}", chosen.why);
    let _ = writeln!(
        text,
        "{}",
        paint.dim("`updraft models PROVIDER` lists more; `updraft models --check MODEL` asks one; also: scripted/PATH, recorded/RUN, builtin")
    );
    Ok(text)
}

fn provider_line(provider: &Provider, access: &ModelAccess, as_json: bool, paint: Paint) -> String {
    let key = provider.keys.iter().find(|name| folders::set(name).is_some()).copied();
    let has_key = access.key(provider.name).is_some();
    let usable = access.can_use(provider);
    let base = shown(access.base(provider.name).unwrap_or(provider.base));
    let limit = limit_of(provider.name, access);
    if as_json {
        let line = json!({
            "provider": provider.name, "about": provider.about, "usable": usable, "key": has_key,
            "key_variables": provider.keys, "base_url": base, "limit": limit_in_words(&limit),
        });
        return format!("{line}\n");
    }
    let sign = if usable { paint.green("✓") } else { paint.dim("·") };
    let mut facts = vec![match (has_key, provider.is_open) {
        (true, _) => format!("key in {}", key.unwrap_or("the settings")),
        (false, true) if provider.speech == DialectKind::Vertex => {
            let needs = "needs GOOGLE_CLOUD_PROJECT, and application-default credentials or VERTEX_ACCESS_TOKEN";
            if usable { "application-default credentials".to_owned() } else { paint.dim(needs) }
        }
        (false, true) => "no key needed".to_owned(),
        (false, false) => paint.dim(&format!("needs {}", provider.keys.join(" or "))),
    }];
    if access.base(provider.name).is_some() {
        facts.push(format!("at {base}"));
    }
    if usable && !limit.is_unlimited() {
        facts.push(limit_in_words(&limit));
    }
    format!("{sign} {:18} {} ({})\n", provider.name, provider.about, facts.join("; "))
}

fn limit_of(provider: &str, access: &ModelAccess) -> RateLimit {
    access.limit_of(provider, "")
}

/// The provider's own models, each with its purposes.
fn by_purpose(provider: &Provider) -> Vec<(&'static str, Vec<&'static str>)> {
    let models = provider.models;
    let mut rows: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, purpose) in
        [(models.fast, "fast"), (models.strong, "strong"), (models.cheap, "cheap"), (models.vision, "vision")]
    {
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, purposes)) => purposes.push(purpose),
            None => rows.push((name, vec![purpose])),
        }
    }
    rows
}

fn of_provider(name: &str, access: &ModelAccess, as_json: bool) -> Result<String, CliError> {
    let Some(provider) = providers().into_iter().find(|provider| provider.name == name) else {
        let names: Vec<&str> = providers().iter().map(|provider| provider.name).collect();
        return Err(CliError::usage(format!("no provider named `{name}`"))
            .hint(format!("available: {}", updraft_run::close_to(name, &names))));
    };
    let mut text = provider_line(&provider, access, as_json, Paint::for_stdout());
    let listed = known_models(provider.name);
    for model in &listed {
        if as_json {
            let price = price(provider.name, model, access).map(|price| {
                let Price { input, output, cached, stored } = price;
                json!({ "input": dollars(input), "output": dollars(output), "cached": dollars(cached), "stored": dollars(stored) })
            });
            let window = context_window(provider.name, model);
            let limit = limit_in_words(&access.limit_of(provider.name, model));
            let spec = format!("{}/{model}", provider.name);
            let _ = writeln!(text, "{}", json!({ "model": spec, "price": price, "context": window, "limit": limit }));
        } else {
            let _ = writeln!(text, "  {}", model_line(provider.name, model, &[], access));
        }
    }
    if listed.is_empty() && !as_json {
        text.push_str("  its models are not listed here; write their names as the server knows them\n");
    }
    Ok(text)
}

fn model_line(provider: &str, model: &str, purposes: &[&str], access: &ModelAccess) -> String {
    let spec = format!("{provider}/{model}");
    let mut words = vec![match price(provider, model, access) {
        Some(price) => format!("{} in, {} out", money(price.input), money(price.output)),
        None => "price unknown".to_owned(),
    }];
    words.extend(context_window(provider, model).map(|tokens| format!("{tokens} tokens of context")));
    let purposes = if purposes.is_empty() { String::new() } else { format!("  [{}]", purposes.join(", ")) };
    format!("{spec:42} {}{purposes}", words.join(", "))
}

/// The price from the settings, or else from the built-in table.
fn price(provider: &str, model: &str, access: &ModelAccess) -> Option<Price> {
    access.prices.get(&format!("{provider}/{model}")).copied().or_else(|| price_of(provider, model))
}

/// Dollars per million tokens, as people write them.
fn money(nano: u64) -> String {
    let dollars = dollars(nano);
    if dollars > 0.0 && dollars < 0.01 { format!("${dollars}") } else { format!("${dollars:.2}") }
}

/// Dollars per million tokens.
fn dollars(nano: u64) -> f64 {
    nano as f64 / 1_000.0
}
