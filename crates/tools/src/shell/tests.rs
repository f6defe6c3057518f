//! Tests which commands are found in a text, and that no construct can hide a command.

mod real;

use proptest::prelude::*;

use super::*;

/// The parts as text: `?` for an unknown word, `!` before an uncertain part, `~` before a part that only wraps
/// another, `+` before a part that is allowed together with the part before it.
fn shown(text: &str) -> Vec<String> {
    let line = |part: &SimpleCommand| {
        let mark = if part.uncertain { "!" } else { "" };
        let wraps = if part.wraps { "~" } else { "" };
        let words: Vec<&str> = part.words.iter().map(|word| word.as_deref().unwrap_or("?")).collect();
        let within = if part.within { "+" } else { "" };
        format!("{within}{mark}{wraps}{}", words.join(" "))
    };
    parts(text).iter().map(line).collect()
}

fn is_uncertain(text: &str) -> bool {
    parts(text).iter().any(|part| part.uncertain)
}

#[test]
fn sequences_and_pipes_of_plain_words_are_split() {
    assert_eq!(shown("a 1; b && c || d | e & f\ng |& h # i"), ["a 1", "b", "c", "d", "e", "f", "g", "h"]);
    assert_eq!(shown("cd x && cargo test 2>&1 | tail -n 20"), ["cd x", "cargo test", "tail -n 20"]);
    assert_eq!(shown("git \\\n push"), ["git push"]);
    assert_eq!(shown("[ -f a ] && b; echo $? \"$x\" ${y} *.rs HEAD~1"), ["[ -f a ]", "b", "echo ? ? ? ? HEAD~1"]);
}

