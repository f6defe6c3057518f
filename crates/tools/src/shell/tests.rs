//! What is found in commands, and that nothing hides one.

mod programs;
mod real;

use proptest::prelude::*;

use super::*;

/// The parts in words: `?` for what is not known, `!` before what is uncertain, `~` before what only wraps.
fn shown(text: &str) -> Vec<String> {
    let line = |part: &Part| {
        let mark = if part.uncertain { "!" } else { "" };
        let wraps = if part.wraps { "~" } else { "" };
        let words: Vec<&str> = part.words.iter().map(|word| word.as_deref().unwrap_or("?")).collect();
        format!("{mark}{wraps}{}", words.join(" "))
    };
    parts(text).iter().map(line).collect()
}

fn runs(text: &str, words: &[&str]) -> bool {
    let is = |part: &Part| {
        part.words.len() >= words.len() && part.words.iter().zip(words).all(|(a, b)| a.as_deref() == Some(*b))
    };
    parts(text).iter().any(is)
}

fn is_uncertain(text: &str) -> bool {
    parts(text).iter().any(|part| part.uncertain)
}

#[test]
fn operators_part_commands() {
    assert_eq!(shown("a 1; b && c || d | e & f\ng |& h"), ["a 1", "b", "c", "d", "e", "f", "g", "h"]);
    assert_eq!(shown("(a; b) && { c; }"), ["a", "b", "c"]);
    assert_eq!(shown("if a; then b; elif c; then d; else e; fi"), ["a", "b", "c", "d", "e"]);
    assert_eq!(shown("while a; do b; done; until c; do d; done"), ["a", "b", "c", "d"]);
    assert_eq!(shown("for x in 1 2; do a $x; done"), ["a ?"]);
    assert_eq!(shown("! a # b; c"), ["a"]);
}

