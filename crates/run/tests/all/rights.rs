//! Rights in layers: no descendant may do what an ancestor denied, nor unasked what an ancestor asks about.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a rule that cannot be read shall stop the test")]

use proptest::prelude::*;
use updraft_run::{
    ApprovalMode, EffectClass, Origins, Permission, PreparedCall, Rights, RightsLayer, Rule, Rules, RunSettings,
    SimpleCommand,
};

/// What one layer says, before it is borrowed.
#[derive(Clone, Debug)]
struct Written {
    mode: Option<ApprovalMode>,
    read_only: bool,
    rules: Rules,
}

fn rule() -> impl Strategy<Value = Rule> {
    let tools = prop::sample::select(vec!["run_command", "web_fetch", "write_file", "mail", "*", "w*"]);
    let patterns = prop::sample::select(vec!["git", "git push", "ls", "a.org", "*.org", "src/**", "*", "x"]);
    (tools, prop::option::of(patterns)).prop_map(|(tool, pattern)| {
        let text = pattern.map_or(tool.to_owned(), |pattern| format!("{tool}({pattern})"));
        Rule::parse(&text, "here").unwrap()
    })
}

fn rules() -> impl Strategy<Value = Rules> {
    let some = || prop::collection::vec(rule(), 0..3);
    (some(), some(), some()).prop_map(|(allow, ask, deny)| Rules { allow, ask, deny })
}

fn mode() -> impl Strategy<Value = ApprovalMode> {
    prop::sample::select(vec![ApprovalMode::Ask, ApprovalMode::Refuse, ApprovalMode::Allow, ApprovalMode::ReadOnly])
}

fn layer() -> impl Strategy<Value = Written> {
    (prop::option::of(mode()), prop::bool::weighted(0.2), rules()).prop_map(|(mode, read_only, rules)| Written {
        mode,
        read_only,
        rules,
    })
}

fn part() -> impl Strategy<Value = SimpleCommand> {
    let word = prop::option::weighted(0.9, prop::sample::select(vec!["git", "push", "ls", "-v", "x", "/bin/git"]));
    let words = prop::collection::vec(word.prop_map(|word| word.map(str::to_owned)), 0..4);
    let rarely = || prop::bool::weighted(0.1);
    let marks = (rarely(), rarely(), rarely(), rarely());
    (words, marks).prop_map(|(words, (uncertain, hides, wraps, within))| SimpleCommand {
        words,
        uncertain,
        hides,
        wraps,
        within,
    })
}

fn call() -> impl Strategy<Value = (String, PreparedCall)> {
    let tools = prop::sample::select(vec!["run_command", "web_fetch", "write_file", "mail"]);
    let class = prop::sample::select(vec![EffectClass::Pure, EffectClass::Opaque, EffectClass::Checkable]);
    let hosts = prop::collection::vec(prop::sample::select(vec!["a.org", "b.com"]).prop_map(str::to_owned), 0..2);
    let files = prop::collection::vec(prop::sample::select(vec!["src/a", "b", "."]).prop_map(str::to_owned), 0..2);
    let parts = prop::option::of(prop::collection::vec(part(), 0..3));
    (tools, class, hosts, files, parts, any::<[bool; 3]>()).prop_map(|(tool, class, hosts, writes, parts, flags)| {
        let command = parts.as_ref().map(|_| "…".to_owned());
        let [outside, sends, destroys] = flags;
        let parts = parts.unwrap_or_default();
        (
            tool.to_owned(),
            PreparedCall { class, hosts, writes, command, parts, outside, sends, destroys, ..PreparedCall::default() },
        )
    })
}

