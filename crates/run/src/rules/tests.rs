//! Tests which calls rules match.

use super::*;

fn rule(text: &str) -> Rule {
    Rule::parse(text, "").unwrap()
}

fn part(words: &str) -> SimpleCommand {
    let words = words.split_whitespace().map(|word| (word != "?").then(|| word.to_owned()));
    SimpleCommand { words: words.collect(), ..SimpleCommand::default() }
}

fn command(parts: Vec<SimpleCommand>) -> PreparedCall {
    PreparedCall { command: Some("…".into()), parts, ..PreparedCall::default() }
}

fn allows(text: &str, prepared: &PreparedCall) -> bool {
    is_allowed([&rule(text)], "run_command", prepared)
}

fn denies(text: &str, words: &str) -> RuleMatch {
    rule(text).matches("run_command", &command(vec![part(words)]))
}

#[test]
fn a_rule_reads_back_as_it_was_written() {
    for text in ["read_file", "mcp_*", "run_command(cargo test)", "web_fetch(*.example.org)", "write_file(src/**)"] {
        assert_eq!(rule(text).to_string(), text);
    }
    assert_eq!(rule("run_command(*)").to_string(), "run_command");
    for text in ["", "(x)", "a b", "run_command(", "run_command()", "x(y"] {
        assert!(Rule::parse(text, "").unwrap_err().contains("is not a rule"), "{text}");
    }
}

#[test]
fn a_command_is_allowed_by_its_first_words_not_by_its_first_letters() {
    let test = |words| allows("run_command(cargo test)", &command(vec![part(words)]));
    assert!(test("cargo test") && test("cargo test -p x") && test("cargo test ?"));
    assert!(!test("cargo tester") && !test("cargo") && !test("cargo -v test") && !test("/tmp/cargo test"));
    assert!(!test("cargo ? test") && !test("? test"));
}

#[test]
fn every_part_must_be_allowed() {
    let both = command(vec![part("cargo test"), part("rm -rf /")]);
    assert!(!allows("run_command(cargo test)", &both));
    assert!(is_allowed([&rule("run_command(cargo test)"), &rule("run_command(rm)")], "run_command", &both));
    assert!(allows("run_command", &both) && allows("run_*", &both) && !allows("read_file", &both));
}

#[test]
fn a_wrapper_needs_no_permission_of_its_own_and_is_still_denied() {
    let timed = command(vec![SimpleCommand { wraps: true, ..part("timeout 5 cargo test") }, part("cargo test")]);
    assert!(allows("run_command(cargo test)", &timed));
    assert_eq!(rule("run_command(timeout)").matches("run_command", &timed), RuleMatch::Yes);
}

#[test]
fn what_a_program_of_packages_runs_is_allowed_with_it_and_denied_by_itself() {
    let inner = SimpleCommand { within: true, ..part("vercel deploy") };
    let call = command(vec![part("npx vercel deploy"), inner]);
    assert!(allows("run_command(npx)", &call) && allows("run_command(npx vercel)", &call));
    assert!(!allows("run_command(vercel)", &call), "it is a package of that name, not the program");
    assert_eq!(rule("run_command(vercel)").matches("run_command", &call), RuleMatch::Yes);
    assert_eq!(to_remember([], "run_command", &call), ["run_command(npx vercel deploy $)"]);
}

#[test]
fn what_cannot_be_read_is_never_allowed_and_may_be_denied() {
    let unclear = command(vec![SimpleCommand { uncertain: true, ..part("cargo test") }]);
    assert!(!allows("run_command(cargo test)", &unclear) && allows("run_command", &unclear));
    assert_eq!(rule("run_command(git push)").matches("run_command", &unclear), RuleMatch::Maybe);
    assert!(!allows("run_command(cargo test)", &command(Vec::new())), "a command nobody has read");
}

