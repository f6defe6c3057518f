//! What was said in a conversation before a goal: the newest messages word for word, older ones in a short summary.

use serde::{Deserialize, Serialize};

/// A conversation so far, as a run continues it and as `agent_memory.json` holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierConversation {
    /// What was said before the messages in `history`, in a few words.
    pub summary: String,
    /// Facts that are kept word for word however long the conversation becomes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pinned: Vec<String>,
    /// The newest messages, oldest first.
    pub history: Vec<EarlierMessage>,
}

/// One message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierMessage {
    /// `user`, `assistant`, or another word that other programs write, such as `tool`.
    pub role: String,
    /// What was said.
    pub content: String,
}

impl EarlierMessage {
    /// Whether the user said it, in the words of several programs.
    pub fn is_users(&self) -> bool {
        matches!(self.role.as_str(), "user" | "human")
    }

    /// Whether a model said it.
    pub fn is_answer(&self) -> bool {
        matches!(self.role.as_str(), "assistant" | "model" | "ai")
    }
}

/// How much of a conversation is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConversationLimits {
    /// Messages that are kept word for word.
    pub messages: usize,
    /// The most words of the summary.
    pub summary_words: usize,
}

impl Default for ConversationLimits {
    fn default() -> Self {
        Self { messages: 10, summary_words: 120 }
    }
}

/// The most characters of one message that are kept.
const LONGEST: usize = 8_000;
/// How many words of an older message the summary begins with, and how few it is shortened to before it is left out.
const FIRST_WORDS: usize = 24;
/// This many characters count as a word at least, since not all scripts put spaces between words.
const WORD_CHARACTERS: usize = 8;
const FEWEST_WORDS: usize = 6;

impl EarlierConversation {
    /// Whether nothing was said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds a message, cut to size.
    pub fn add(&mut self, role: &str, content: &str) {
        let content = match content.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{} […]", &content[..end]),
            None => content.to_owned(),
        };
        self.history.push(EarlierMessage { role: role.to_owned(), content });
    }

    /// Adds a fact that is kept word for word; nothing if it is there already.
    pub fn pin(&mut self, fact: &str) {
        if !fact.trim().is_empty() && !self.pinned.iter().any(|known| known == fact) {
            self.pinned.push(fact.to_owned());
        }
    }

    /// Moves all but the newest messages into the summary. The history then begins with a message of the user, if there
    /// is one.
    pub fn fold(&mut self, limits: ConversationLimits) {
        let mut older = self.history.len().saturating_sub(limits.messages);
        if older == 0 {
            return;
        }
        let users = self.history[older..].iter().position(EarlierMessage::is_users);
        older += users.unwrap_or_default();
        let lines = self.history.drain(..older).filter_map(|message| beginning(&message)).collect::<Vec<_>>();
        self.summary = merge(&self.summary, lines, limits.summary_words);
    }
}

/// An older message in one line: its first sentence, or the first words of it.
fn beginning(message: &EarlierMessage) -> Option<String> {
    let text = message.content.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut ends = text.match_indices(['.', '?', '!', '。', '？', '！']).map(|(at, mark)| (at + mark.len(), mark));
    let end = ends.find(|(at, mark)| !mark.is_ascii() || text[*at..].starts_with(' '));
    let sentence = &text[..end.map_or(text.len(), |(at, _)| at)];
    let who = if message.is_users() { "User" } else { "Answer" };
    (!sentence.is_empty()).then(|| format!("{who}: {}", first_words(sentence, FIRST_WORDS)))
}

/// The summary before and what has been added. If there are too many words, the oldest lines are shortened first, then
/// left out, so that the most is known about what was said last.
fn merge(before: &str, added: Vec<String>, most: usize) -> String {
    let mut lines: Vec<String> = before.lines().map(str::to_owned).chain(added).collect();
    let mut least = FIRST_WORDS;
    while lines.iter().map(|line| words_in(line)).sum::<usize>() > most {
        let half = lines.len().div_ceil(2);
        let too_long = lines[..half].iter().position(|line| words_in(line) > least + 1);
        if let Some(at) = too_long {
            lines[at] = first_words(&lines[at], least);
        } else if least > FEWEST_WORDS {
            least = least.div_ceil(2).max(FEWEST_WORDS);
        } else {
            lines.remove(0);
        }
    }
    lines.join("\n")
}

