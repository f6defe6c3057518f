//! Names of files that other programs run later: files that git, editors, shells and agents read as settings and act
//! on by themselves.

use std::borrow::Cow;

/// What would run a file with this name in this folder; `None` if nothing does.
///
/// The name is a single component; only the last two components of the folder matter. Spellings that some file system
/// treats as the same name (`.GIT`, `.git.`, `GIT~1`, `.git::$DATA`, a zero-width character inside) count as that
/// name.
pub fn why_guarded(folder: &str, name: &str) -> Option<&'static str> {
    let name = plain(name);
    if !name.starts_with('.') {
        // Most names have no dot at the start, so the long list is skipped for them.
        let by_name = UNDOTTED.iter().find(|(guarded, _)| *guarded == name).map(|(_, why)| *why);
        return by_name
            .or_else(|| name.ends_with(".code-workspace").then_some(EDITOR))
            .or_else(|| by_place(folder, &name));
    }
    NAMES.iter().find(|(guarded, _)| *guarded == name).map(|(_, why)| *why)
}

fn by_place(folder: &str, name: &str) -> Option<&'static str> {
    let guarded = PLACES.iter().filter(|(_, guarded, _)| *guarded == name);
    guarded.filter(|(place, _, _)| is_in(folder, place)).map(|(_, _, why)| *why).next()
}

/// Whether a path ends with these components, in any spelling that some file system treats as the same.
fn is_in(folder: &str, place: &str) -> bool {
    let mut above = folder.rsplit('/');
    place.rsplit('/').all(|wanted| wanted.is_empty() || above.next().is_some_and(|name| plain(name) == wanted))
}

/// Whether a folder with this name counts as a repository regardless of its content.
pub fn is_repository_name(name: &str) -> bool {
    plain(name) == ".git"
}

/// What in a repository's own folder makes git run something, if the file is such a file.
pub fn why_guarded_in_repository(folder: &str, name: &str) -> Option<&'static str> {
    let (folder, name) = (plain(folder), plain(name));
    if folder == "hooks" {
        // Git does not run hooks with the suffix `.sample`.
        return (!name.ends_with(".sample")).then_some(HOOK);
    }
    match (&*folder, &*name) {
        ("", "config" | "config.worktree") => Some(GIT_SETTINGS),
        ("", "commondir") => Some("git takes settings and hooks from where it points"),
        ("info", "attributes") => Some("git runs the filters that it names"),
        ("rebase-merge", "git-rebase-todo") | ("sequencer", "todo") => Some(TODO),
        // The old format for remotes.
        ("remotes" | "branches", _) => Some("git takes addresses from it, and those can name programs to run"),
        _ => None,
    }
}

/// Why a link with this name is guarded although a folder would not be: the files in the link's target matter.
pub fn why_link_guarded(folder: &str, name: &str) -> Option<&'static str> {
    let name = plain(name);
    let leads_to = |place: &str| {
        let ends = place.match_indices('/').map(|(at, _)| at).chain([place.len()]);
        let mut tops = ends.map(|end| place[..end].rsplit_once('/').unwrap_or(("", &place[..end])));
        tops.any(|(above, last)| last == name && is_in(folder, above))
    };
    let holds_guarded = PLACES.iter().any(|(place, _, _)| leads_to(place));
    let in_repository =
        is_repository_name(folder.rsplit('/').next().unwrap_or_default()) && LOOKED_INTO_BY_GIT.contains(&&*name);
    (holds_guarded || in_repository).then_some("it is a link, and where it leads decides what is run")
}

/// Folders of a repository in which some names have a meaning that they do not have elsewhere.
pub const LOOKED_INTO_BY_GIT: [&str; 6] = ["hooks", "info", "rebase-merge", "sequencer", "remotes", "branches"];

const EDITOR: &str = "an editor runs tasks from it";
const DEBUGGER: &str = "a debugger runs it at start";
const AUTOENV: &str = "autoenv runs it on entering the folder";
const MISE: &str = "mise runs it on entering the folder";
const SHELL: &str = "a shell runs it at start";
const AGENT: &str = "a coding agent takes settings from it";
/// Why files with git settings are guarded.
pub const GIT_SETTINGS: &str = "git reads its settings, and those can name programs to run";
const HOOK: &str = "it is a git hook, which git runs by itself";
const SETTINGS: &str = "its settings can name programs to run";
const SHELL_OF_LANGUAGE: &str = "a language's interactive shell runs it at start";
/// Why the todo list of a rebase in progress is guarded, although git itself must be able to write it.
pub const TODO: &str = "git runs the commands in it when the rebase continues";

