//! What was altered, in the journal or in the rules, is named.

use super::{gives_everything_again, id, stamped};
use crate::support::World;
use rusqlite::{Connection, params};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use updraft_engine::{DifferenceKind, ReplayReport, replay};
use updraft_run::{EffectAddress, EffectKind};

/// The journal as a file, to be altered behind the engine's back.
struct Tampering {
    world: World,
    run: &'static str,
}

impl Tampering {
    /// A run of the script, at rest on disk.
    async fn with_the_script() -> Self {
        let world = World::quick();
        let engine = stamped(&world, "altered", None).await;
        gives_everything_again(&engine, "altered");
        engine.journal().clone().close().await;
        Self { world, run: "altered" }
    }

    fn file(&self) -> Connection {
        Connection::open(self.world.folder.path().join("journal.db")).unwrap()
    }

    /// The records: their key, the number of their first event, and their text.
    fn records(&self) -> Vec<(i64, u64, Value)> {
        let file = self.file();
        let mut rows = file
            .prepare("SELECT r.id, r.seq, r.body FROM records r JOIN runs ON runs.id = r.run WHERE runs.name = ?1 ORDER BY r.id")
            .unwrap();
        let found = rows
            .query_map([self.run], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, Vec<u8>>(2)?)))
            .unwrap();
        found
            .map(|row| row.unwrap())
            .map(|(key, seq, body)| (key, seq, serde_json::from_slice(&body).unwrap()))
            .collect()
    }

    fn write(&self, key: i64, body: &Value) {
        let text = serde_json::to_vec(body).unwrap();
        assert_eq!(self.file().execute("UPDATE records SET body = ?2 WHERE id = ?1", params![key, text]).unwrap(), 1);
        // Without hashes, as in journals of older versions; with them it would be refused before it is compared.
        self.file().execute("UPDATE records SET chain = NULL", []).unwrap();
        let _ = std::fs::remove_file(self.world.folder.path().join("journal.db-heads"));
    }

    /// Alters the first event that `alter` says it altered, and tells its number.
    fn alter(&self, mut alter: impl FnMut(&str, &mut Value) -> bool) -> u64 {
        for (key, seq, mut body) in self.records() {
            for (n, event) in body["e"].as_array_mut().unwrap().iter_mut().enumerate() {
                let Some((name, inside)) = event.as_object_mut().and_then(|event| event.iter_mut().next()) else {
                    continue;
                };
                if alter(name, inside) {
                    self.write(key, &body);
                    return seq + n as u64;
                }
            }
        }
        panic!("there is no such event");
    }

    fn replay(&self) -> Result<ReplayReport, updraft_engine::Error> {
        replay(&self.world.journal(), &id(self.run))
    }

    /// The first difference: its number, and the event as it was decided now, or the question whose prompt differs.
    fn first_difference(&self) -> (u64, String) {
        let first = self.replay().unwrap().differences.into_iter().next().unwrap();
        let what = match first.what {
            DifferenceKind::Event { decided, .. } => decided.unwrap_or_default(),
            DifferenceKind::Prompt { id, .. } => format!("prompt of {id}"),
        };
        (first.event, what)
    }
}

/// Changes something in an event; false for those that have nothing to change.
fn spoil(name: &str, event: &mut Value) -> bool {
    let longer = |value: &mut Value| *value = json!(format!("{}x", value.as_str().unwrap()));
    match name {
        "planned" => event["graph"]["steps"][0]["prompt"] = json!("something else"),
        "finished" => longer(&mut event["answer"]),
        "exhausted" => event["which"] = json!("calls"),
        "cancelled" => longer(&mut event["by"]),
        "profiled" => event["files"] = json!("others"),
        _ if event.get("id").is_some() => {
            let mut at: EffectAddress = event["id"].as_str().unwrap().parse().unwrap();
            at.turn += 7;
            event["id"] = json!(at.to_string());
        }
        _ if event.get("step").is_some() => longer(&mut event["step"]),
        _ => return false,
    }
    true
}

#[tokio::test]
async fn any_one_decision_that_was_altered_is_named() {
    let tampering = Tampering::with_the_script().await;
    let mut kinds = std::collections::BTreeSet::new();
    for (key, seq, body) in tampering.records() {
        // What stands first and tells the input itself is no decision.
        let first = usize::from(body.get("i").is_none());
        for n in first..body["e"].as_array().unwrap().len() {
            let mut altered = body.clone();
            let Some((name, inside)) = altered["e"][n].as_object_mut().and_then(|event| event.iter_mut().next()) else {
                continue;
            };
            let name = name.clone();
            if !spoil(&name, inside) {
                continue;
            }
            tampering.write(key, &altered);
            let (event, _) = tampering.first_difference();
            assert_eq!(event, seq + n as u64, "{name} in {altered}");
            kinds.insert(name);
            tampering.write(key, &body);
        }
    }
    assert_eq!(tampering.replay().unwrap().differences, []);
    assert!(kinds.len() >= 6, "{kinds:?}");
}

