//! Prints how long searching takes here and with tantivy, on the same chunks and questions: `cargo run --release FOLDER`.

use std::error::Error;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value};
use tantivy::{IndexReader, TantivyDocument, doc};
use updraft_knowledge::{Cancel, Index, IngestOptions, SearchRequest};

const QUESTIONS: [&str; 12] = [
    "how is a connection closed when the peer resets the stream",
    "parse a header value",
    "hash map with a custom allocator",
    "Utf8Error",
    "what happens if the buffer is too small to hold the decoded bytes",
    "atomic reference counted pointer drop",
    "time zone database lookup",
    "is this function safe to call from several threads",
    "regex that matches an empty string",
    "receive buffer overflow",
    "return the error",
    "let mut self",
];
const ROUNDS: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let root = std::env::args_os().nth(1).map(PathBuf::from).ok_or("which folder?")?;
    let folder = tempfile::tempdir()?;
    let mut ours = Index::open(&folder.path().join("index.db"))?;
    let options = IngestOptions::new(&root, SystemTime::now());
    let begun = Instant::now();
    let report = ours.ingest(&[root.clone()], &options, &mut |_| {}, &Cancel::default())?;
    ours.compact()?;
    println!("{} files, {} chunks in {:.1?}", report.files, report.chunks, begun.elapsed());
    let tantivy = Tantivy::fill(&folder.path().join("tantivy"), &ours)?;

    let (mut here, mut there) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        for question in QUESTIONS {
            let request = SearchRequest { text: question.to_owned(), ..SearchRequest::default() };
            let begun = Instant::now();
            let found = ours.search(&request, None)?.passages.len();
            let own = begun.elapsed();
            let begun = Instant::now();
            let other = tantivy.search(question)?;
            let its = begun.elapsed();
            if round == 0 {
                println!("{own:>9.1?} {its:>9.1?}  {found:>2} {other:>2}  {question}");
            } else {
                here.push(own);
                there.push(its);
            }
        }
    }
    print("ours", &mut here);
    print("tantivy", &mut there);
    Ok(())
}

fn print(name: &str, times: &mut [Duration]) {
    times.sort();
    println!("{name:<8} p50 {:.2?}  p99 {:.2?}", times[times.len() / 2], times[times.len() * 99 / 100]);
}

struct Tantivy {
    reader: IndexReader,
    parser: QueryParser,
    text: tantivy::schema::Field,
}

impl Tantivy {
    fn fill(folder: &std::path::Path, ours: &Index) -> Result<Self, Box<dyn Error>> {
        std::fs::create_dir(folder)?;
        let mut schema = Schema::builder();
        let words = TextFieldIndexing::default().set_tokenizer("en_stem");
        let words = words.set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = schema.add_text_field("text", TextOptions::default().set_indexing_options(words) | STORED);
        let index = tantivy::Index::create_in_dir(folder, schema.build())?;
        let mut writer = index.writer_with_num_threads(2, 200 << 20)?;
        let begun = Instant::now();
        for document in ours.documents()? {
            for chunk in ours.chunks_of(document.id)? {
                writer.add_document(doc!(text => chunk.text))?;
            }
        }
        writer.commit()?;
        println!("tantivy filled in {:.1?}", begun.elapsed());
        Ok(Self { reader: index.reader()?, parser: QueryParser::for_index(&index, vec![text]), text })
    }

    /// The best ten with their texts, as ours gives them.
    fn search(&self, question: &str) -> Result<usize, Box<dyn Error>> {
        let (query, _) = self.parser.parse_query_lenient(question);
        let searcher = self.reader.searcher();
        let best = searcher.search(&query, &TopDocs::with_limit(10).order_by_score())?;
        let mut bytes = 0;
        for (_, address) in &best {
            let document: TantivyDocument = searcher.doc(*address)?;
            bytes += document.get_first(self.text).and_then(|value| value.as_str()).map_or(0, str::len);
        }
        std::hint::black_box(bytes);
        Ok(best.len())
    }
}