#[test]
fn a_command_behind_a_program_that_nobody_knows_may_be_meant() {
    assert_eq!(denies("run_command(git push)", "launch --fast /usr/bin/git push"), RuleMatch::Maybe);
    let text = |text: &str| {
        let words = vec![Some("launch".to_owned()), Some(text.to_owned())];
        rule("run_command(git push)")
            .matches("run_command", &command(vec![SimpleCommand { words, ..SimpleCommand::default() }]))
    };
    assert_eq!(text("x=1; (/usr/bin/git push)"), RuleMatch::Maybe);
    assert_eq!(text("git pull, push"), RuleMatch::No);
    for words in ["echo git push", "launch git pull", "launch push git", "launch git"] {
        assert_eq!(denies("run_command(git push)", words), RuleMatch::No, "{words}");
    }
    assert_eq!(denies("run_command(rm)", "git rm x"), RuleMatch::No, "one word alone is a sub-command as often");
}

#[test]
fn a_text_in_another_language_is_allowed_with_its_interpreter_and_may_be_denied() {
    let hidden = command(vec![SimpleCommand { hides: true, ..part("python3 -c x") }]);
    assert!(allows("run_command(python3)", &hidden) && !allows("run_command(perl)", &hidden));
    assert_eq!(rule("run_command(git push)").matches("run_command", &hidden), RuleMatch::Maybe);
    assert_eq!(rule("run_command(python3)").matches("run_command", &hidden), RuleMatch::Yes);
    assert!(to_remember([], "run_command", &hidden).is_empty());
}

#[test]
fn options_and_folders_do_not_hide_what_is_denied() {
    for words in ["git push", "/usr/bin/git push", "git -C . push origin", "git --no-pager -c a=b push", "git -v push"]
    {
        assert_eq!(denies("run_command(git push)", words), RuleMatch::Yes, "{words}");
    }
    for words in ["git log --grep push", "git commit push", "gitk push", "git"] {
        assert_eq!(denies("run_command(git push)", words), RuleMatch::No, "{words}");
    }
    assert_eq!(denies("run_command(git push)", "git ?"), RuleMatch::Maybe);
    assert_eq!(denies("run_command(git push)", "? push"), RuleMatch::Maybe);
}

#[test]
fn hosts_and_paths_have_patterns_of_their_own() {
    let fetch = |host: &str| PreparedCall { hosts: vec![host.into()], ..PreparedCall::default() };
    let fits = |text: &str, host: &str| is_allowed([&rule(text)], "web_fetch", &fetch(host));
    assert!(fits("web_fetch(*.example.org)", "a.example.org") && fits("web_fetch(example.org)", "Example.org:443"));
    assert!(!fits("web_fetch(*.example.org)", "example.org.evil") && !fits("web_fetch(example.org)", "aexample.org"));
    let write = |paths: &[&str]| PreparedCall {
        writes: paths.iter().map(|p| (*p).into()).collect(),
        ..PreparedCall::default()
    };
    let fits = |text: &str, paths: &[&str]| is_allowed([&rule(text)], "write_file", &write(paths));
    assert!(fits("write_file(src/**)", &["src/a/b.rs"]) && fits("write_file(src/*.rs)", &["src/a.rs"]));
    assert!(!fits("write_file(src/*.rs)", &["src/a/b.rs"]) && !fits("write_file(src/**)", &["src/a", "b"]));
    let list = PreparedCall { reads: vec![".".into()], ..PreparedCall::default() };
    assert_eq!(rule("list_files(secret/**)").matches("list_files", &list), RuleMatch::Yes);
    // A call that leaves out what is forbidden is denied only where nothing is left.
    let retrieve = |path: &str| PreparedCall { reads: vec![path.into()], leaves_out: true, ..PreparedCall::default() };
    let hidden = rule("read_file(secret/**)");
    assert_eq!(hidden.matches("retrieve", &retrieve(".")), RuleMatch::No);
    assert_eq!(hidden.matches("retrieve", &retrieve("secret/deep")), RuleMatch::Yes);
    let list = PreparedCall { reads: vec!["open".into()], ..PreparedCall::default() };
    assert_eq!(rule("list_files(secret/**)").matches("list_files", &list), RuleMatch::No);
}