/// Guarded in every folder.
const NAMES: &[(&str, &str)] = &[
    (".vscode", EDITOR),
    (".idea", EDITOR),
    (".fleet", EDITOR),
    (".zed", EDITOR),
    (".exrc", EDITOR),
    (".vimrc", EDITOR),
    (".nvimrc", EDITOR),
    (".nvim.lua", EDITOR),
    (".dir-locals.el", EDITOR),
    (".emacs", EDITOR),
    (".emacs.d", EDITOR),
    (".helix", EDITOR),
    (".vim", EDITOR),
    (".lvimrc", EDITOR),
    (".local.vimrc", EDITOR),
    (".lazy.lua", EDITOR),
    (".neoconf.json", EDITOR),
    (".ycm_extra_conf.py", EDITOR),
    (".dir-locals-2.el", EDITOR),
    (".emacs.el", EDITOR),
    (".spacemacs", EDITOR),
    (".theia", EDITOR),
    (".gvimrc", EDITOR),
    (".gdbinit", DEBUGGER),
    (".lldbinit", DEBUGGER),
    (".gdbearlyinit", DEBUGGER),
    (".pdbrc", DEBUGGER),
    (".pdbrc.py", DEBUGGER),
    (".perldb", DEBUGGER),
    (".byebugrc", DEBUGGER),
    (".rdbgrc", DEBUGGER),
    (".rdbgrc.rb", DEBUGGER),
    (".radare2rc", DEBUGGER),
    (".devcontainer", EDITOR),
    (".devcontainer.json", EDITOR),
    (".envrc", "direnv runs it on entering the folder"),
    (".mise.toml", MISE),
    (".mise.local.toml", MISE),
    (".mise", MISE),
    (".rtx.toml", MISE),
    (".rtx.local.toml", MISE),
    (".rtx", MISE),
    (".autoenv", AUTOENV),
    (".autoenv.zsh", AUTOENV),
    (".autoenv_leave.zsh", AUTOENV),
    (".env.leave", AUTOENV),
    (".irbrc", SHELL_OF_LANGUAGE),
    (".pryrc", SHELL_OF_LANGUAGE),
    (".rprofile", SHELL_OF_LANGUAGE),
    (".renviron", SHELL_OF_LANGUAGE),
    (".iex.exs", SHELL_OF_LANGUAGE),
    (".erlang", SHELL_OF_LANGUAGE),
    (".ghci", SHELL_OF_LANGUAGE),
    (".ocamlinit", SHELL_OF_LANGUAGE),
    (".utoprc", SHELL_OF_LANGUAGE),
    (".octaverc", SHELL_OF_LANGUAGE),
    (".guile", SHELL_OF_LANGUAGE),
    (".sbclrc", SHELL_OF_LANGUAGE),
    (".tclshrc", SHELL_OF_LANGUAGE),
    (".psqlrc", SHELL_OF_LANGUAGE),
    (".sqliterc", SHELL_OF_LANGUAGE),
    (".mcp.json", "an agent starts servers from it"),
    (".cursor", AGENT),
    (".cursorrules", AGENT),
    (".claude", AGENT),
    (".claude.json", AGENT),
    (".codex", AGENT),
    (".gemini", AGENT),
    (".agents", AGENT),
    (".continue", AGENT),
    (".windsurf", AGENT),
    (".roo", AGENT),
    (".cline", AGENT),
    (".aider.conf.yml", AGENT),
    (".opencode", AGENT),
    (".opencode.json", AGENT),
    (".qwen", AGENT),
    (".crush.json", AGENT),
    (".crush", AGENT),
    (".goose", AGENT),
    (".amp", AGENT),
    (".amazonq", AGENT),
    (".augment", AGENT),
    (".kilocode", AGENT),
    (".factory", AGENT),
    (".openhands", AGENT),
    (".trae", AGENT),
    (".copilot", AGENT),
    (".junie", AGENT),
    (".iflow", AGENT),
    (".codebuddy", AGENT),
    (".updraft", "it contains Updraft's settings and agents"),
    (".gitconfig", GIT_SETTINGS),
    (".hgrc", SETTINGS),
    (".jjconfig.toml", SETTINGS),
    (".ssh", "ssh runs programs that it names"),
    (".npmrc", "npm runs programs that it names"),
    (".pnpmfile.cjs", "pnpm runs it"),
    (".pnpmfile.mjs", "pnpm runs it"),
    (".lefthook.yml", HOOK),
    (".lefthook.yaml", HOOK),
    (".lefthook.toml", HOOK),
    (".lefthook.json", HOOK),
    (".lefthook", HOOK),
    (".lefthook-local", HOOK),
    (".lefthook-local.yml", HOOK),
    (".lefthook-local.yaml", HOOK),
    (".pre-commit-config.yaml", HOOK),
    (".pre-commit-config.yml", HOOK),
    (".overcommit.yml", HOOK),
    (".huskyrc", HOOK),
    (".husky", HOOK),
    (".yarnrc", "yarn runs the program that it names"),
    (".yarnrc.yml", "yarn runs the program that it names"),
    (".githooks", HOOK),
    (".vs", EDITOR),
    (".nova", EDITOR),
    (".bashrc", SHELL),
    (".bash_profile", SHELL),
    (".bash_login", SHELL),
    (".bash_logout", SHELL),
    (".bash_aliases", SHELL),
    (".profile", SHELL),
    (".zshrc", SHELL),
    (".zshenv", SHELL),
    (".zprofile", SHELL),
    (".zlogin", SHELL),
    (".zlogout", SHELL),
    (".kshrc", SHELL),
    (".cshrc", SHELL),
    (".tcshrc", SHELL),
    (".login", SHELL),
    (".xprofile", SHELL),
    (".pam_environment", SHELL),
    (".inputrc", SHELL),
    (".xinitrc", SHELL),
    (".xsession", SHELL),
    (".xsessionrc", SHELL),
    (".screenrc", SHELL),
    (".tmux.conf", SHELL),
];

