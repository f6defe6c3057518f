//! Rules about calls: a tool, and a pattern for what it touches. `run_command(git push)`, `web_fetch(*.example.org)`,
//! `write_file(src/**)`.

mod glob;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::effect::{PreparedCall, SimpleCommand};
use glob::{covers_some, path_fits, path_is_within, wild};

/// At the end of a command's pattern: the command must end here.
const END: &str = "$";
/// Our tools that write files, and those that read them. A rule that denies a path to one of them denies it to all,
/// except that what may not be uploaded may still be read.
const WRITERS: [&str; 6] =
    ["write_file", "edit_file", "append_line", "apply_patch", "browser_save", "browser_screenshot"];
const READERS: [&str; 4] = ["read_file", "search_files", RETRIEVE, UPLOAD];
/// Our tool that gives files to a page.
const UPLOAD: &str = "browser_upload";
/// Our tool that finds passages in all files.
pub(crate) const RETRIEVE: &str = "retrieve";
/// Our other tools that rules may name.
const OURS: [&str; 8] = [
    "list_files",
    "run_command",
    "run_python",
    "web_fetch",
    "web_search",
    "browser_open",
    "browser_act",
    "browser_script",
];
/// Programs whose first argument is a sub-command. For all other programs, it is what they work on.
const WITH_SUB_COMMANDS: [&str; 10] = ["cargo", "docker", "gh", "git", "go", "npm", "pip", "pnpm", "uv", "yarn"];

/// One rule: a tool, and optionally a pattern for what it touches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Rule {
    /// The tool's name; `*` stands for any characters.
    pub tool: String,
    /// Which calls the rule matches by what they touch; if absent, every call of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Where the rule is written, for people: `config.toml:7`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
}

/// What is allowed, asked about and denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// Calls that need no approval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Rule>,
    /// Calls that need approval, whatever the other rules say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<Rule>,
    /// Calls that are never made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.ask.is_empty() && self.deny.is_empty()
    }
}

/// Whether a rule matches a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RuleMatch {
    No,
    /// It is uncertain: a variable, or text that cannot be parsed reliably.
    Maybe,
    Yes,
}

impl Rule {
    /// Parses `tool` or `tool(pattern)`.
    pub fn parse(text: &str, from: &str) -> Result<Self, String> {
        let bad = |why: &str| {
            format!(
                "`{text}` is not a rule: {why}; expected `tool` or `tool(pattern)`, such as `run_command(git push)`"
            )
        };
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').ok_or_else(|| bad("it has no closing `)`"))?;
                // Other programs write `:*` for whatever follows a command's first words.
                let pattern = pattern.trim();
                let pattern = pattern.strip_suffix(":*").filter(|_| tool.trim() == "run_command").unwrap_or(pattern);
                (tool.trim_end(), Some(pattern).filter(|pattern| !matches!(*pattern, "*" | "**")))
            }
        };
        let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
        if tool.is_empty() || !tool.chars().all(is_fine) {
            return Err(bad(
                "the tool's name is missing, or has other characters than letters, digits, `_`, `-`, `.` and `*`",
            ));
        }
        let small = tool.to_ascii_lowercase();
        if small != tool && OURS.iter().chain(&WRITERS).chain(&READERS).any(|ours| *ours == small) {
            return Err(bad(&format!("the tool is called `{small}`")));
        }
        if pattern == Some("") {
            return Err(bad("the pattern is empty"));
        }
        if let Some(why) = pattern.and_then(|pattern| never_fits(tool, pattern)) {
            return Err(bad(&why));
        }
        Ok(Self { tool: tool.into(), pattern: pattern.map(str::to_owned), from: from.into() })
    }

    /// Whether a rule that allows covers one thing that a call touches.
    fn covers(&self, tool: &str, touched: CallTarget<'_>) -> bool {
        let Some(pattern) = self.pattern.as_deref().filter(|_| wild(&self.tool, tool)) else {
            return wild(&self.tool, tool);
        };
        match touched {
            CallTarget::Part(part) => !part.uncertain && command_fit(pattern, part, false) == RuleMatch::Yes,
            CallTarget::Host(host) => host_fits(pattern, host),
            CallTarget::Path(path) => path_fits(pattern, path),
        }
    }

    /// Whether a rule that asks or denies matches a call: anything that the call touches may match.
    pub(crate) fn matches(&self, tool: &str, prepared: &PreparedCall) -> RuleMatch {
        if !wild(&self.tool, tool) && !self.means_also(tool) {
            return RuleMatch::No;
        }
        let Some(pattern) = self.pattern.as_deref() else { return RuleMatch::Yes };
        let mut touched = touched(prepared);
        if matches!(touched.first(), Some(CallTarget::Host(_))) {
            // A call that sends files to a host does not escape the rules about the files.
            touched.extend(files(prepared));
        }
        if touched.is_empty() {
            // A tool that does not say what it touches does not escape the rule by that.
            let is_meant = self.tool == tool || (self.means_also(tool) && prepared.changes());
            return if is_meant { RuleMatch::Maybe } else { RuleMatch::No };
        }
        let is_of_files = tool == READERS[0] || tool == UPLOAD || WRITERS.contains(&tool);
        let may_be_folder = !prepared.leaves_out && !is_of_files;
        let fit = |touched: &CallTarget<'_>| match touched {
            CallTarget::Part(part) if part.uncertain || part.hides => {
                RuleMatch::Maybe.max(command_fit(pattern, part, true))
            }
            CallTarget::Part(part) => command_fit(pattern, part, true).max(mentioned(pattern, part)),
            // What a rule for another tool forbids also to this one is a path.
            CallTarget::Host(host) if wild(&self.tool, tool) && host_fits(pattern, host) => RuleMatch::Yes,
            CallTarget::Path(path) if path_is_within(pattern, path) => RuleMatch::Yes,
            CallTarget::Path(path) if may_be_folder && covers_some(path, pattern) => RuleMatch::Yes,
            CallTarget::Host(_) | CallTarget::Path(_) => RuleMatch::No,
        };
        touched.iter().map(fit).max().unwrap_or(RuleMatch::No)
    }

    /// Whether a path that is denied to the rule's tool is also denied to this other tool.
    fn means_also(&self, tool: &str) -> bool {
        let both = |tools: &[&str]| tools.contains(&self.tool.as_str()) && tools.contains(&tool);
        self.pattern.is_some() && (both(&WRITERS) || (both(&READERS) && self.tool != UPLOAD))
    }
}

