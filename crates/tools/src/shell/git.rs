//! What `git` runs for others: aliases, programs named in its settings, and commands for each of many commits.

/// Settings that name no program and change none.
const HARMLESS: [&str; 7] =
    ["user.name", "user.email", "color.", "advice.", "init.defaultbranch", "commit.gpgsign", "gc.auto"];

/// Whether a call of `git` may run what one of its words says.
pub(super) fn runs_others(words: &[Option<String>]) -> bool {
    let mut rest = words.iter().skip(1).map(Option::as_deref);
    let command = loop {
        match rest.next() {
            None | Some(None) => return false,
            Some(Some("-c")) if !rest.next().flatten().is_some_and(is_harmless) => return true,
            Some(Some("-c")) => {}
            Some(Some("-C" | "--git-dir" | "--work-tree" | "--namespace")) => drop(rest.next()),
            Some(Some(option)) if option.starts_with("--config-env") || option.starts_with("--exec-path=") => {
                return true;
            }
            Some(Some(option)) if option.starts_with('-') => {}
            Some(Some(command)) => break command,
        }
    };
    let others: Vec<Option<&str>> = rest.collect();
    if others.iter().flatten().any(|word| names_program(command, word)) {
        return true;
    }
    let has = |wanted: &str| others.contains(&Some(wanted));
    let is_exec = |word: &str| word.starts_with("-x") || word.starts_with("--exec") || word.starts_with("--extcmd");
    match command {
        "config" => {
            let names = ["get", "set", "list", "unset", "--get", "--list", "-l", "edit"];
            let mut keys = others.iter().filter(|word| !word.is_some_and(|w| w.starts_with('-') || names.contains(&w)));
            keys.next().is_some_and(|key| !key.is_some_and(is_harmless))
        }
        "bisect" => has("run"),
        "submodule" => has("foreach"),
        "rebase" | "difftool" => others.iter().flatten().any(|word| is_exec(word)),
        "filter-branch" | "shell" | "send-email" | "daemon" => true,
        _ => false,
    }
}

/// Whether an option names the program at the other end, a pager, or a folder with hooks. `git` takes every beginning of an
/// option that is like no other.
fn names_program(command: &str, word: &str) -> bool {
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| word.starts_with(beginning));
    let talks = ["clone", "fetch", "pull", "push", "ls-remote", "fetch-pack", "send-pack", "archive", "remote"];
    (talks.contains(&command) && (begins(&["--up", "--rec", "--exe", "ext::"])))
        || (command == "clone" && begins(&["-u", "-c", "--co", "--te"]))
        || (command == "init" && begins(&["--te"]))
        || (command == "grep" && begins(&["-O", "--op"]))
        || (["diff", "log", "show"].contains(&command) && begins(&["--ext"]))
        || (command == "mergetool" && begins(&["-t", "--to"]))
}

fn is_harmless(setting: &str) -> bool {
    let setting = setting.to_lowercase();
    HARMLESS.iter().any(|name| setting.starts_with(name))
}
