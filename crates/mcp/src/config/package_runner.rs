//! Recognises package runners, which fetch the program they run: `npx`, `uvx` and similar programs.

use std::path::Path;
use std::time::Duration;

use super::{Secret, ServerConfig, TransportConfig};

/// How long fetching and starting such a program may take.
pub(super) const START: Duration = Duration::from_mins(5);

/// Each program, with the arguments that make it fetch if not every use does.
const FETCHING: [(&str, &[&str]); 14] = [
    ("npx", &[]),
    ("bunx", &[]),
    ("pnpx", &[]),
    ("uvx", &[]),
    ("docker", &[]),
    ("podman", &[]),
    ("nix", &[]),
    ("pipx", &["run"]),
    ("uv", &["run", "tool", "x"]),
    ("npm", &["exec", "x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx"]),
    ("bun", &["x"]),
    ("deno", &["run"]),
];
/// Programs that may come before the package runner on a command line.
const BEFORE: [&str; 8] = ["env", "sh", "bash", "zsh", "exec", "nice", "timeout", "cmd"];

impl ServerConfig {
    /// Its program, if that is a package runner.
    pub fn fetching(&self) -> Option<&str> {
        let TransportConfig::Stdio { command, args, .. } = &self.link else { return None };
        fetching(std::iter::once(command.as_str()).chain(args.iter().map(Secret::reveal)))
    }
}

/// The program that a word of a command line names, without its version and folder.
pub fn program_of(word: &str) -> &str {
    let name = Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word);
    let short = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if short.is_empty() { word } else { short }
}

/// The package runner of a command line, if it has one.
pub fn fetching<'a>(line: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut words = line.flat_map(str::split_whitespace).skip_while(|word| {
        word.starts_with('-')
            || *word == "/c"
            || word.contains('=')
            || BEFORE.contains(&program_of(word))
            || word.chars().all(|c| c.is_ascii_digit())
    });
    let program = program_of(words.next()?);
    let (_, only_with) = FETCHING.iter().find(|(name, _)| *name == program)?;
    let after = words.find(|word| !word.starts_with('-'));
    (only_with.is_empty() || after.is_some_and(|after| only_with.contains(&after))).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_fetch_what_they_run_are_known_behind_others() {
        let of = |line: &'static str| fetching(line.split(' '));
        for (line, program) in [
            ("uvx mcp-server-time", "uvx"),
            ("/usr/local/bin/npx -y @scope/server .", "npx"),
            ("env A=1 npx server", "npx"),
            ("sh -c npx server", "npx"),
            ("cmd /c npx server", "npx"),
            ("pipx run server", "pipx"),
            ("npm -y exec server", "npm"),
            ("uv tool run server", "uv"),
            ("docker run -i --rm mcp/time", "docker"),
        ] {
            assert_eq!(of(line), Some(program), "{line}");
        }
        for line in
            ["mcp-server-git --repository .", "node npx.js", "python3 -m uvx", "npm start", "uv --version", "sh"]
        {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
