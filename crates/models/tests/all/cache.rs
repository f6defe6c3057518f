//! Answers to identical requests are kept, found again, bounded, and never a reason to fail.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::json;
use updraft_models::{AnswerCache, CacheKey, Price};
use updraft_run::{Cost, FinishReason, ModelAnswer, TokenUsage, ToolCall};

fn says(text: &str) -> ModelAnswer {
    let price = Some(Price::per_million(1.0, 2.0, None, None));
    let usage = TokenUsage { input: 7, output: 9, cost: Some(Cost(25_000)), price, ..TokenUsage::default() };
    ModelAnswer {
        text: text.to_owned(),
        usage,
        opaque: vec![json!({"of": "m", "signature": "s"})],
        ..ModelAnswer::default()
    }
}

fn key(body: &str) -> CacheKey {
    CacheKey::of("openai", "/v1/chat/completions", body.as_bytes())
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let shelves = fs::read_dir(folder).into_iter().flatten().map(|shelf| shelf.unwrap().path());
    let mut files: Vec<PathBuf> =
        shelves.flat_map(|shelf| fs::read_dir(shelf).unwrap()).map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn an_answer_is_found_again_and_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cache = AnswerCache::at(folder.path().join("answers"));
    assert_eq!(cache.get(&key("a")), None);

    cache.put(&key("a"), &says("first"));
    cache.put(&key("a"), &says("second"));
    cache.put(&key("b"), &says("other"));

    let found = AnswerCache::at(folder.path().join("answers")).get(&key("a")).unwrap();
    assert_eq!(
        found,
        ModelAnswer { usage: TokenUsage { cost: Some(Cost(0)), ..TokenUsage::default() }, ..says("second") }
    );
    let files = files(&folder.path().join("answers"));
    assert_eq!(files.len(), 2);
    for file in files {
        let (shelf, name) = (file.parent().unwrap().file_name().unwrap(), file.file_name().unwrap().to_str().unwrap());
        assert_eq!((shelf.len(), name.len(), name.strip_suffix(".json").is_some()), (2, 62 + 5, true), "{name}");
    }
}

#[test]
fn another_provider_path_or_body_is_another_request() {
    let keys = [
        CacheKey::of("a", "/b", b"c"),
        CacheKey::of("a", "/b", b"d"),
        CacheKey::of("a", "/", b"bc"),
        CacheKey::of("a/", "b", b"c"),
        CacheKey::of("", "a/b", b"c"),
    ];
    for (at, one) in keys.iter().enumerate() {
        assert!(keys[at + 1..].iter().all(|other| other != one), "{at}");
    }
}

#[test]
fn only_whole_answers_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = AnswerCache::at(folder.path());
    let fault = ToolCall { id: "a".into(), name: "f".into(), args: json!({}), fault: Some("not JSON".into()) };
    for answer in [
        ModelAnswer { finish: FinishReason::Length, ..says("cut off") },
        ModelAnswer { finish: FinishReason::Filtered, ..says("withheld") },
        ModelAnswer { calls: vec![fault], ..says("garbled") },
        says(""),
    ] {
        cache.put(&key("a"), &answer);
        assert_eq!(cache.get(&key("a")), None, "{}", answer.text);
    }
    assert_eq!(files(folder.path()).len(), 0);
}

#[test]
fn what_cannot_be_read_or_written_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let cache = AnswerCache::at(folder.path());
    cache.put(&key("a"), &says("good"));
    let file = files(folder.path()).remove(0);
    for damaged in ["", "{", "{}", "[1]", r#"{"text":"half","finish":"length"}"#, "\u{0}"] {
        fs::write(&file, damaged).unwrap();
        assert_eq!(cache.get(&key("a")), None, "{damaged}");
    }
    cache.put(&key("a"), &says("good again"));
    assert_eq!(cache.get(&key("a")).unwrap().text, "good again");

    let nowhere = AnswerCache::at(file);
    nowhere.put(&key("a"), &says("lost"));
    assert_eq!(nowhere.get(&key("a")), None);
}

#[test]
fn the_oldest_go_first_beyond_the_limits() {
    let by_files = tempfile::tempdir().unwrap();
    let by_bytes = tempfile::tempdir().unwrap();
    let few = AnswerCache::holding(by_files.path(), 20, u64::MAX);
    let small = AnswerCache::holding(by_bytes.path(), 20, 4_000);
    for (cache, folder) in [(&few, by_files.path()), (&small, by_bytes.path())] {
        for number in 0_u32..60 {
            cache.put(&key(&number.to_string()), &says(&format!("{number:>200}")));
            // Their ages, however coarse the clock of the files is.
            let when = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::from(number));
            let fresh = files(folder)
                .into_iter()
                .find(|file| fs::read_to_string(file).unwrap().contains(&format!(" {number}\"")));
            fs::File::options().write(true).open(fresh.unwrap()).unwrap().set_modified(when).unwrap();
        }
        let kept: Vec<bool> = (0..60).map(|number| cache.get(&key(&number.to_string())).is_some()).collect();
        let first = kept.iter().position(|kept| *kept).unwrap();
        assert!(kept[first..].iter().all(|kept| *kept) && first >= 38, "{kept:?}");
    }
    assert!(files(by_files.path()).len() <= 20);
    let bytes: u64 = files(by_bytes.path()).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= 4_000, "{bytes}");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_them() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = tempfile::tempdir().unwrap();
    let cache = AnswerCache::at(folder.path().join("answers"));
    cache.put(&key("a"), &says("mine"));

    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let file = files(&folder.path().join("answers")).remove(0);
    assert_eq!(
        (mode(&file), mode(file.parent().unwrap()), mode(&folder.path().join("answers"))),
        (0o600, 0o700, 0o700)
    );
}

#[test]
fn many_at_once_never_read_half_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let cache = AnswerCache::at(folder.path());
    std::thread::scope(|threads| {
        for letter in ["a", "b", "c", "d"] {
            let cache = cache.clone();
            threads.spawn(move || {
                let long = says(&letter.repeat(50_000));
                for _ in 0..50 {
                    cache.put(&key("same"), &long);
                    let found = cache.get(&key("same")).unwrap().text;
                    assert!(found.len() == 50_000 && found.chars().all(|other| found.starts_with(other)));
                }
            });
        }
    });
    assert_eq!(files(folder.path()).len(), 1);
}