/// Why a pattern for this tool can never match anything, if that is evident.
fn never_fits(tool: &str, pattern: &str) -> Option<String> {
    let is_quoted = pattern.len() > 1 && pattern.starts_with(['"', '\'']) && pattern.ends_with(['"', '\'']);
    if is_quoted {
        return Some("patterns are written without quotation marks".into());
    }
    if (tool == "web_fetch" || tool.starts_with("browser_")) && pattern.contains("://") {
        return Some(format!("only the host is compared: write a pattern such as `{tool}(*.example.org)`"));
    }
    let is_of_files = WRITERS.contains(&tool) || READERS.contains(&tool) || tool == "list_files";
    if is_of_files && pattern.starts_with('/') {
        return Some("paths are relative to the workspace, without a leading `/`".into());
    }
    None
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// One thing that a call touches, as patterns match it.
#[derive(Clone, Copy)]
enum CallTarget<'a> {
    Part(&'a SimpleCommand),
    Host(&'a str),
    Path(&'a str),
}

/// What patterns are matched against: the commands of a call that has commands, otherwise its hosts, otherwise its
/// files. Rules that deny or ask are matched against the files of a call with hosts too.
fn touched(prepared: &PreparedCall) -> Vec<CallTarget<'_>> {
    if prepared.command.is_some() {
        return prepared.parts.iter().map(CallTarget::Part).collect();
    }
    if !prepared.hosts.is_empty() {
        return prepared.hosts.iter().map(|host| CallTarget::Host(host)).collect();
    }
    files(prepared).collect()
}

fn files(prepared: &PreparedCall) -> impl Iterator<Item = CallTarget<'_>> {
    prepared.writes.iter().chain(&prepared.reads).map(|path| CallTarget::Path(path))
}

/// What a call touches that none of the rules that allow covers; `None` if everything is covered.
fn uncovered<'a>(rules: &[&Rule], tool: &str, prepared: &'a PreparedCall) -> Option<Vec<CallTarget<'a>>> {
    if rules.iter().any(|rule| rule.pattern.is_none() && wild(&rule.tool, tool)) {
        return None;
    }
    let goes_with_another = |part: &SimpleCommand| part.within || (part.wraps && !part.uncertain);
    let needs = |touched: &CallTarget<'_>| !matches!(touched, CallTarget::Part(part) if goes_with_another(part));
    let touched = touched(prepared);
    let known = touched.iter().any(needs);
    let left: Vec<_> =
        touched.into_iter().filter(needs).filter(|t| !rules.iter().any(|r| r.covers(tool, *t))).collect();
    if known && left.is_empty() { None } else { Some(left) }
}

/// Whether rules that allow cover everything that a call touches.
pub(crate) fn is_allowed<'a>(rules: impl IntoIterator<Item = &'a Rule>, tool: &str, prepared: &PreparedCall) -> bool {
    let rules: Vec<&Rule> = rules.into_iter().collect();
    !rules.is_empty() && uncovered(&rules, tool, prepared).is_none()
}

/// The rules that would allow a call like this one from now on; empty if there are none.
pub(crate) fn to_remember<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    tool: &str,
    prepared: &PreparedCall,
) -> Vec<String> {
    let rules: Vec<&Rule> = rules.into_iter().collect();
    let left = uncovered(&rules, tool, prepared).unwrap_or_default();
    if left.is_empty() && touched(prepared).is_empty() && prepared.command.is_none() {
        return vec![tool.to_owned()];
    }
    let mut found: Vec<String> = Vec::new();
    for touched in left {
        let rule = match touched {
            CallTarget::Part(part) => match beginning(part) {
                Some(words) => format!("{tool}({words})"),
                None => return Vec::new(),
            },
            CallTarget::Host(host) if host.chars().all(is_plain) => format!("{tool}({host})"),
            CallTarget::Host(_) => return Vec::new(),
            // The call may read anything in the workspace, so there is no narrower rule.
            CallTarget::Path(".") => tool.to_owned(),
            CallTarget::Path(path) => match file_rule(tool, path) {
                Some(rule) => rule,
                None => return Vec::new(),
            },
        };
        if !found.contains(&rule) {
            found.push(rule);
        }
    }
    found
}