#[tokio::test]
async fn an_answer_that_was_altered_is_named_where_it_was_used() {
    let tampering = Tampering::with_the_script().await;
    let replied = tampering.alter(|name, event| {
        let text = &mut event["reply"]["answer"]["text"];
        let is_it = name == "replied" && text == "one is done";
        if is_it {
            *text = json!("one is gone");
        }
        is_it
    });
    let (event, decided) = tampering.first_difference();
    assert!(event > replied && event < replied + 3, "{event} after {replied}");
    assert!(decided.contains("wrote") && decided.contains("one is gone"), "{decided}");
}

#[tokio::test]
async fn a_result_that_was_altered_is_named_by_the_prompt_that_holds_it() {
    let tampering = Tampering::with_the_script().await;
    let replied = tampering.alter(|name, event| {
        let text = &mut event["reply"]["output"]["text"];
        let is_it = name == "replied" && text == "looked at two";
        if is_it {
            *text = json!("looked away");
        }
        is_it
    });
    let (event, what) = tampering.first_difference();
    assert!(event > replied);
    assert_eq!(what, "prompt of two/0/1/ask.0");
}

#[tokio::test]
async fn a_prompt_hash_that_was_altered_is_named() {
    let tampering = Tampering::with_the_script().await;
    let begun = tampering.alter(|name, event| {
        let is_it = name == "begun" && event["facts"]["prompt"].is_string();
        if is_it {
            event["facts"]["prompt"] = json!("0".repeat(64));
        }
        is_it
    });
    assert_eq!(tampering.first_difference(), (begun, "prompt of plan/0/0/ask.0".to_owned()));
    assert_eq!(tampering.replay().unwrap().differences.len(), 1);
}

#[tokio::test]
async fn rules_that_decide_otherwise_are_named_by_the_first_event_that_differs() {
    let tampering = Tampering::with_the_script().await;
    tampering.alter(|name, event| {
        let is_it = name == "started";
        if is_it {
            assert_eq!(event["settings"]["turns"], 15);
            event["settings"]["turns"] = json!(2);
        }
        is_it
    });
    let (event, decided) = tampering.first_difference();
    assert!(decided.contains("last_turn"), "{decided}");
    // Until then the rules are the same: the events before it are all there.
    let before = tampering.records().into_iter().filter(|(_, seq, _)| *seq <= event);
    let before: Vec<Value> = before.flat_map(|(_, _, body)| body["e"].as_array().unwrap().clone()).collect();
    let wanted = &before[event as usize - 1];
    let at: EffectAddress = wanted["wanted"]["id"].as_str().unwrap().parse().unwrap();
    assert_eq!((at.turn, at.kind), (1, EffectKind::Ask), "{wanted}");
}

#[tokio::test]
async fn words_that_were_altered_are_named_by_the_first_prompt_made_of_them() {
    let tampering = Tampering::with_the_script().await;
    let file = tampering.file();
    let (_, _, first) = tampering.records().remove(0);
    let old = first["e"][0]["started"]["roster"]["words"].as_str().unwrap().to_owned();
    let old: updraft_run::ContentHash = old.parse().unwrap();
    let bytes: Vec<u8> = file.query_row("SELECT body FROM blobs WHERE hash = ?1", [old.0], |row| row.get(0)).unwrap();
    let mut words: Value = serde_json::from_slice(&bytes).unwrap();
    words["agents"]["stamper"]["prompt"] = json!("Do not work.");
    let bytes = serde_json::to_vec(&words).unwrap();
    let hash: [u8; 32] = Sha256::digest(&bytes).into();

    // In its old place the blob is refused: its content has another hash.
    file.execute("UPDATE blobs SET body = ?2 WHERE hash = ?1", params![old.0, bytes]).unwrap();
    let refused = tampering.replay().unwrap_err().to_string();
    assert!(refused.contains("damaged"), "{refused}");

    file.execute("INSERT INTO blobs(hash, len, body) VALUES(?1, ?2, ?3)", params![hash, bytes.len() as i64, bytes])
        .unwrap();
    tampering.alter(|name, event| {
        let is_it = name == "started";
        if is_it {
            event["roster"]["words"] = json!(updraft_run::ContentHash(hash).to_string());
        }
        is_it
    });
    let (_, what) = tampering.first_difference();
    assert_eq!(what, "prompt of one/0/0/ask.0");
    let all = tampering.replay().unwrap().differences;
    let stampers = |what: &DifferenceKind| matches!(what, DifferenceKind::Prompt { id, .. } if ["one", "two", "around"].contains(&id.step.as_str()));
    assert!(all.len() >= 6 && all.iter().all(|difference| stampers(&difference.what)), "{all:?}");
}