/// Guarded in every folder, although not hidden.
const UNDOTTED: &[(&str, &str)] = &[
    ("mise.toml", MISE),
    ("mise.local.toml", MISE),
    ("opencode.json", AGENT),
    ("opencode.jsonc", AGENT),
    ("crush.json", AGENT),
    ("pnpmfile.js", "pnpm runs it"),
    ("lefthook.yml", HOOK),
    ("lefthook.yaml", HOOK),
    ("lefthook.toml", HOOK),
    ("lefthook.json", HOOK),
    ("lefthook-local.yml", HOOK),
    ("lefthook-local.yaml", HOOK),
    ("mcp.json", "an agent starts servers from it"),
    ("mcp_servers.json", "an agent starts servers from it"),
    ("updraft.toml", "it contains Updraft's settings"),
];

/// Guarded only in a folder with that name.
const PLACES: &[(&str, &str, &str)] = &[
    (".github", "hooks", AGENT),
    (".kiro", "hooks", AGENT),
    (".kiro", "settings", AGENT),
    (".clinerules", "hooks", AGENT),
    (".hg", "hgrc", SETTINGS),
    (".hg", "hgrc-not-shared", SETTINGS),
    (".sl", "config", SETTINGS),
    (".git/sl", "config", SETTINGS),
    (".jj/repo", "config.toml", SETTINGS),
    ("mise", "config.toml", MISE),
    ("mise", "config.local.toml", MISE),
    (".config", "fish", SHELL),
    (".config", "git", GIT_SETTINGS),
    (".config", "autostart", "a desktop runs it at start"),
    (".config", "nvim", EDITOR),
    (".config", "mise", MISE),
    (".config", "jj", SETTINGS),
    (".config", "hg", SETTINGS),
    (".config", "sapling", SETTINGS),
    (".config", "zsh", SHELL),
    (".config", "tmux", SHELL),
    (".config", "environment.d", SHELL),
    (".config", "systemd", "a desktop runs it at start"),
    (".config", "emacs", EDITOR),
    (".config", "helix", EDITOR),
    (".config", "zed", EDITOR),
    (".config", "mise.toml", MISE),
    (".cargo", "config", "cargo runs programs that it names"),
    (".cargo", "config.toml", "cargo runs programs that it names"),
];

/// The name that some file system would find under this spelling. Most names are returned unchanged.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && byte != b':' && byte != b'~';
    if name.bytes().all(is_plain) && !name.ends_with(['.', ' ']) {
        return Cow::Borrowed(name);
    }
    let name = name.split("::$").next().unwrap_or(name);
    let visible = name.chars().filter(|&c| !is_ignorable(c)).collect::<String>();
    let lower = visible.trim_end_matches(['.', ' ']).to_lowercase();
    if lower == "git~1" { Cow::Borrowed(".git") } else { Cow::Owned(lower) }
}

