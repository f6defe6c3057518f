//! Puts into words what is kept of turns that a summary has replaced.

use updraft_run::CompactedFacts;

/// The facts under headings, leaving out empty ones.
pub(crate) fn facts_in_words(facts: &CompactedFacts) -> String {
    let tests = facts.tests.iter().map(|(command, end)| format!("- `{command}`: {end}"));
    let parts = [
        section("What the person answered, word for word", facts.answers.iter().map(|words| format!("- {words}"))),
        section("Calls that were refused", facts.refusals.iter().map(|words| format!("- {words}"))),
        section("Files that were changed", facts.changed.iter().map(|path| format!("- `{path}`"))),
        section("Other files that were named", facts.named.iter().map(|path| format!("- `{path}`"))),
        section("Tests, and how each ended last", tests),
        section("Calls whose outcome is not known", facts.unknown.iter().map(|call| format!("- {call}"))),
        section("Outputs that can be read or searched again", facts.outputs.values().map(|what| format!("- {what}"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

fn section(heading: &str, lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| format!("# {heading}\n\n{}", lines.join("\n")))
}
