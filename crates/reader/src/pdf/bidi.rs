//! Text in scripts that run from right to left: from the order on the page to the order of reading.

/// Puts pieces that stand from left to right into the order in which they are read.
pub(super) fn logical(pieces: &[String]) -> String {
    let count = |test: fn(char) -> bool| pieces.iter().flat_map(|piece| piece.chars()).filter(|c| test(*c)).count();
    let backward = count(is_backward_letter);
    if backward == 0 {
        return pieces.concat();
    }
    let forward = count(is_forward);
    if backward >= forward { backward_line(pieces) } else { forward_line(pieces) }
}

/// Whether text runs to the left, by most of its letters.
pub(super) fn is_backward(text: &str) -> bool {
    let backward = text.chars().filter(|c| is_backward_letter(*c)).count();
    backward > 0 && backward * 2 >= text.chars().filter(|c| c.is_alphabetic()).count()
}

/// A line that runs to the left, with numbers and foreign words that run to the right.
fn backward_line(pieces: &[String]) -> String {
    let mut text = String::new();
    let mut end = pieces.len();
    while end > 0 {
        let is_forward_piece = |piece: &String| piece.chars().any(|c| is_forward(c) || is_digit(c));
        if !is_forward_piece(&pieces[end - 1]) {
            text.push_str(&mirrored(&pieces[end - 1]));
            end -= 1;
            continue;
        }
        // A run to the right: words and numbers, with what stands between two of them.
        let mut start = end - 1;
        let mut last_forward = start;
        while start > 0 && !pieces[start - 1].chars().any(is_backward_letter) {
            start -= 1;
            if is_forward_piece(&pieces[start]) {
                last_forward = start;
            }
        }
        pieces[last_forward..end].iter().for_each(|piece| text.push_str(piece));
        end = last_forward;
    }
    text
}

/// A line that runs to the right, with words that run to the left.
fn forward_line(pieces: &[String]) -> String {
    let mut text = String::new();
    let mut start = 0;
    while start < pieces.len() {
        if !pieces[start].chars().any(is_backward_letter) {
            text.push_str(&pieces[start]);
            start += 1;
            continue;
        }
        let mut end = start + 1;
        let mut last_backward = end;
        while end < pieces.len() && !pieces[end].chars().any(|c| is_forward(c) || is_digit(c)) {
            end += 1;
            if pieces[end - 1].chars().any(is_backward_letter) {
                last_backward = end;
            }
        }
        pieces[start..last_backward].iter().rev().for_each(|piece| text.push_str(&mirrored(piece)));
        start = last_backward;
    }
    text
}

/// Brackets open to the other side in text that runs to the left.
fn mirrored(piece: &str) -> String {
    let mirror = |c| match c {
        '(' => ')',
        ')' => '(',
        '[' => ']',
        ']' => '[',
        '{' => '}',
        '}' => '{',
        '<' => '>',
        '>' => '<',
        '«' => '»',
        '»' => '«',
        other => other,
    };
    piece.chars().map(mirror).collect()
}

fn is_backward_letter(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{65f}' | '\u{66a}'..='\u{6ef}' | '\u{6fa}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}')
}

fn is_forward(c: char) -> bool {
    c.is_alphabetic() && !is_backward_letter(c)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '\u{660}'..='\u{669}' | '\u{6f0}'..='\u{6f9}')
}

/// Arabic letters by the number of their forms, in the order in which Unicode lists the forms from U+FE80 on.
const ARABIC_FORMS: [(char, u32); 36] = [
    ('ء', 1),
    ('آ', 2),
    ('أ', 2),
    ('ؤ', 2),
    ('إ', 2),
    ('ئ', 4),
    ('ا', 2),
    ('ب', 4),
    ('ة', 2),
    ('ت', 4),
    ('ث', 4),
    ('ج', 4),
    ('ح', 4),
    ('خ', 4),
    ('د', 2),
    ('ذ', 2),
    ('ر', 2),
    ('ز', 2),
    ('س', 4),
    ('ش', 4),
    ('ص', 4),
    ('ض', 4),
    ('ط', 4),
    ('ظ', 4),
    ('ع', 4),
    ('غ', 4),
    ('ف', 4),
    ('ق', 4),
    ('ك', 4),
    ('ل', 4),
    ('م', 4),
    ('ن', 4),
    ('ه', 4),
    ('و', 2),
    ('ى', 2),
    ('ي', 4),
];

/// Letters instead of their printed forms: `fi` for the ligature, one letter for its four Arabic shapes.
pub(super) fn plain_letters(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ﬀ' => plain.push_str("ff"),
            'ﬁ' => plain.push_str("fi"),
            'ﬂ' => plain.push_str("fl"),
            'ﬃ' => plain.push_str("ffi"),
            'ﬄ' => plain.push_str("ffl"),
            'ﬅ' | 'ﬆ' => plain.push_str("st"),
            '\u{fef5}'..='\u{fefc}' => {
                plain.push('ل');
                plain.push(['آ', 'أ', 'إ', 'ا'][(c as usize - 0xfef5) / 2]);
            }
            '\u{fe80}'..='\u{fef4}' => plain.push(arabic_letter(c)),
            '\u{a0}' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

fn arabic_letter(form: char) -> char {
    let mut first = 0xfe80;
    for (letter, forms) in ARABIC_FORMS {
        if (form as u32) < first + forms {
            return letter;
        }
        first += forms;
    }
    form
}