/// How strict a decision is.
fn strictness(permission: &Permission) -> u8 {
    match permission {
        Permission::Allowed => 0,
        Permission::Asked(_) => 1,
        Permission::Denied(_) => 2,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_descendant_is_allowed_what_an_ancestor_denied_or_asks_about(
        root in (mode(), rules()),
        below in prop::collection::vec(layer(), 0..6),
        remembered in prop::collection::vec(rule(), 0..3),
        (tool, prepared) in call(),
        tainted in any::<bool>(),
        from_code in 0_usize..7,
    ) {
        let settings = RunSettings { approvals: root.0, rules: root.1, ..RunSettings::default() };
        let origins = if tainted { Origins::of("https://evil.example") } else { Origins::default() };
        let mut rights = Rights::of(&settings, &remembered);
        let mut before = strictness(&rights.weigh(&tool, &prepared, &origins));
        for (depth, written) in below.iter().enumerate() {
            let Written { mode, read_only, rules } = written;
            rights = rights.child(RightsLayer { whose: "child", mode: *mode, read_only: *read_only, rules });
            if depth == from_code {
                rights = rights.code();
            }
            let now = strictness(&rights.weigh(&tool, &prepared, &origins));
            prop_assert!(now >= before, "layer {depth} widened {tool} from {before} to {now}: {written:?}");
            before = now;
        }
    }

    #[test]
    fn each_layers_own_denial_holds_however_deep_it_stands(
        approvals in mode(),
        mut below in prop::collection::vec(layer(), 1..6),
        at in any::<prop::sample::Index>(),
        (tool, prepared) in call(),
    ) {
        let at = at.index(below.len());
        below[at].rules.deny.push(Rule::parse(&tool, "here").unwrap());
        let settings = RunSettings { approvals, ..RunSettings::default() };
        let mut rights = Rights::of(&settings, &[]);
        for Written { mode, read_only, rules } in &below {
            rights = rights.child(RightsLayer { whose: "child", mode: *mode, read_only: *read_only, rules });
        }
        let denied = matches!(rights.weigh(&tool, &prepared, &Origins::default()), Permission::Denied(_));
        prop_assert!(denied, "layer {} denies {} and it was let through", at, tool);
    }

    #[test]
    fn what_sends_or_destroys_with_words_from_outside_is_never_simply_allowed(
        root in (mode(), rules()),
        remembered in prop::collection::vec(rule(), 0..3),
        (tool, prepared) in call(),
    ) {
        let settings = RunSettings { approvals: root.0, rules: root.1, ..RunSettings::default() };
        let rights = Rights::of(&settings, &remembered);
        let weighed = rights.weigh(&tool, &prepared, &Origins::of("https://evil.example"));
        if prepared.sends || prepared.destroys {
            prop_assert!(strictness(&weighed) > 0);
        }
        if let Permission::Asked(asking) = weighed && (prepared.sends || prepared.destroys) {
            prop_assert!(asking.why.contains("https://evil.example") && asking.always.is_empty());
        }
    }
}

#[test]
fn code_waits_for_nobody_and_is_told_what_to_do_instead() {
    let settings = RunSettings { approvals: ApprovalMode::Allow, ..RunSettings::default() };
    let sends = PreparedCall { class: EffectClass::Opaque, sends: true, ..PreparedCall::default() };
    let page = Origins::of("https://evil.example/page");
    let rights = || Rights::of(&settings, &[]);
    assert!(matches!(rights().weigh("mail", &sends, &page), Permission::Asked(_)));
    let Permission::Denied(why) = rights().code().weigh("mail", &sends, &page) else {
        unreachable!("it was let through")
    };
    assert!(why.message.contains("https://evil.example/page") && why.message.contains("outside of the code"), "{why}");
    assert_eq!(rights().code().weigh("mail", &sends, &Origins::default()), Permission::Allowed);
}

#[test]
fn a_call_that_is_passed_on_is_allowed_by_the_tool_that_is_meant_and_denied_by_either() {
    let weighed = |rules: Rules, remembered: &[Rule]| {
        let settings = RunSettings { rules, ..RunSettings::default() };
        let prepared = PreparedCall {
            class: EffectClass::Opaque,
            outside: true,
            passed_on_to: Some("mcp_a_b".into()),
            ..PreparedCall::default()
        };
        Rights::of(&settings, remembered).weigh("call_mcp_tool", &prepared, &Origins::default())
    };
    let rule = |text: &str| vec![Rule::parse(text, "here").unwrap()];
    let Permission::Asked(asked) = weighed(Rules::default(), &[]) else { panic!("it reaches outside") };
    assert!(asked.why.contains("`mcp_a_b`"), "{}", asked.why);
    assert_eq!(asked.always, ["mcp_a_b"]);
    assert_eq!(weighed(Rules::default(), &rule("mcp_a_b")), Permission::Allowed);
    assert_eq!(weighed(Rules { allow: rule("mcp_*"), ..Rules::default() }, &[]), Permission::Allowed);
    let by_its_own_name = weighed(Rules { allow: rule("call_mcp_tool"), ..Rules::default() }, &[]);
    assert!(matches!(by_its_own_name, Permission::Asked(_)), "{by_its_own_name:?}");
    for name in ["mcp_a_b", "call_mcp_tool"] {
        let denied = weighed(Rules { deny: rule(name), ..Rules::default() }, &rule("mcp_a_b"));
        assert!(matches!(denied, Permission::Denied(_)), "{name}: {denied:?}");
        let asked = weighed(Rules { ask: rule(name), ..Rules::default() }, &rule("mcp_a_b"));
        assert!(matches!(asked, Permission::Asked(_)), "{name}: {asked:?}");
    }
}

#[test]
fn rules_that_ask_or_deny_know_a_tool_by_its_plain_name_and_those_that_allow_do_not() {
    let weighed = |rules: Rules| {
        let prepared = PreparedCall {
            class: EffectClass::Opaque,
            outside: true,
            known_as: Some("mcp_db_drop".into()),
            ..PreparedCall::default()
        };
        let settings = RunSettings { rules, ..RunSettings::default() };
        Rights::of(&settings, &[]).weigh("mcp_db_drop_c75b55", &prepared, &Origins::default())
    };
    let rule = |text: &str| vec![Rule::parse(text, "here").unwrap()];
    let allow = rule("mcp_db_drop_c75b55");
    assert_eq!(weighed(Rules { allow: allow.clone(), ..Rules::default() }), Permission::Allowed);
    for name in ["mcp_db_drop", "mcp_*_drop", "mcp_db_drop_c75b55"] {
        let denied = weighed(Rules { allow: allow.clone(), deny: rule(name), ..Rules::default() });
        assert!(matches!(denied, Permission::Denied(_)), "{name}: {denied:?}");
        let asked = weighed(Rules { allow: allow.clone(), ask: rule(name), ..Rules::default() });
        assert!(matches!(asked, Permission::Asked(_)), "{name}: {asked:?}");
    }
    let allowed = weighed(Rules { allow: rule("mcp_db_drop"), ..Rules::default() });
    assert!(matches!(allowed, Permission::Asked(_)), "{allowed:?}");
}
