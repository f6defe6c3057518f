//! The keyboard: text as single keys, and keys by name.

use serde_json::{Value, json};

use crate::error::Error;
use crate::tab::Tab;

/// Longer texts are inserted at once instead of key by key.
const MOST_KEYS: usize = 2000;

/// Name, code of the system, and the text it enters.
const NAMED: [(&str, u32, &str); 28] = [
    ("Enter", 13, "\r"),
    ("Tab", 9, ""),
    ("Escape", 27, ""),
    ("Backspace", 8, ""),
    ("Delete", 46, ""),
    ("Insert", 45, ""),
    ("Space", 32, " "),
    ("ArrowLeft", 37, ""),
    ("ArrowUp", 38, ""),
    ("ArrowRight", 39, ""),
    ("ArrowDown", 40, ""),
    ("PageUp", 33, ""),
    ("PageDown", 34, ""),
    ("End", 35, ""),
    ("Home", 36, ""),
    ("F1", 112, ""),
    ("F2", 113, ""),
    ("F3", 114, ""),
    ("F4", 115, ""),
    ("F5", 116, ""),
    ("F6", 117, ""),
    ("F7", 118, ""),
    ("F8", 119, ""),
    ("F9", 120, ""),
    ("F10", 121, ""),
    ("F11", 122, ""),
    ("F12", 123, ""),
    ("ContextMenu", 93, ""),
];

/// Names, bit in `modifiers`, code of the system.
const MODIFIERS: [(&str, u32, u32); 7] = [
    ("Alt", 1, 18),
    ("Control", 2, 17),
    ("Ctrl", 2, 17),
    ("Meta", 4, 91),
    ("Cmd", 4, 91),
    ("Command", 4, 91),
    ("Shift", 8, 16),
];

/// A key with its modifiers.
#[derive(Debug, PartialEq, Eq)]
struct KeyStroke {
    key: String,
    code: u32,
    text: String,
    modifiers: u32,
}

impl Tab {
    /// Types a text key by key into what has the focus.
    pub async fn type_text(&self, text: &str) -> Result<(), Error> {
        self.act(self.enter(text)).await
    }

