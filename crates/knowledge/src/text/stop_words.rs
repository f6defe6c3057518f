//! Words that say nothing about a subject. They are indexed, but a question is not searched by them.

/// In alphabetical order. English only: in other languages the frequency of a word in the index does most of this work.
const STOP_WORDS: [&str; 104] = [
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "between", "but", "by", "can", "could", "d", "did", "do", "does", "during", "each", "for",
    "from", "had", "has", "have", "he", "her", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "ll", "may", "me", "might", "must", "my", "no", "not", "of", "on", "only", "or", "other", "our", "over", "own",
    "re", "s", "shall", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "through", "to", "under", "us", "ve", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "why", "will", "with", "would", "you", "your", "yours",
];

/// Whether a folded word is one of them.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(STOP_WORDS.is_sorted());
    }
}