/// Characters that HFS+ ignores when it compares names.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_files_are_not_guarded() {
        let names = [
            "main.rs",
            ".gitignore",
            ".editorconfig",
            "Makefile",
            "config",
            "hooks",
            "profile",
            ".env",
            "vscode",
            "AGENTS.md",
            "CLAUDE.md",
            "package.json",
            ".github",
            ".jj",
            ".hg",
            ".prettierrc",
            ".eslintrc.json",
        ];
        let guarded: Vec<&str> = names.into_iter().filter(|name| why_guarded("src", name).is_some()).collect();
        assert_eq!(guarded, [""; 0]);
    }

    #[test]
    fn other_spellings_are_the_same_name() {
        for name in [".envrc", ".ENVRC", ".envrc.", ".envrc ", ".envrc::$DATA", ".env\u{200c}rc", ".Env\u{feff}RC."] {
            assert_eq!(why_guarded("", name), Some("direnv runs it on entering the folder"), "{name:?}");
        }
        for name in [".git", ".GIT", ".git.", "GIT~1", "git~1", ".g\u{200c}it", ".git::$INDEX_ALLOCATION"] {
            assert!(is_repository_name(name), "{name:?}");
        }
        assert!(!is_repository_name(".github") && !is_repository_name("git"));
    }

    #[test]
    fn some_names_count_in_one_folder_only() {
        assert!(why_guarded(".github", "hooks").is_some() && why_guarded("src", "hooks").is_none());
        assert!(why_guarded(".config", "fish").is_some() && why_guarded("aquarium", "fish").is_none());
        assert!(why_guarded(".cargo", "config.toml").is_some() && why_guarded("src", "config.toml").is_none());
        assert!(why_guarded(".jj/repo", "config.toml").is_some() && why_guarded("a/repo", "config.toml").is_none());
        assert!(why_guarded("repo", "config.toml").is_none() && why_guarded("a/.HG", "hgrc").is_some());
    }

    #[test]
    fn what_other_tools_run_by_themselves_is_guarded() {
        let names = [
            ".helix",
            ".emacs",
            "opencode.json",
            "mise.local.toml",
            ".gdbinit",
            ".yarnrc.yml",
            ".pdbrc",
            ".Rprofile",
            ".irbrc",
            ".iex.exs",
            ".ghci",
            ".ocamlinit",
            ".octaverc",
            ".lvimrc",
            ".autoenv.zsh",
            ".rtx.toml",
            ".qwen",
            ".crush.json",
            ".pnpmfile.cjs",
            ".npmrc",
            "lefthook.yml",
            ".pre-commit-config.yaml",
        ];
        let free: Vec<&str> = names.into_iter().filter(|name| why_guarded("src", name).is_none()).collect();
        assert_eq!(free, [""; 0]);
    }

    #[test]
    fn a_link_in_place_of_a_folder_that_matters_is_guarded() {
        assert!(why_link_guarded("", ".github").is_some() && why_link_guarded("", ".config").is_some());
        assert!(why_link_guarded(".git", "hooks").is_some() && why_link_guarded(".git", "info").is_some());
        assert!(why_link_guarded("", ".jj").is_some() && why_link_guarded("a/.jj", "repo").is_some());
        assert!(why_link_guarded("a", "repo").is_none() && why_link_guarded("a/.git", "sequencer").is_some());
        assert!(why_link_guarded("src", "hooks").is_none() && why_link_guarded(".git", "objects").is_none());
    }

    #[test]
    fn a_repository_guards_what_git_runs_and_nothing_else() {
        let guarded = [
            ("hooks", "pre-commit"),
            ("", "config"),
            ("", "config.worktree"),
            ("info", "attributes"),
            ("", "commondir"),
            ("rebase-merge", "git-rebase-todo"),
            ("remotes", "origin"),
        ];
        let free = [
            ("hooks", "pre-commit.sample"),
            ("", "HEAD"),
            ("", "index"),
            ("info", "exclude"),
            ("refs", "heads"),
            ("", "info"),
        ];
        assert!(guarded.iter().all(|(folder, name)| why_guarded_in_repository(folder, name).is_some()));
        assert!(free.iter().all(|(folder, name)| why_guarded_in_repository(folder, name).is_none()));
    }

    #[test]
    fn workspaces_of_an_editor_are_guarded_by_their_ending() {
        assert!(why_guarded("", "project.code-workspace").is_some());
    }
}