    /// Presses keys one after the other: `Enter`, `a`, `Control+a`, `Shift+ArrowDown`.
    pub async fn press(&self, keys: &[&str]) -> Result<(), Error> {
        let strokes: Result<Vec<KeyStroke>, Error> = keys.iter().map(|key| parse(key)).collect();
        let strokes = strokes?;
        self.act(async {
            for stroke in &strokes {
                self.stroke(stroke).await?;
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn enter(&self, text: &str) -> Result<(), Error> {
        if text.chars().count() > MOST_KEYS {
            return self.insert(text).await;
        }
        for character in text.chars() {
            match character {
                '\r' => {}
                '\n' => self.stroke(&parse("Enter")?).await?,
                '\t' => self.stroke(&parse("Tab")?).await?,
                _ if character.is_ascii() => self.stroke(&of_character(character)).await?,
                // There is no key for it on the keyboards we know.
                _ => self.insert(&character.to_string()).await?,
            }
        }
        Ok(())
    }

    pub(crate) async fn insert(&self, text: &str) -> Result<(), Error> {
        self.call("Input.insertText", json!({"text": text})).await.map(drop)
    }

    /// Presses a key without waiting for what follows.
    pub(crate) async fn stroke_named(&self, key: &str) -> Result<(), Error> {
        self.stroke(&parse(key)?).await
    }

    async fn stroke(&self, stroke: &KeyStroke) -> Result<(), Error> {
        let held: Vec<(&str, u32, u32)> =
            ["Alt", "Control", "Meta", "Shift"].iter().filter_map(|name| modifier(name)).collect();
        let held = held.into_iter().filter(|(_, bit, _)| stroke.modifiers & bit != 0);
        let held: Vec<Value> = held
            .map(|(name, _, code)| json!({"key": name, "windowsVirtualKeyCode": code, "code": format!("{name}Left")}))
            .collect();
        for key in &held {
            self.key_event("keyDown", key, stroke.modifiers).await?;
        }
        let mut down = json!({"key": stroke.key, "windowsVirtualKeyCode": stroke.code, "code": code_name(stroke)});
        let up = down.clone();
        // With Control, Alt or Meta a key is a command and enters nothing.
        if !stroke.text.is_empty() && !is_command(stroke.modifiers) {
            down["text"] = stroke.text.as_str().into();
        }
        self.key_event("keyDown", &down, stroke.modifiers).await?;
        self.key_event("keyUp", &up, stroke.modifiers).await?;
        for key in held.iter().rev() {
            self.key_event("keyUp", key, 0).await?;
        }
        Ok(())
    }

    async fn key_event(&self, kind: &str, key: &Value, modifiers: u32) -> Result<(), Error> {
        let mut event = key.clone();
        event["type"] = kind.into();
        event["modifiers"] = modifiers.into();
        self.call("Input.dispatchKeyEvent", event).await.map(drop)
    }
}

/// Whether Alt, Control or Meta is held.
fn is_command(modifiers: u32) -> bool {
    modifiers & 0b111 != 0
}

fn modifier(name: &str) -> Option<(&'static str, u32, u32)> {
    MODIFIERS.into_iter().find(|(known, ..)| known.eq_ignore_ascii_case(name))
}

fn parse(text: &str) -> Result<KeyStroke, Error> {
    let bad = || Error::NoSuchKey { key: text.chars().take(40).collect() };
    let (mut rest, mut modifiers) = (text, 0);
    while let Some((first, others)) = rest.split_once('+').filter(|(_, others)| !others.is_empty()) {
        modifiers |= modifier(first).ok_or_else(bad)?.1;
        rest = others;
    }
    let named = NAMED.iter().find(|(name, ..)| name.eq_ignore_ascii_case(rest));
    let short = [("Esc", "Escape"), ("Return", "Enter"), ("Left", "ArrowLeft"), ("Right", "ArrowRight")];
    let short = short.into_iter().chain([("Up", "ArrowUp"), ("Down", "ArrowDown"), ("Del", "Delete")]);
    let mut short = short.filter(|(name, _)| name.eq_ignore_ascii_case(rest));
    let named = named.or_else(|| short.next().and_then(|(_, long)| NAMED.iter().find(|(name, ..)| *name == long)));
    if let Some(&(name, code, text)) = named {
        let key = if name == "Space" { " " } else { name };
        return Ok(KeyStroke { key: key.to_owned(), code, text: text.to_owned(), modifiers });
    }
    if let Some((name, bit, code)) = modifier(rest) {
        return Ok(KeyStroke { key: name.to_owned(), code, text: String::new(), modifiers: modifiers | bit });
    }
    let mut characters = rest.chars();
    let (Some(character), None) = (characters.next(), characters.next()) else { return Err(bad()) };
    // Whoever writes `Control+A` means the key, not the capital.
    let mut stroke = of_character(if is_command(modifiers) { character.to_ascii_lowercase() } else { character });
    stroke.modifiers |= modifiers;
    Ok(stroke)
}

fn of_character(character: char) -> KeyStroke {
    let code = match character {
        'a'..='z' | 'A'..='Z' => u32::from(character.to_ascii_uppercase()),
        '0'..='9' | ' ' => u32::from(character),
        ';' | ':' => 186,
        '=' | '+' => 187,
        ',' | '<' => 188,
        '-' | '_' => 189,
        '.' | '>' => 190,
        '/' | '?' => 191,
        '`' | '~' => 192,
        '[' | '{' => 219,
        '\\' | '|' => 220,
        ']' | '}' => 221,
        '\'' | '"' => 222,
        '!' => 49,
        '@' => 50,
        '#' => 51,
        '$' => 52,
        '%' => 53,
        '^' => 54,
        '&' => 55,
        '*' => 56,
        '(' => 57,
        ')' => 48,
        _ => 0,
    };
    let modifiers = if character.is_ascii_uppercase() { 8 } else { 0 };
    KeyStroke { key: character.to_string(), code, text: character.to_string(), modifiers }
}

/// The place on the keyboard, as `KeyboardEvent.code` names it.
fn code_name(stroke: &KeyStroke) -> String {
    match char::from_u32(stroke.code) {
        Some(letter) if letter.is_ascii_uppercase() && stroke.key.len() == 1 => format!("Key{letter}"),
        Some(digit) if digit.is_ascii_digit() && stroke.key.len() == 1 => format!("Digit{digit}"),
        Some(' ') => "Space".to_owned(),
        _ if stroke.key.len() > 1 => stroke.key.clone(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_with_their_modifiers() {
        let stroke = |key: &str, code, text: &str, modifiers| KeyStroke {
            key: key.to_owned(),
            code,
            text: text.to_owned(),
            modifiers,
        };
        assert_eq!(parse("control+A").unwrap(), stroke("a", 65, "a", 2));
        assert_eq!(parse("Shift+down").unwrap(), stroke("ArrowDown", 40, "", 8));
        assert_eq!(parse("+").unwrap(), stroke("+", 187, "+", 0));
        assert_eq!(parse("Ctrl++").unwrap(), stroke("+", 187, "+", 2));
        assert!(parse("Hyper+x").is_err() && parse("abc").is_err() && parse("").is_err());
    }
}
