//! What is said where the arguments are wrong, and how help is asked for.

use crate::world::World;

#[test]
fn help_is_given_in_both_ways() {
    let world = World::new();
    for words in [vec!["run"], vec!["mcp", "add"]] {
        let asked = world.updraft(&[&["help"], words.as_slice()].concat()).code(0);
        let flag = world.updraft(&[words.as_slice(), &["--help"]].concat()).code(0);
        assert!(asked.out.contains("Examples:") && asked.out == flag.out, "{}", asked.out);
    }
}

#[test]
fn a_command_that_is_spelled_wrong_is_guessed() {
    let world = World::new();
    for (typed, meant) in [("rnu", "run"), ("rusn", "runs"), ("shwo", "show"), ("resmue", "resume")] {
        let ran = world.updraft(&[typed]).code(2);
        assert!(ran.err.contains(&format!("a similar subcommand exists: '{meant}'\n")), "{}", ran.err);
    }
    assert!(!world.updraft(&["xylophone"]).code(2).err.contains("similar"));
}

#[test]
fn a_goal_without_quotes_is_told_to_take_some() {
    let world = World::new();
    let ran = world.updraft(&["run", "--agent", "coder", "what", "is", "this", "--yes"]).code(2);
    assert!(ran.err.contains("put a text of several words in quotes: \"what is this\""), "{}", ran.err);
    let ran = world.updraft(&["run", "--agnt", "coder", "x"]).code(2);
    assert!(!ran.err.contains("quotes"), "{}", ran.err);
    assert!(!world.updraft(&["show", "one", "two"]).code(2).err.contains("quotes"));
}