/// About how many words a line has.
fn words_in(line: &str) -> usize {
    line.split_whitespace().count().max(line.chars().count().div_ceil(WORD_CHARACTERS))
}

fn first_words(text: &str, most: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let kept = words[..words.len().min(most)].join(" ");
    let end = kept.char_indices().nth(most * WORD_CHARACTERS).map_or(kept.len(), |(at, _)| at);
    if words.len() <= most && end == kept.len() {
        return kept;
    }
    format!("{} …", kept[..end].trim_end_matches(" …"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(turns: usize) -> EarlierConversation {
        let mut said = EarlierConversation::default();
        for n in 0..turns {
            said.add("user", &format!("What is the state of part {n} of the engine, and who looked at it? Be brief."));
            said.add("assistant", &format!("Part {n} is sound. Kim looked at it on day {n} with a lamp and a mirror."));
        }
        said
    }

    #[test]
    fn the_newest_ten_stay_word_for_word_and_the_rest_is_a_short_summary_however_often_it_is_merged() {
        let limits = ConversationLimits::default();
        let whole = conversation(40);
        let mut said = EarlierConversation::default();
        said.pin("The licence is MIT.");
        for message in &whole.history {
            said.add(&message.role, &message.content);
            said.fold(limits);
            assert!(said.summary.split_whitespace().count() <= 120, "{}", said.summary);
            assert!(said.history.len() <= 10 && said.history.first().is_none_or(|first| first.role == "user"));
            assert_eq!(said.pinned, ["The licence is MIT."]);
        }
        assert!(said.history.len() >= 9, "{}", said.history.len());
        assert_eq!(said.history, whole.history[whole.history.len() - said.history.len()..]);
        assert!(said.summary.contains("part 34") && !said.summary.contains("part 2 "), "{}", said.summary);
    }

    #[test]
    fn a_short_conversation_is_left_as_it_is() {
        let mut said = conversation(5);
        said.fold(ConversationLimits::default());
        assert_eq!((said.history.len(), said.summary.as_str()), (10, ""));
    }

    #[test]
    fn scripts_without_spaces_are_cut_too_and_their_sentences_end() {
        let mut said = EarlierConversation::default();
        for n in 0..40 {
            said.add("user", &format!("第{n}部分。{}", "长".repeat(3_000)));
            said.add("assistant", &"无".repeat(3_000));
            said.fold(ConversationLimits::default());
        }
        assert!(said.summary.chars().count() < 1_200, "{}", said.summary);
        assert!(said.summary.contains("User: 第34部分。\nAnswer: 无无"), "{}", said.summary);
    }

    #[test]
    fn a_conversation_with_other_words_for_its_roles_keeps_the_newest_messages() {
        for (user, answer) in [("human", "ai"), ("customer", "bot")] {
            let mut said = EarlierConversation::default();
            for n in 0..8 {
                said.add(user, &format!("Question {n}"));
                said.add(answer, &format!("Answer {n}"));
            }
            said.fold(ConversationLimits::default());
            assert_eq!((said.history.len(), said.history[0].content.as_str()), (10, "Question 3"), "{user}");
        }
    }

    #[test]
    fn no_words_means_no_summary_and_few_words_are_kept_to() {
        for most in [0, 1, 3, 10] {
            let mut said = conversation(9);
            said.fold(ConversationLimits { messages: 2, summary_words: most });
            assert!(said.summary.split_whitespace().count() <= most, "{most}: {}", said.summary);
        }
    }

    #[test]
    fn the_file_of_other_programs_is_read() {
        let text = r#"{"summary": "s", "history": [{"role": "user", "content": "hi"}, {"role": "tool", "content": "x output: 1"}]}"#;
        let said: EarlierConversation = serde_json::from_str(text).unwrap();
        assert_eq!((said.summary.as_str(), said.history.len()), ("s", 2));
    }
}
