//! All arguments together fit each other, and each command says what it is for.

use clap::CommandFactory;

use super::CliArgs;

/// Each flag of a command once, what is in conflict with it exists, and what may be left out stands last. clap checks that itself,
/// but not where dependencies are built without debug assertions, as ours are. What `requires` names is not checked here: clap does not
/// tell it.
#[test]
fn the_arguments_are_consistent() {
    let mut root = CliArgs::command();
    root.build();
    let mut waiting = vec![&root];
    let mut looked_at = 0;
    while let Some(command) = waiting.pop() {
        let mut flags = std::collections::BTreeSet::new();
        let mut last_optional = None;
        for argument in command.get_arguments() {
            let longs = argument.get_long_and_visible_aliases().unwrap_or_default();
            let shorts = argument.get_short_and_visible_aliases().unwrap_or_default();
            let words =
                longs.iter().map(|long| format!("--{long}")).chain(shorts.iter().map(|short| format!("-{short}")));
            for flag in words.chain([argument.get_id().to_string()]) {
                assert!(flags.insert(flag.clone()), "{} has {flag} twice", command.get_name());
            }
            let _ = command.get_arg_conflicts_with(argument); // panics if one of them is unknown
            if argument.is_positional() {
                assert!(!argument.is_required_set() || last_optional.is_none(), "{} {argument}", command.get_name());
                last_optional = (!argument.is_required_set()).then_some(argument);
            }
            looked_at += 1;
        }
        waiting.extend(command.get_subcommands());
    }
    assert!(looked_at > 300, "{looked_at} arguments");
}

/// A doc comment on a flattened struct would replace what its command says about itself.
#[test]
fn what_a_command_says_about_itself_stays_when_its_arguments_are_added() {
    let about = |command: &clap::Command| -> Vec<_> {
        command.get_subcommands().map(|one| (one.get_name().to_owned(), one.get_about().cloned())).collect()
    };
    let listed = CliArgs::command();
    let mut built = listed.clone();
    built.build();
    assert_eq!(about(&built)[..about(&listed).len()], about(&listed));
}
