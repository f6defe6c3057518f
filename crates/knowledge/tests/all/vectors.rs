//! Searching by vectors, with a model that knows a few synonyms.

use std::sync::atomic::{AtomicUsize, Ordering};

use updraft_knowledge::{Cancel, DocumentFilter, Embedder, Error, SearchMethod, SearchRequest};

use crate::world::World;

/// One dimension for each group of words that mean the same.
struct Synonyms {
    name: String,
    texts: AtomicUsize,
}

const GROUPS: [&[&str]; 4] = [&["car", "automobile"], &["ship", "vessel"], &["bread", "loaf"], &["rain", "drizzle"]];

impl Synonyms {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned(), texts: AtomicUsize::new(0) }
    }

    fn texts(&self) -> usize {
        self.texts.swap(0, Ordering::Relaxed)
    }
}

impl Embedder for Synonyms {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        GROUPS.len()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, Error> {
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        let value =
            |text: &String, group: &[&str]| 0.1 + group.iter().filter(|word| text.contains(**word)).count() as f32;
        Ok(texts.iter().map(|text| GROUPS.iter().map(|group| value(text, group)).collect()).collect())
    }
}

fn world() -> World {
    World::with(&[("a.md", "the car stops\n"), ("b.md", "a ship sails\n"), ("c.md", "fresh bread\n")])
}

fn paths(world: &World, model: &Synonyms, request: &SearchRequest) -> Vec<String> {
    let answer = world.index().search(request, Some(model)).unwrap();
    answer.passages.into_iter().map(|passage| passage.path).collect()
}

#[test]
fn a_synonym_is_found_by_its_vector() {
    let world = world();
    world.ingest();
    let model = Synonyms::named("synonyms");
    let done = world.index().embed(&model, &mut |_, _| {}, &Cancel::default()).unwrap();
    assert_eq!(done, 3);
    let request = SearchRequest { text: "vessel".to_owned(), ..SearchRequest::default() };
    assert_eq!(paths(&world, &model, &request)[0], "b.md");
    let words = SearchRequest { method: SearchMethod::Words, ..request.clone() };
    assert_eq!(paths(&world, &model, &words), [""; 0]);
    let filter = DocumentFilter { path: Some("[ac].md".to_owned()), ..DocumentFilter::default() };
    assert!(!paths(&world, &model, &SearchRequest { filter, ..request }).contains(&"b.md".to_owned()));
}

#[test]
fn only_new_chunks_and_those_of_another_model_are_embedded() {
    let world = world();
    world.ingest();
    let model = Synonyms::named("synonyms");
    let embed = |model: &Synonyms| world.index().embed(model, &mut |_, _| {}, &Cancel::default()).unwrap();
    assert_eq!((embed(&model), embed(&model)), (3, 0));
    world.write("b.md", "the vessel sank in the drizzle\n");
    world.remove("c.md");
    world.ingest();
    assert_eq!((embed(&model), model.texts()), (1, 4));
    assert_eq!(world.index().totals().unwrap().vectors, 2);
    let other = Synonyms::named("other");
    let request = SearchRequest { text: "rain".to_owned(), ..SearchRequest::default() };
    assert_eq!(paths(&world, &other, &request), [""; 0], "vectors of another model are not compared");
    assert_eq!(embed(&other), 2);
    assert_eq!(paths(&world, &other, &request)[0], "b.md");
}

#[test]
fn an_index_that_is_open_sees_the_vectors_others_make() {
    let world = world();
    world.ingest();
    let model = Synonyms::named("synonyms");
    let reader = world.index();
    let request = SearchRequest { text: "loaf".to_owned(), ..SearchRequest::default() };
    assert_eq!(reader.search(&request, Some(&model)).unwrap().passages.len(), 0);
    world.index().embed(&model, &mut |_, _| {}, &Cancel::default()).unwrap();
    let best = reader.search(&request, Some(&model)).unwrap().passages.remove(0);
    assert_eq!(best.path, "c.md");
    assert!(best.why.similarity.unwrap() > 0.9, "{:?}", best.why);
}

#[test]
fn by_their_signs_first_the_same_chunks_are_found() {
    let world = world();
    world.ingest();
    let model = Synonyms::named("synonyms");
    world.index().embed(&model, &mut |_, _| {}, &Cancel::default()).unwrap();
    let request = SearchRequest { text: "vessel".to_owned(), ..SearchRequest::default() };
    let exact = world.index().search(&request, Some(&model)).unwrap();
    assert_eq!(world.index().with_most_exact(0).search(&request, Some(&model)).unwrap(), exact);
    let filter = DocumentFilter { path: Some("[ac].md".to_owned()), ..DocumentFilter::default() };
    let elsewhere =
        world.index().with_most_exact(0).search(&SearchRequest { filter, ..request }, Some(&model)).unwrap();
    assert!(elsewhere.passages.iter().all(|passage| passage.path != "b.md"), "{elsewhere:?}");
}