/// The rule for exactly one file. Returns `None` if the file's name would match more as a pattern, or cannot be written
/// in a rule.
fn file_rule(tool: &str, path: &str) -> Option<String> {
    let text = format!("{tool}({path})");
    let rule = Rule::parse(&text, "").ok().filter(|_| !path.contains('*'))?;
    rule.covers(tool, CallTarget::Path(path)).then_some(text)
}

/// A command's program and its sub-command, for programs that have sub-commands; otherwise the whole command and
/// nothing more. Returns `None` if that is uncertain.
fn beginning(part: &SimpleCommand) -> Option<String> {
    let known = part.words.iter().map_while(Option::as_deref);
    let known: Vec<&str> = known.take_while(|word| !word.is_empty() && word.chars().all(is_plain)).collect();
    let is_word = |word: &str| word.starts_with(char::is_alphabetic) && word.chars().all(is_letter);
    match known.as_slice() {
        _ if part.uncertain || part.hides => None,
        [] | [">"] => None,
        [">", target, ..] => Some(format!("> {target}")),
        [program, second, ..] if WITH_SUB_COMMANDS.contains(program) && is_word(second) => {
            Some(format!("{program} {second}"))
        }
        all if all.len() == part.words.len() => Some(format!("{} {END}", all.join(" "))),
        _ => None,
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')
}

/// A character that stands for itself in a rule.
fn is_plain(c: char) -> bool {
    is_letter(c) || matches!(c, '.' | '/' | '+' | '@' | '=' | '>' | '[' | ']')
}

/// Whether a command begins with the words of a pattern. A rule that denies matches the program in any folder, and
/// options between the program and its sub-command do not hide the sub-command.
fn command_fit(pattern: &str, part: &SimpleCommand, forbids: bool) -> RuleMatch {
    let mut words = part.words.iter();
    let mut wanted = pattern.split_whitespace();
    let Some(program) = wanted.next() else { return RuleMatch::No };
    match words.next() {
        None => return RuleMatch::No,
        Some(None) => return RuleMatch::Maybe,
        Some(Some(word)) => {
            let is_meant = wild(program, word) || (forbids && wild(program, name_of(word)));
            if !is_meant {
                return RuleMatch::No;
            }
        }
    }
    let mut after_option = false;
    let mut want = wanted.next();
    for word in words {
        let Some(wish) = want else { break };
        let Some(word) = word else { return RuleMatch::Maybe };
        if wish != END && wild(wish, word) {
            want = wanted.next();
            after_option = false;
        } else if forbids && word.starts_with(['-', '+']) {
            after_option = true;
        } else if forbids && after_option {
            after_option = false;
        } else {
            return RuleMatch::No;
        }
    }
    if want.is_none_or(|wish| wish == END) { RuleMatch::Yes } else { RuleMatch::No }
}

/// A program's name without its folder.
fn name_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// Programs that only print their arguments, or search for them.
const SHOWING: [&str; 6] = ["echo", "printf", "grep", "rg", "which", "man"];

/// Whether a pattern of several words appears, word by word, after another program or inside a text argument. There are
/// too many programs that run the command they are given to list them all.
fn mentioned(pattern: &str, part: &SimpleCommand) -> RuleMatch {
    let wanted: Vec<&str> = pattern.split_whitespace().filter(|wish| *wish != END).collect();
    let Some((Some(program), behind)) = part.words.split_first() else { return RuleMatch::No };
    if wanted.len() < 2 || SHOWING.contains(&name_of(program)) {
        return RuleMatch::No;
    }
    // A word that is known only at run time separates the words around it.
    let texts = behind.iter().map(|word| word.as_deref().unwrap_or("\u{0}"));
    let is_sign = |c: char| c.is_whitespace() || "'\"`!$(){}[];&|<>,=".contains(c);
    let words: Vec<&str> = texts.flat_map(|text| text.split(is_sign)).filter(|word| !word.is_empty()).collect();
    let is_meant = |words: &[&str]| words.iter().zip(&wanted).all(|(word, wish)| wild(wish, name_of(word)));
    if words.windows(wanted.len()).any(is_meant) { RuleMatch::Maybe } else { RuleMatch::No }
}

/// Whether a host matches: exactly, or `*.example.org` for all hosts below `example.org`. A pattern without a port
/// matches all ports.
fn host_fits(pattern: &str, host: &str) -> bool {
    let plain = |text: &str| text.trim_end_matches('.').to_ascii_lowercase();
    let (pattern, host) = (plain(pattern), plain(host));
    let name = host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit())).map(|(name, _)| name);
    wild(&pattern, &host) || name.is_some_and(|name| wild(&pattern, name.trim_end_matches('.')))
}

#[cfg(test)]
mod tests;
