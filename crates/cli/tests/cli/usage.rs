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

#[test]
fn a_goal_without_a_command_is_told_of_run() {
    let world = World::new();
    for typed in [vec!["Write", "a", "poem"], vec!["Write a poem"]] {
        let ran = world.updraft(&typed).code(2);
        assert!(ran.err.contains("updraft run \"Write a poem\"") && !ran.err.contains("similar"), "{}", ran.err);
    }
}

#[test]
fn of_two_similar_flags_the_nearest_is_suggested() {
    let ran = World::new().updraft(&["run", "--modle", "x", "hi"]).code(2);
    assert!(ran.err.contains("a similar argument exists: '--model'\n"), "{}", ran.err);
    assert!(ran.err.contains("Usage: updraft run [OPTIONS] [GOAL]"), "{}", ran.err);
}

#[test]
fn what_a_command_lacks_is_told_where_it_is_not_obvious() {
    let world = World::new();
    world.updraft(&["fork", "last"]).code(2).says("`updraft events RUN` shows the numbers");
    world.updraft(&["diff", "last"]).code(2).says("`updraft undo RUN --dry-run` shows what one changed");
}
