//! Splits a text into words with their stems, and contains small tables of English for comparing them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// In lower case.
    pub(super) lower: String,
    /// Without its ending.
    pub(super) stem: String,
    /// Begins with a capital letter.
    pub(super) capital: bool,
    /// Followed by `'s`.
    pub(super) possessive: bool,
    /// Begins a sentence, so that its capital letter says nothing.
    pub(super) opens: bool,
}

/// Splits a text into words: sequences of letters and digits; `camelCase` is also split.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut run = String::new();
    let mut opens = true;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c.is_alphanumeric() {
            run.push(c);
            if chars.peek().is_some() {
                continue;
            }
        }
        if !run.is_empty() {
            let mut rest = chars.clone();
            let possessive = is_apostrophe(c)
                && matches!(rest.next(), Some('s'))
                && rest.next().is_none_or(|c| !c.is_alphanumeric());
            push_run(&mut found, &run, possessive, opens);
            run.clear();
            opens = false;
            if possessive {
                chars.next();
            }
        }
        if matches!(c, '.' | '!' | '?' | ':' | '#' | '|' | '>')
            && chars.peek().is_none_or(|c| c.is_whitespace() || !c.is_alphanumeric())
        {
            opens = true;
        }
    }
    found
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

fn push_run(found: &mut Vec<Word>, run: &str, possessive: bool, opens: bool) {
    let capital = run.chars().next().is_some_and(char::is_uppercase);
    let lower = run.to_lowercase();
    let humps = humps(run);
    found.push(Word { stem: stem(&lower), lower, capital, possessive, opens });
    if humps.len() > 1 {
        for hump in humps {
            let lower = hump.to_lowercase();
            found.push(Word { stem: stem(&lower), lower, capital: false, possessive: false, opens: false });
        }
    }
}

/// The parts of a `camelCase` word.
fn humps(run: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut previous_lower = false;
    for (at, c) in run.char_indices() {
        if c.is_uppercase() && previous_lower {
            parts.push(&run[start..at]);
            start = at;
        }
        previous_lower = c.is_lowercase();
    }
    parts.push(&run[start..]);
    parts
}

/// Removes plural and verb endings. The stem is a prefix of every regular form of the word.
pub(super) fn stem(lower: &str) -> String {
    if let Some((_, base)) = IRREGULAR.iter().find(|(form, _)| *form == lower) {
        return stem(base);
    }
    if lower.chars().any(|c| c.is_ascii_digit()) || lower.chars().count() < 4 {
        return lower.to_owned();
    }
    let cut = cut_ending(lower);
    let cut = cut.strip_suffix('e').filter(|rest| rest.len() > 2).unwrap_or(cut);
    cut.strip_suffix(['y', 'i']).filter(|rest| rest.len() > 2 && !ends_in_vowel(rest)).unwrap_or(cut).to_owned()
}

fn cut_ending(word: &str) -> &str {
    for ending in ["ies", "ied"] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() > 2) {
            return rest;
        }
    }
    for ending in ["ing", "ings", "ed"] {
        if let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() > 2 && has_vowel(rest)) {
            return undouble(rest);
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if !rest.ends_with(['s', 'u', 'i']) => rest,
        _ => word,
    }
}

/// `stopp` becomes `stop`; `fill` and `pass` stay.
fn undouble(word: &str) -> &str {
    let mut last = word.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && "bdgmnprt".contains(a) => &word[..word.len() - a.len_utf8()],
        _ => word,
    }
}

fn has_vowel(word: &str) -> bool {
    word.chars().any(|c| !c.is_ascii() || "aeiouy".contains(c))
}

fn ends_in_vowel(word: &str) -> bool {
    word.ends_with(['a', 'e', 'i', 'o', 'u'])
}

/// Irregular forms that share a stem with this one, for searching.
pub(super) fn other_forms(stem_of_term: &str) -> impl Iterator<Item = &'static str> {
    IRREGULAR.iter().filter(move |(_, base)| stem(base) == stem_of_term).map(|(form, _)| *form)
}

/// Stems with a similar meaning, in questions and in the lines that answer them.
pub(super) fn akin(stem_of_term: &str) -> impl Iterator<Item = String> {
    AKIN.iter()
        .filter(move |group| group.iter().any(|word| stem(word) == stem_of_term))
        .flat_map(|group| group.iter().map(|word| stem(word)))
        .filter(move |other| other != stem_of_term)
}

/// Whether a word only belongs to the phrasing of a question or an order.
pub(super) fn is_stop_word(lower: &str) -> bool {
    STOP.contains(lower) || is_german_stop_word(lower)
}

/// The same for German, in which all nouns are capitalised.
pub(super) fn is_german_stop_word(lower: &str) -> bool {
    STOP_GERMAN.contains(lower)
}

/// Whether this is a word for the folder itself, which its files rarely contain: "this code", "the project".
pub(super) fn is_word_for_the_folder(lower: &str, before: &str) -> bool {
    match before {
        "this" | "these" | "our" | "my" => FOLDER.contains(lower) || THIS_FOLDER.contains(lower),
        "the" => FOLDER.contains(lower),
        _ => false,
    }
}

