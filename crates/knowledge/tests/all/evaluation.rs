//! Measuring, on a collection small enough to count by hand.

use std::fs;

use updraft_knowledge::Collection;

use crate::world::World;

#[test]
fn quality_is_counted_as_the_literature_does() {
    let world = World::new();
    let write = |name: &str, text: &str| fs::write(world.root().join(name), text).unwrap();
    write(
        "documents.jsonl",
        "{\"id\": 1, \"title\": \"\", \"text\": \"red apple apple\"}\n{\"id\": 2, \"title\": \"\", \"text\": \"green apple\"}\n\
         {\"id\": 3, \"title\": \"\", \"text\": \"blue berry and nothing else\"}\n",
    );
    write("questions.jsonl", "{\"id\": \"a\", \"text\": \"berry\"}\n{\"id\": \"b\", \"text\": \"red apple\"}\n");
    write("judgements.tsv", "a\t3\t1\nb\t2\t1\n");
    let collection = Collection::read(&world.root()).unwrap();
    let mut index = world.index();
    collection.fill(&mut index).unwrap();
    let report = collection.measure(&index, None).unwrap();
    // The first question has its document in front, the second in the second place.
    let expected = f64::midpoint(1.0, 1.0 / 3f64.log2());
    assert!((report.words.ndcg_10 - expected).abs() < 1e-9, "{report:?}");
    assert_eq!((report.words.recall_10, report.vectors), (1.0, None));
}
