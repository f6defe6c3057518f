//! Words that say nothing about a subject. They are indexed, but a question is not searched by them.

/// English only: in other languages the frequency of a word in the index does most of this work.
const STOP_WORDS: [&str; 104] = [
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "d", "did", "do", "does", "for", "from", "had", "has", "have", "he", "her", "his", "how", "i",
    "if", "in", "into", "is", "it", "its", "ll", "may", "me", "might", "must", "my", "no", "not", "of", "on", "or",
    "our", "re", "s", "shall", "she", "should", "so", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "to", "ve", "very", "was", "we", "were", "what", "when", "where", "which", "who",
    "why", "will", "with", "would", "you", "your", "yours", "us", "him", "hers", "those", "while", "because",
    "through", "over", "under", "between", "after", "before", "during", "each", "other", "some", "only", "own",
];

/// Whether a folded word is one of them.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}
