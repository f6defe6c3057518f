//! Vectors by a provider: made, searched, and made anew by another model; a server on loopback plays the provider.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::world::{Ran, World};

/// A model that knows two things: weaving and seafaring.
struct Provider {
    address: String,
    requests: Arc<AtomicUsize>,
}

fn provider() -> Provider {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    // It ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counted = Arc::clone(&counted);
            std::thread::spawn(move || serve(&stream, &counted));
        }
    });
    Provider { address, requests }
}

fn serve(stream: &TcpStream, counted: &AtomicUsize) {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut length, mut line) = (0, String::new());
        while reader.read_line(&mut line).unwrap_or(0) > 2 {
            let header = line.to_lowercase();
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if length == 0 || reader.read_exact(&mut body).is_err() {
            return;
        }
        counted.fetch_add(1, Ordering::Relaxed);
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let vector = |text: &Value| {
            let text = text.as_str().unwrap().to_lowercase();
            let about = |words: &[&str]| words.iter().filter(|word| text.contains(**word)).count() as f64;
            json!([about(&["loom", "cloth", "weav"]) + 0.01, about(&["ship", "sea", "sail"]) + 0.01])
        };
        let vectors: Vec<Value> = asked["input"].as_array().unwrap().iter().map(vector).collect();
        let answer = json!({ "embeddings": vectors }).to_string();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", answer.len());
        let mut writer = stream;
        let _ = writer.write_all(head.as_bytes()).and_then(|()| writer.write_all(answer.as_bytes()));
    }
}

fn ran(world: &World, provider: &Provider, args: &[&str]) -> Ran {
    Ran::of(world.command(args).env("OLLAMA_HOST", &provider.address).output().unwrap())
}

fn answer(ran: &Ran) -> Value {
    assert_eq!(ran.code, 0, "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_provider_makes_vectors_once_and_another_model_makes_its_own() {
    let (world, provider) = (World::new(), provider());
    world.file("weaving.md", "A shuttle runs over the loom and makes cloth.\n");
    world.file("ships.md", "The brig left the harbour under full sail.\n");
    world.config("config.toml", "[knowledge]\nembeddings = \"ollama/two-things\"\n");
    let report = answer(&ran(&world, &provider, &["ingest", "--json"]));
    assert_eq!((&report["all_passages"], &report["vectors"]), (&json!(3), &json!(3)));
    let found = answer(&ran(&world, &provider, &["search", "--json", "--vectors", "weaver"]));
    assert_eq!(found["passages"][0]["path"], "weaving.md", "{found}");
    assert!(found["passages"][0]["why"].to_string().contains("similarity"), "{found}");
    // The tool runs inside of a runtime.
    let call = ran(&world, &provider, &["tools", "call", "--json", "retrieve", "{\"query\": \"seafaring\"}"]);
    assert_eq!(answer(&call)["reply"]["output"]["value"]["passages"][0]["path"], "ships.md", "{}", call.out);

    let before = provider.requests.load(Ordering::Relaxed);
    let again = answer(&ran(&world, &provider, &["ingest", "--json"]));
    assert_eq!((&again["written"], &again["vectors"]), (&json!(0), &json!(3)));
    assert_eq!(provider.requests.load(Ordering::Relaxed) - before, 1, "only the length of its vectors is asked");
    world.config("config.toml", "[knowledge]\nembeddings = \"ollama/others\"\n");
    answer(&ran(&world, &provider, &["ingest", "--json"]));
    assert_eq!(provider.requests.load(Ordering::Relaxed) - before, 3, "another model makes all of them anew");
}

#[test]
fn words_decide_where_the_provider_is_not_there() {
    let world = World::new();
    world.config("config.toml", "[knowledge]\nembeddings = \"ollama/two-things\"\n");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    drop(nobody);
    let gone = Provider { address, requests: Arc::default() };
    let found = ran(&world, &gone, &["search", "hello"]);
    assert_eq!(found.code, 0, "{}", found.err);
    assert!(found.out.starts_with("a.txt:1"), "{}", found.out);
    assert!(
        found.err.contains("searched by words only") && found.err.contains("is the server running?"),
        "{}",
        found.err
    );
}