/// Whether this word is a kind of thing, which may precede a name or an answer.
pub(super) fn is_kind_word(lower: &str) -> bool {
    KINDS.contains(lower)
}

/// Whether this word may head a section without naming another thing.
pub(super) fn is_section_word(lower: &str) -> bool {
    SECTIONS.contains(lower)
}

type WordSet = LazyLock<BTreeSet<&'static str>>;

static STOP: WordSet = LazyLock::new(|| {
    "a an the this that these those what whats which who whom whose when where why how is are was were be been being am do does did \
    done can could will would shall should may might must have has had having of in on at to for from by with without about into onto over under \
    after before between during through as than then so and or but nor not no yes if it its it's he she they them their his her him you your yours \
    we our us i me my mine there here please tell show give find list explain describe summarise summarize say says said mention mentions \
    name names compare check quote search look read write answer question much many any some all each every both few more most other such only own \
    just also very too again ever still up down out off get gets got go goes make makes one ones thing things kind kinds way ways tell know known \
    need want let like according exactly exact currently now whether while because until upon within across per via overview summary briefly short purpose gist contents \
    sentence sentences word words work works use uses used using does doesn don isn aren wasn won t s d ll re ve happen happens happened often near ago usually always never located currently".split_whitespace().collect()
});

static STOP_GERMAN: WordSet = LazyLock::new(|| {
    "der die das den dem des ein eine einen einem einer eines und oder nicht ist sind war waren wird werden wurde wurden wie \
    wieviel wieviele viel viele wer wem wen wessen wann wo warum wieso welche welcher welches welchen was im am von vom zu zum zur mit bei für auf aus \
    nach über unter durch es er sie ihr sein seine hat haben hatte kann können soll sollen dieses diese dieser diesem bitte nenne zeige gibt".split_whitespace().collect()
});

static FOLDER: WordSet = LazyLock::new(|| {
    "project repo repository codebase folder directory workspace documents files docs documentation"
        .split_whitespace()
        .collect()
});

static THIS_FOLDER: WordSet = LazyLock::new(|| {
    "projects program app application software tool document file code content contents text texts data library crate package \
    system note notes".split_whitespace().collect()
});

static KINDS: WordSet = LazyLock::new(|| {
    "station street river mount mountain lake port city town village company firm team department plan version model system mr mrs ms \
    dr prof professor captain project operation ship vessel site unit section building house hall bridge tower reservoir library museum school \
    university institute farm mill harbour harbor valley island bay county region observatory sir lady saint st year date number amount figure".split_whitespace().collect()
});

static SECTIONS: WordSet = LazyLock::new(|| {
    "facts fact overview details detail notes note data summary specification specifications description about status information \
    introduction background history figures general main misc appendix table list entry record parameters values settings config defaults \
    package section properties the and of".split_whitespace().collect()
});

const IRREGULAR: &[(&str, &str)] = &[
    ("held", "hold"),
    ("built", "build"),
    ("made", "make"),
    ("kept", "keep"),
    ("ran", "run"),
    ("running", "run"),
    ("wrote", "write"),
    ("written", "write"),
    ("sent", "send"),
    ("began", "begin"),
    ("begun", "begin"),
    ("bought", "buy"),
    ("sold", "sell"),
    ("paid", "pay"),
    ("lost", "lose"),
    ("won", "win"),
    ("grew", "grow"),
    ("grown", "grow"),
    ("took", "take"),
    ("taken", "take"),
    ("spent", "spend"),
    ("led", "lead"),
    ("met", "meet"),
    ("stood", "stand"),
    ("drew", "draw"),
    ("drawn", "draw"),
    ("drove", "drive"),
    ("driven", "drive"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("rose", "rise"),
    ("risen", "rise"),
    ("fell", "fall"),
    ("fallen", "fall"),
    ("chose", "choose"),
    ("chosen", "choose"),
    ("spoke", "speak"),
    ("spoken", "speak"),
    ("broke", "break"),
    ("broken", "break"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("people", "person"),
    ("feet", "foot"),
    ("came", "come"),
    ("saw", "see"),
    ("seen", "see"),
    ("taught", "teach"),
    ("caught", "catch"),
    ("thought", "think"),
    ("brought", "bring"),
    ("left", "leave"),
    ("hid", "hide"),
    ("hidden", "hide"),
    ("stole", "steal"),
    ("stolen", "steal"),
    ("swam", "swim"),
    ("sang", "sing"),
    ("slept", "sleep"),
];

const AKIN: &[&[&str]] = &[
    &["hold", "capacity", "contain", "store"],
    &["long", "length"],
    &["tall", "high", "height"],
    &["deep", "depth"],
    &["wide", "width"],
    &["old", "age"],
    &["heavy", "weigh", "weight"],
    &["cost", "price", "expensive"],
    &["fast", "speed"],
    &["survive", "recover", "resume", "durable", "restart"],
    &["crash", "failure", "outage", "kill"],
    &["open", "founded", "found", "opened", "established"],
    &["begin", "start"],
    &["author", "write"],
    &["build", "construct"],
    &["licence", "license"],
    &["install", "setup"],
    &["lead", "head", "director", "manage"],
    &["colour", "color"],
    &["delete", "remove"],
    &["error", "failure"],
];