#[test]
fn a_place_that_is_forbidden_is_so_with_all_it_holds_and_to_every_tool_of_that_kind() {
    let at = |path: &str| PreparedCall { writes: vec![path.into()], ..PreparedCall::default() };
    for text in ["write_file(.github)", "write_file(.github/)", "write_file(.github/**)", "edit_file(./.github//**)"] {
        for tool in ["write_file", "edit_file", "append_line"] {
            assert_eq!(rule(text).matches(tool, &at(".github/workflows/x.yml")), RuleMatch::Yes, "{text} {tool}");
            assert_eq!(rule(text).matches(tool, &at("src/x.yml")), RuleMatch::No, "{text} {tool}");
        }
    }
    let reads = PreparedCall { reads: vec!["secret/a".into()], ..PreparedCall::default() };
    assert_eq!(rule("read_file(secret)").matches("search_files", &reads), RuleMatch::Yes);
    // A rule that denies a tool entirely denies only that tool.
    assert_eq!(rule("write_file").matches("edit_file", &at("x")), RuleMatch::No);
    // A rule that allows a folder does not allow what is in it.
    assert!(!is_allowed([&rule("write_file(src)")], "write_file", &at("src/a")));
    assert!(!is_allowed([&rule("write_file(src/**)")], "edit_file", &at("src/a")));
}

#[test]
fn a_call_that_sends_files_is_matched_by_its_host_and_by_its_files() {
    let hosts = vec!["a.org".into()];
    let upload = PreparedCall { hosts, reads: vec!["secret/key".into()], ..PreparedCall::default() };
    for text in ["read_file(secret/**)", "browser_upload(secret/*)", "browser_upload(a.org)", "*(secret)"] {
        assert_eq!(rule(text).matches("browser_upload", &upload), RuleMatch::Yes, "{text}");
    }
    for text in ["read_file(a.org)", "read_file(secret/key/x)", "browser_upload(b.org)", "write_file(secret/**)"] {
        assert_eq!(rule(text).matches("browser_upload", &upload), RuleMatch::No, "{text}");
    }
    // What may not be uploaded may be read.
    let read = PreparedCall { reads: vec!["secret/key".into()], ..PreparedCall::default() };
    assert_eq!(rule("browser_upload(secret/**)").matches("read_file", &read), RuleMatch::No);
    let asked = crate::sentences::call_description("browser_upload", &upload);
    assert_eq!(asked, "`browser_upload` wants to give secret/key to a.org");
    // It is the host that is allowed, and remembered.
    assert!(is_allowed([&rule("browser_upload(a.org)")], "browser_upload", &upload));
    assert!(!is_allowed([&rule("browser_upload(secret/**)")], "browser_upload", &upload));
    assert_eq!(to_remember([], "browser_upload", &upload), ["browser_upload(a.org)"]);
}

#[test]
fn what_could_never_mean_anything_is_no_rule() {
    for (text, why) in [
        ("read_file(/secret/**)", "relative to the workspace"),
        ("write_file(\"a\")", "quotation marks"),
        ("run_command('git push')", "quotation marks"),
        ("web_fetch(https://example.org/x)", "only the host"),
        ("Write_File(x)", "called `write_file`"),
        ("RUN_COMMAND", "called `run_command`"),
    ] {
        assert!(Rule::parse(text, "").unwrap_err().contains(why), "{text}");
    }
    assert_eq!(denies("run_command(git push:*)", "git push origin"), RuleMatch::Yes);
    assert_eq!(rule("mcp_Server_Tool").tool, "mcp_Server_Tool");
}

#[test]
fn a_tool_that_does_not_say_what_it_touches_is_asked_about() {
    let silent = PreparedCall::default();
    assert_eq!(rule("mcp_mail(example.org)").matches("mcp_mail", &silent), RuleMatch::Maybe);
    assert_eq!(rule("*(secret/**)").matches("mcp_mail", &silent), RuleMatch::No);
    assert!(!is_allowed([&rule("mcp_mail(example.org)")], "mcp_mail", &silent));
}