#[test]
fn quotes_are_removed_and_hide_operators() {
    assert_eq!(shown(r#"echo 'a; b' "c && d" e\;f g"h"'i'"#), ["echo a; b c && d e;f ghi"]);
    assert_eq!(shown("g\"i\"t pu\\sh"), ["git push"]);
    assert_eq!(shown("git \\\n push"), ["git push"]);
    assert!(is_uncertain("echo 'a") && is_uncertain("echo \"a") && is_uncertain("echo $(a") && is_uncertain("(a"));
    assert!(is_uncertain("a ) b") && runs("a ) git push", &["git", "push"]));
}

#[test]
fn substitutions_are_commands() {
    assert_eq!(shown("echo $(git push) `rm x`"), ["git push", "rm x", "echo ? ?"]);
    assert_eq!(shown("echo \"$(git push)\""), ["git push", "echo ?"]);
    assert_eq!(shown("diff <(git push) >(rm x)"), ["git push", "rm x", "diff ? ?"]);
    assert_eq!(shown("echo ${x:-$(git push)} ${y:-`rm x`}"), ["git push", "rm x", "echo ? ?"]);
    assert_eq!(shown("echo `echo \\`git push\\``"), ["git push", "echo ?", "echo ?"]);
    assert_eq!(shown("echo $((1 + $(git push)))"), ["git push", "echo ?"]);
    assert!(is_uncertain("echo $((git push) | cat)"));
}

#[test]
fn here_documents_are_no_commands_but_what_they_expand_is() {
    assert_eq!(shown("cat <<EOF\ngit push\n$(rm x)\nEOF\nls"), ["cat", "rm x", "ls"]);
    assert_eq!(shown("cat <<'EOF'\n$(rm x)\nEOF\nls"), ["cat", "ls"]);
    assert_eq!(shown("cat <<-EOF; b\n\ta\n\tEOF\nls"), ["cat", "b", "ls"]);
    assert!(is_uncertain("cat <<EOF\nrm") && is_uncertain("sh <<EOF\ngit push\nEOF"));
}

#[test]
fn assignments_and_redirections_are_parts_of_their_own() {
    assert_eq!(shown("A=1 B=$x git push"), ["A=1", "B=?", "git push"]);
    assert_eq!(shown("A=$(git push)"), ["git push", "A=?"]);
    assert_eq!(shown("a > f 2>&1 >>g 2>/dev/null <in &>h"), ["> f", "> g", "> h", "a"]);
    assert_eq!(shown("> f git push"), ["> f", "git push"]);
    assert_eq!(shown("a >$x"), ["> ?", "a"]);
}

#[test]
fn what_runs_others_is_looked_through() {
    assert_eq!(shown("timeout 5 cargo test"), ["~timeout 5 cargo test", "cargo test"]);
    assert_eq!(shown("env -i A=b git push"), ["~env -i A=b git push", "A=b", "git push"]);
    assert_eq!(shown("sudo -u root A=b git push"), ["sudo -u root A=b git push", "A=b", "git push"]);
    assert_eq!(shown("nice -n 5 nohup git push"), ["~nice -n 5 nohup git push", "~nohup git push", "git push"]);
    assert_eq!(shown("ls | xargs -n 1 git add"), ["ls", "~xargs -n 1 git add", "git add ?"]);
    assert!(runs("ls | xargs -n 1 git push", &["git", "push"]));
    assert_eq!(shown("sh -c 'git push; ls'"), ["~sh -c git push; ls", "git push", "ls"]);
    assert!(
        runs("bash -lc \"git push\"", &["git", "push"])
            && runs("/bin/bash -e -o pipefail -c 'git push'", &["git", "push"])
    );
    assert!(runs("eval git push", &["git", "push"]) && runs("eval 'git push'", &["git", "push"]));
    assert!(runs("exec git push", &["git", "push"]) && runs("command git push", &["git", "push"]));
    assert!(runs("find . -name x -exec git push {} \\; -exec rm {} +", &["git", "push"]));
    assert!(runs("find . -exec rm {} +", &["rm"]) && runs("busybox sh -c 'git push'", &["git", "push"]));
    assert!(runs("time { git push; }", &["git", "push"]) && runs("time (git push)", &["git", "push"]));
    assert!(runs("f() { git push; }", &["git", "push"]) && is_uncertain("f() { git push; }"));
    assert!(runs("function f { git push; }", &["git", "push"]));
    assert!(runs("case $x in a) git push;; b|c) rm x;; esac; ls", &["git", "push"]));
    assert!(runs("trap 'git push' EXIT", &["git", "push"]) && runs("watch -n 1 git push", &["git", "push"]));
    assert!(runs("env -S 'git push'", &["git", "push"]) && runs("flock f -c 'git push'", &["git", "push"]));
}

#[test]
fn what_only_running_tells_is_uncertain() {
    for text in ["$x", "$x push", "eval $x", "eval \"$x\"", "`a` b", "sh", "bash -s", "echo x | sh", "sh -c \"$x\""] {
        assert!(is_uncertain(text), "{text}");
    }
    for text in
        [". ./x", "source x", "alias a=b", "g{it,x} push", "$'git' push", "[[ -f x ]]", "~/bin/x", "*", "sudo $x ls"]
    {
        assert!(is_uncertain(text), "{text}");
    }
    for text in ["git push", "echo $x", "ls *.rs", "cargo test -- --nocapture", "sh x.sh", "[ -f a ] && b", "a 2>&1"] {
        assert!(!is_uncertain(text), "{text}");
    }
}

#[test]
fn what_is_too_much_is_uncertain_and_bounded() {
    for text in
        ["(".repeat(60_000), "$(".repeat(30_000), "`".repeat(60_000), "${\"".repeat(20_000), "a;".repeat(30_000)]
    {
        assert!(is_uncertain(&text) && parts(&text).len() <= MOST_PARTS + 1);
    }
    assert!(is_uncertain(&"a ".repeat(LONGEST)));
    let mut nested = "git push".to_owned();
    for _ in 0..12 {
        nested = format!("su {} ; su x {nested}", nested.chars().filter(char::is_ascii_alphabetic).collect::<String>());
    }
    assert!(is_uncertain(&nested));
}

#[test]
fn what_shells_read_in_their_own_ways_is_found_or_doubted() {
    for text in [
        "bash -euo pipefail -c 'git push'",
        "bash -co pipefail 'git push'",
        "bash -c - 'git push'",
        "set -- a; for i do git push; done",
        "set -- a; for i\ndo git push; done",
        "chrt 1 git push",
        "taskset 1 git push",
        "env - git push",
        "env -iS 'git push'",
        "GIT_PAGER='git push' git log",
    ] {
        assert!(runs(text, &["git", "push"]), "{text}: {:?}", shown(text));
    }
    for text in [
        "echo hi &>x git push",
        "echo a\r# ; git push",
        "cat <<EOF\nEOF\r\ngit push\nEOF",
        "echo \"${x:-'}\" ; git push ; echo \"'}\"",
        "echo \"`echo \\\"'\\\" ; git push ; echo \\\"'\\\"`\"",
        "cat <<EOF\na\\\nEOF\ngit push\nEOF",
        "cat <<EOF\n\\\nEOF\ngit push\nEOF",
        "cat <<EOF\nE\\\nOF\ngit push\nEOF",
        "<&-git push",
        "echo ${x:-<(git push)}",
        "echo git push | sh -s a",
        "sh /dev/stdin <<'E'\ngit push\nE",
        "x=' push '; git$x=1",
        "echo git | xargs -I% % push",
        "sg users -c 'git push'",
        "fish -c 'git push'",
        "git -c alias.x='!git push' x",
        "git config alias.x '!git push'",
        "git bisect run git push",
        "env -vS 'git push'",
        "linux64 git push",
        "x86_64 git push",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
        "GIT_SSH_COMMAND='git push;' git ls-remote ssh://x/y",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='!git push' git x",
        "git ls-remote --upload-pack='git push;' .",
        "git clone -u 'git push' x y",
        "bash -c 'PS4=\"\\$(git push)\"; set -x; true'",
        "readarray -C 'git push' x",
        "compgen -C 'git push' x",
        "test -v 'a[$(git push)]'",
        "a='b[$(git push)]'; echo $((a))",
        "PATH=. git status",
        "env LD_PRELOAD=./x.so ls",
        "sed '1e git push' x",
        "sed -e 's/x/git push/e' y",
    ] {
        assert!(is_uncertain(text), "{text}: {:?}", shown(text));
    }
    for text in [
        "a &> x",
        "a &>/dev/null; b",
        "git -c user.name=x commit -m y",
        "git config user.email a@b",
        "cat <<EOF\na \\\nb\nEOF",
        "echo \"${x:-a}\" ${y:-'b'}",
        "RUST_LOG=debug cargo test",
        "GIT_AUTHOR_NAME=me git commit -m x",
        "env - ls",
        "sed -n '1,20p' a.txt",
        "sed -i 's/old/new/g' src/main.rs",
        "git fetch --prune",
        "git push -u origin main",
        "printf '%s [a]' x",
    ] {
        assert!(!is_uncertain(text), "{text}: {:?}", shown(text));
    }
}

/// Texts around a command. In each, the command runs.
fn constructs() -> Vec<fn(&str) -> String> {
    vec![
        |c| c.to_owned(),
        |c| format!("ls; {c}"),
        |c| format!("{c} | cat"),
        |c| format!("true && {c} || false"),
        |c| format!("{c} &"),
        |c| format!("ls\n{c}\nls"),
        |c| format!("( {c} )"),
        |c| format!("{{ {c}; }}"),
        |c| format!("echo $( {c} )"),
        |c| format!("echo \"x $( {c} ) y\""),
        |c| format!("echo ${{x:-$( {c} )}}"),
        |c| format!("cat <( {c} )"),
        |c| format!("echo `{}`", c.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")),
        |c| format!("if {c}; then ls; fi"),
        |c| format!("if ls; then {c}; else ls; fi"),
        |c| format!("while ls; do {c}; done"),
        |c| format!("for x in a b; do {c}; done"),
        |c| format!("case a in a) {c};; esac"),
        |c| format!("f() {{ {c}; }}; f"),
        |c| format!("sh -c {}", quoted(c)),
        |c| format!("bash -lc {}", quoted(c)),
        |c| format!("eval {}", quoted(c)),
        |c| format!("sudo sh -c {}", quoted(c)),
        |c| format!("env A=b timeout 5 nice sh -c {}", quoted(c)),
        |c| format!("find . -exec sh -c {} \\;", quoted(c)),
        |c| format!("ls | xargs sh -c {}", quoted(c)),
        // Each ends with a word of its own: with one for all, shells do not agree on where the outer one ends.
        |c| format!("cat <<E{0}\n$( {c} )\nE{0}\nls", c.len()),
        |c| format!("ls <<'Q{0}'\n) ' \" `\nQ{0}\n{c}", c.len()),
        |c| format!("A=1 B='x y' ls; {c} > /dev/null 2>&1"),
        |c| format!("! {c}"),
        |c| format!("time -p {{ {c}; }}"),
        |c| format!("echo 'it''s' # no $( here\n{c}"),
    ]
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_makes_it_fall_over(text in "\\PC{0,200}") {
        let _ = parts(&text);
    }

    #[test]
    fn no_jumble_of_signs_makes_it_fall_over(text in "[a-c $(){}<>&|;'\"`\\\\\n#=*~!0-2-]{0,120}") {
        prop_assert!(parts(&text).len() <= MOST_PARTS + 1);
    }

    #[test]
    fn a_command_is_found_in_whatever_it_is_wrapped(chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..5)) {
        let all = constructs();
        let mut text = "git push --force".to_owned();
        for index in &chosen {
            text = all[index.index(all.len())](&text);
        }
        prop_assert!(runs(&text, &["git", "push", "--force"]), "{}\n{:?}", text, shown(&text));
    }
}