#[test]
fn quotes_are_removed_and_hide_operators() {
    assert_eq!(shown(r#"echo 'a; b' "c && \"d\"" e\;f g"h"'i'"#), ["echo a; b c && \"d\" e;f ghi"]);
    assert_eq!(shown("g\"i\"t pu\\sh"), ["git push"]);
    assert_eq!(shown("awk '{print $1}' \"cost: 5 $ \""), ["awk {print $1} cost: 5 $ "]);
    assert_eq!(shown(r#"grep "foo$" "a$'b" "$/" {} x{}"#), ["grep foo$ a$'b $/ {} x{}"]);
}

#[test]
fn assignments_and_redirections_are_parts_of_their_own() {
    assert_eq!(shown("A=1 B=x=debug git push"), ["A=1", "B=x=debug", "git push"]);
    assert_eq!(shown("export A=1 && b"), ["~export A=1", "A=1", "b"]);
    assert_eq!(shown("a > f 2>&1 >>g 2>/dev/null <in"), ["> f", "> g", "a"]);
    assert_eq!(shown("> f git push"), ["> f", "git push"]);
    assert_eq!(shown("a >$x"), ["> ?", "a"]);
    for text in [
        "VERSION=1.2.3 make",
        "RUSTFLAGS=\"-D warnings\" cargo clippy",
        "PYTHONPATH=. pytest",
        "DATABASE_URL=sqlite:///x pytest",
    ] {
        assert!(!is_uncertain(text), "{text}");
    }
    for text in [
        "PATH=bin git status",
        "GIT_PAGER='git push' git log",
        "a+=1 b",
        "export PATH=bin",
        "A=$x b",
        "LD_PRELOAD=x b",
        "VISUAL_EDITOR=x b",
        "ENV=x sh -c b",
        "NODE_OPTIONS=x node y.js",
        "RUSTC_WRAPPER=x cargo build",
        "GIT_SSH_COMMAND=x b",
    ] {
        assert!(is_uncertain(text), "{text}");
    }
}

#[test]
fn what_runs_others_is_looked_through_or_doubted() {
    assert_eq!(shown("timeout 5 cargo test"), ["~timeout 5 cargo test", "cargo test"]);
    assert_eq!(
        shown("env A=b /bin/nice git push"),
        ["~env A=b /bin/nice git push", "A=b", "~/bin/nice git push", "git push"]
    );
    assert_eq!(shown("ls | xargs git add"), ["ls", "~xargs git add", "git add ?"]);
    assert_eq!(shown("bash -lc 'git push; ls'"), ["~bash -lc git push; ls", "git push", "ls"]);
    assert_eq!(shown("sh x.sh; command -v git; find . -name x"), ["sh x.sh", "command -v git", "find . -name x"]);
    for (text, inner) in [
        ("xargs -0 rm", "rm ?"),
        ("xargs -0rn1 rm", "rm ?"),
        ("xargs -n 1 -P4 rm", "rm ?"),
        ("xargs -I{} cp {} x", "cp ? x ?"),
        ("nice -n 10 make", "make"),
        ("ionice -c3 make", "make"),
        ("bash -euo pipefail -c 'make'", "make"),
        ("bash -o pipefail -ec 'make'", "make"),
    ] {
        let found = shown(text);
        assert!(found[0].starts_with('~') && found[1..] == [inner], "{text}: {found:?}");
    }
    assert_eq!(shown("bash -x a.sh -c b"), ["bash -x a.sh -c b"]);
    for text in [
        "sudo git push",
        "eval git push",
        ". ./x",
        "trap 'git push' EXIT",
        "echo git push | sh",
        "sh -s a",
        "sh /dev/stdin",
        "sh -c \"$x\"",
        "bash -c - 'git push'",
        "env -S 'git push'",
        "env $x",
        "timeout -k 5 git push",
        "xargs -I% % push",
        "xargs -I {} {} push",
        "xargs --null rm",
        "nice --adjustment 5 git push",
        "bash -o $x -c a",
        "flock x git push",
        "strace git push",
        "find . -exec rm x ';'",
        "find . $x",
    ] {
        assert!(is_uncertain(text), "{text}: {:?}", shown(text));
    }
}

#[test]
fn text_in_another_language_is_marked() {
    let hides = |text: &str| parts(text).iter().any(|part| part.hides);
    assert!(hides("python3 -c 'x'") && hides("cat x | python3") && hides("node -e x") && hides("python3 $x"));
    assert!(!hides("python3 x.py") && !hides("python3 -m pytest -q") && !hides("grep -e x"));
    for text in [
        "python3.12 -c x",
        "nodejs -e x",
        "perl -pe x",
        "perl -0777ne x",
        "python3 -uc x",
        "python3 -Ic x",
        "python3 -W ignore -c x",
        "python3 -I -c x",
        "node --eval=x",
        "deno eval x",
        "python3 -",
    ] {
        assert!(hides(text), "{text}");
    }
    for text in [
        "node server.js -p 3000",
        "python3 train.py -c config.yaml",
        "python -m pytest -p x",
        "python3 -W ignore x.py -c y",
        "python3 x.py $y",
        "node --version",
    ] {
        assert!(!hides(text), "{text}");
    }
}

#[test]
fn what_programs_of_packages_run_is_a_part_that_is_allowed_with_them() {
    for (text, inner) in [
        ("npx vercel deploy", "+vercel deploy"),
        ("npx -y vercel@latest deploy", "+vercel deploy"),
        ("bunx @scope/vercel@1", "+@scope/vercel"),
        ("uvx twine upload", "+twine upload"),
        ("pnpm vercel", "+vercel"),
        ("pnpm exec vercel", "+vercel"),
        ("npm exec -- vercel", "+vercel"),
        ("uv run curl x", "+curl x"),
        ("poetry run curl", "+curl"),
        ("pipenv run curl", "+curl"),
        ("bundle exec rake", "+rake"),
        ("python -m twine upload", "+twine upload"),
        ("python3.12 -m twine", "+twine"),
        ("npx --package x y", "+!?"),
        ("uv run --with x y", "+!?"),
    ] {
        let found = shown(text);
        assert!(!found[0].starts_with(['!', '~']) && found[1..] == [inner], "{text}: {found:?}");
    }
    assert_eq!(shown("uv run sh -c 'git push'")[2], "+git push");
    for text in ["uv sync", "npm install", "pnpm -r build", "npx", "python3 x.py"] {
        assert_eq!(shown(text), [text]);
    }
}

#[test]
fn what_is_more_than_plain_words_is_uncertain() {
    for text in [
        "echo $(git push)",
        "echo \"`git push`\"",
        "${x:-a}",
        "$x push",
        "g{it,x} push",
        "$'git' push",
        "~/bin/x",
        "(git push)",
        "{ git push; }",
        "! git push",
        "if a; then b; fi",
        "for i in a; do b; done",
        "case a in a) b;; esac",
        "f() { git push; }",
        "[[ -f x ]]",
        "cat <<EOF\ngit push\nEOF",
        "cat <(git push)",
        "a &> x git push",
        "<&-git push",
        "a \r git push",
        "echo 'a",
        "echo \"a",
        "a >",
    ] {
        assert!(is_uncertain(text), "{text}: {:?}", shown(text));
    }
}

#[test]
fn what_is_too_much_is_uncertain_and_bounded() {
    for text in ["a;".repeat(30_000), "env ".repeat(16_000), "a ".repeat(LONGEST)] {
        assert!(is_uncertain(&text) && parts(&text).len() <= MOST_PARTS + 1);
    }
}

/// Constructs around a command. In each, the command runs.
fn constructs() -> Vec<fn(&str) -> String> {
    vec![
        |c| format!("ls; {c}"),
        |c| format!("{c} | cat"),
        |c| format!("true && {c} || false"),
        |c| format!("( {c} )"),
        |c| format!("echo \"x $( {c} ) y\""),
        |c| format!("echo `{}`", c.replace('\\', "\\\\").replace('`', "\\`").replace('$', "\\$")),
        |c| format!("if {c}; then ls; fi"),
        |c| format!("for x in a b; do {c}; done"),
        |c| format!("sh -c {}", quoted(c)),
        |c| format!("eval {}", quoted(c)),
        |c| format!("env A=b timeout 5 nice sh -c {}", quoted(c)),
        |c| format!("cat <<E{0}\n$( {c} )\nE{0}\nls", c.len()),
        |c| format!("A=1 B='x y' ls; {c} > /dev/null 2>&1"),
        |c| format!("echo 'it''s' # no $( here\n{c}"),
    ]
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_jumble_of_signs_makes_it_fall_over(text in "[a-cé $(){}<>&|;'\"`\\\\\n#=*~!0-2-]{0,120}") {
        prop_assert!(parts(&text).len() <= MOST_PARTS + 1);
    }

    #[test]
    fn a_command_is_found_or_doubted_in_whatever_it_is_wrapped(
        chosen in prop::collection::vec(any::<prop::sample::Index>(), 0..5)
    ) {
        let all = constructs();
        let text = chosen.iter().fold("git push --force".to_owned(), |text, at| all[at.index(all.len())](&text));
        let found = parts(&text).iter().any(|part| part.uncertain || part.words.first() == Some(&Some("git".into())));
        prop_assert!(found, "{}\n{:?}", text, shown(&text));
    }
}
