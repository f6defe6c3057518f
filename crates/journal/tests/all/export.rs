//! A run as lines of JSON.

use updraft_journal::{Batch, Blob, Error, Journal, parse_export};

use crate::world::{World, head, run, says};

async fn filled(world: &World) -> Journal {
    let journal = world.journal();
    let blobs = vec![Blob::new("plain text\n".as_bytes()), Blob::new(vec![0xff, 0, 1]), Blob::new(vec![b'x'; 2 << 20])];
    let records = vec![says(1, "a", 2), says(2, "b", 0), says(3, &"long ".repeat(20_000), 1)];
    let lease = journal.create(head("r"), Batch { records, blobs, ..Batch::default() }).await.unwrap();
    journal.release(lease).await.unwrap();
    journal
}

fn exported(journal: &Journal) -> Vec<u8> {
    let mut lines = Vec::new();
    journal.export_jsonl(&run("r"), &mut lines).unwrap();
    lines
}

#[tokio::test]
async fn an_export_imported_elsewhere_exports_the_same() {
    let (here, there) = (World::new(), World::new());
    let journal = filled(&here).await;
    let lines = exported(&journal);

    let export = parse_export(&mut lines.as_slice()).unwrap();
    assert_eq!(export.blobs.len(), 3, "the long record's text is not repeated");
    let other = there.journal();
    other.import(export.head, export.records, export.blobs).await.unwrap();

    assert_eq!(other.load(&run("r")).unwrap(), journal.load(&run("r")).unwrap());
    assert_eq!(exported(&other), lines);
    assert_eq!(other.owner(&run("r")).unwrap(), None);
}

#[tokio::test]
async fn the_lines_can_be_read_by_anyone() {
    let world = World::new();
    let lines = String::from_utf8(exported(&filled(&world).await)).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"updraft":1,"run":"r","goal":"the goal of r","workspace":"","model":"","status":"running","created":1000,"version":"0.2.0"}"#
    );
    assert_eq!(
        lines[1],
        r#"{"seq":1,"at":1,"i":{"tell":{"message":"a"}},"e":[{"told":{"message":"a 0"}},{"told":{"message":"a 1"}}]}"#
    );
    assert_eq!(lines[2], r#"{"seq":3,"at":2,"i":{"tell":{"message":"b"}},"e":[]}"#);
    assert!(lines.iter().any(|line| line.starts_with(r#"{"blob":""#) && line.ends_with(r#","base64":"/wAB"}"#)));
    assert!(lines.iter().any(|line| line.ends_with(r#","text":"plain text\n"}"#)));
}

#[tokio::test]
async fn importing_does_not_touch_a_run_that_is_there() {
    let world = World::new();
    let journal = filled(&world).await;
    let mut export = parse_export(&mut exported(&journal).as_slice()).unwrap();
    let again = journal.import(export.head.clone(), export.records.clone(), export.blobs.clone()).await;
    assert!(matches!(again, Err(Error::Exists(_))));
    export.head.id = run("copy");
    journal.import(export.head, export.records, export.blobs).await.unwrap();
    assert_eq!(journal.load(&run("copy")).unwrap(), journal.load(&run("r")).unwrap());
}

#[tokio::test]
async fn a_faulty_line_is_named() {
    let world = World::new();
    let lines = String::from_utf8(exported(&filled(&world).await)).unwrap();
    let fault =
        |from: &str, to: &str| parse_export(&mut lines.replacen(from, to, 1).as_bytes()).unwrap_err().to_string();
    assert_eq!(fault("\"seq\":3", "\"seq\":4"), "line 3 of the export: it should begin with event 3 and begins with 4");
    assert_eq!(
        fault("\"updraft\":1", "\"updraft\":2"),
        "line 1 of the export: it has form 2 of Updraft 0.2.0; known here: 1"
    );
    assert!(fault("plain text", "other text").contains("its content has the hash"));
    assert_eq!(parse_export(&mut &b""[..]).unwrap_err().to_string(), "line 1 of the export: it is empty");
    assert!(parse_export(&mut &b"\xff\xfe\n"[..]).unwrap_err().to_string().starts_with("line 1 of the export"));
}