#[test]
fn always_remembers_the_program_and_its_first_word_or_exactly_what_was_asked() {
    let remember = |parts: &[&str]| to_remember([], "run_command", &command(parts.iter().map(|p| part(p)).collect()));
    assert_eq!(remember(&["git push origin main"]), ["run_command(git push)"]);
    assert_eq!(
        remember(&["ls -la", "cargo test -p x", "> out.txt"]),
        ["run_command(ls -la $)", "run_command(cargo test)", "run_command(> out.txt)"]
    );
    assert_eq!(remember(&["rm -rf build"]), ["run_command(rm -rf build $)"]);
    assert_eq!(remember(&["python tools/x.py", "make"]), ["run_command(python tools/x.py $)", "run_command(make $)"]);
    assert!(remember(&["rm ?"]).is_empty() && remember(&["rm -r ?"]).is_empty() && remember(&["rm -r a*"]).is_empty());
    assert!(remember(&["git push", "? x"]).is_empty() && remember(&["a*b c"]).is_empty());
    let unclear = command(vec![SimpleCommand { uncertain: true, ..part("git push") }]);
    assert!(to_remember([], "run_command", &unclear).is_empty());
    let known = rule("run_command(git push)");
    let two = command(vec![part("git push"), part("rm x")]);
    assert_eq!(to_remember([&known], "run_command", &two), ["run_command(rm x $)"]);
    assert_eq!(to_remember([], "mail", &PreparedCall::default()), ["mail"]);
    let fetch = PreparedCall { hosts: vec!["a.org".into()], ..PreparedCall::default() };
    assert_eq!(to_remember([], "web_fetch", &fetch), ["web_fetch(a.org)"]);
}

#[test]
fn always_for_a_file_remembers_that_file_and_no_other() {
    let write = |path: &str| PreparedCall { writes: vec![path.into()], ..PreparedCall::default() };
    let remember = |path: &str| to_remember([], "write_file", &write(path));
    for path in [".envrc", ".vscode/tasks.json", "my notes/ä (1).md"] {
        assert_eq!(remember(path), [format!("write_file({path})")]);
        let rules: Vec<Rule> = remember(path).iter().map(|text| rule(text)).collect();
        assert!(is_allowed(&rules, "write_file", &write(path)), "{path}");
        for other in [".git/hooks/pre-commit", ".envrc.local", "a/.envrc"] {
            assert!(!is_allowed(&rules, "write_file", &write(other)), "{path}: {other}");
        }
    }
    // A rule would match other files too, or none.
    assert!(remember("a*b").is_empty() && remember("'quoted'").is_empty());
    let anything = PreparedCall { reads: vec![".".into()], ..PreparedCall::default() };
    assert_eq!(to_remember([], "mcp_fs_move", &anything), ["mcp_fs_move"]);
}

#[test]
fn what_is_remembered_word_by_word_allows_nothing_more() {
    let asked_and_later = [
        ("rm -rf build", "rm -rf build /home"),
        ("make", "make install"),
        ("ls -la", "ls"),
        ("rm notes", "rm notes -rf thesis"),
        ("sh deploy", "sh deploy --now"),
        ("sudo rm", "sudo rm x"),
    ];
    for (asked, later) in asked_and_later {
        let rules = to_remember([], "run_command", &command(vec![part(asked)]));
        let rules: Vec<Rule> = rules.iter().map(|text| rule(text)).collect();
        assert!(!is_allowed(&rules, "run_command", &command(vec![part(later)])), "{asked}: {later}");
    }
    let deny = rule("run_command(make $)");
    assert_eq!(deny.matches("run_command", &command(vec![part("make")])), RuleMatch::Yes);
    assert_eq!(deny.matches("run_command", &command(vec![part("make install")])), RuleMatch::No);
}

#[test]
fn what_is_remembered_allows_the_same_again() {
    for words in ["git push origin", "ls -la", "./run.sh x", "> a/b.txt", "cargo +nightly test", "a:b c"] {
        let prepared = command(vec![part(words)]);
        let rules: Vec<Rule> = to_remember([], "run_command", &prepared).iter().map(|text| rule(text)).collect();
        assert!(is_allowed(&rules, "run_command", &prepared), "{words}: {rules:?}");
    }
}
