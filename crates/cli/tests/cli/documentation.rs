//! Every code block of README.md and docs/*.md is run or parsed, page by page, in a scratch folder with an empty home.
//!
//! What a block is tested as, and the comments before it that change this, are in CONTRIBUTING.md.

mod blocks;
mod page_script;
mod scratch;

use std::path::{Path, PathBuf};

use blocks::Block;

/// How many blocks may be left unrun. It may only become smaller.
const MOST_NOT_RUN: usize = 22;

/// How many pages are tried at the same time.
const AT_ONCE: usize = 3;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The pages with their text, by the name that people use for them.
fn pages() -> Vec<(String, String)> {
    let root = root();
    let mut names = vec!["README.md".to_owned()];
    for entry in std::fs::read_dir(root.join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "md") {
            names.push(format!("docs/{}", path.file_name().unwrap().to_str().unwrap()));
        }
    }
    names.sort();
    let text = |name: &String| std::fs::read_to_string(root.join(name)).unwrap();
    names.iter().map(|name| (name.clone(), text(name))).collect()
}

#[test]
fn every_block_of_the_documentation_works() {
    // UPDRAFT_TEST_PAGE=docs/plans.md tries one page alone.
    let only = std::env::var("UPDRAFT_TEST_PAGE").ok();
    let wanted = |name: &str| only.as_deref().is_none_or(|only| only == name);
    let pages: Vec<(String, String)> = pages().into_iter().filter(|(name, _)| wanted(name)).collect();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let faults = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((name, text)) = pages.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let found = faults_of(name, text);
                    faults.lock().unwrap().extend(found);
                }
            });
        }
    });
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{}\n{} to put right", faults.join("\n\n"), faults.len());
}

/// What is wrong with the blocks of a page.
fn faults_of(name: &str, text: &str) -> Vec<String> {
    match blocks::in_page(name, text) {
        Ok(blocks) => scratch::try_page(name, &blocks),
        Err(faults) => faults,
    }
}

#[test]
fn few_blocks_are_left_unrun_and_each_says_why() {
    let blocks = |(name, text): &(String, String)| blocks::in_page(name, text).unwrap_or_default();
    let left: Vec<Block> = pages().iter().flat_map(blocks).filter(|block| block.notes.not_run.is_some()).collect();
    let list: Vec<String> = left.iter().map(|block| format!("{}: {:?}", block.place, block.notes.not_run)).collect();
    let (many, list) = (left.len(), list.join("\n"));
    assert!(many <= MOST_NOT_RUN, "{many} blocks are not run; at most {MOST_NOT_RUN} may be:\n{list}");
}

#[test]
fn a_block_that_does_not_work_is_found() {
    let fails = |page: &str, why: &str| {
        let faults = faults_of("page.md", page);
        assert!(faults.len() == 1 && faults[0].contains(why), "expected `{why}`: {faults:#?}");
    };
    fails("```sh\nupdraft runs\nupdraft rusn\n```\n", "page.md:1: `updraft rusn` ended with 2");
    fails("<!-- not run: needs a key -->\n```sh\nupdraft run --modle x \"…\"\n```\n", "--modle");
    fails("<!-- not run: -->\n```sh\nupdraft runs\n```\n", "page.md:2: `not run` without a reason");
    fails("<!-- notrun: a reason -->\n```sh\nupdraft runs\n```\n", "page.md:2: `notrun` is not a note on a block");
    fails("```toml\nmodle = \"x\"\n```\n", "`modle` is not a setting");
    fails("```json\n{\"a\": 1,}\n```\n", "page.md:1: not JSON");
    fails("```yaml\na: [1\n```\n", "page.md:1: not YAML");
    fails("```\nx\n```\n", "page.md:1: a block without a kind");
    fails("```text\nx\n```\n", "page.md:1: a block of `text` is not tested");
    fails("<!-- as: agent -->\n```markdown\n---\nname: a\npurpose: X.\ntools: [nonsense]\n---\nx\n```\n", "nonsense");
    fails("<!-- as: plan -->\n```json\n{\"steps\": [{\"id\": \"a\", \"agent\": \"nobody\"}]}\n```\n", "nobody");
    fails("<!-- as: nothing -->\n```json\n{}\n```\n", "as_nothing");
    fails("```python\ndef f(:\n```\n", "invalid syntax");
    fails("```console\n$ echo one two\none … three\n```\n", "page.md:1: `echo one two` printed");
    fails("<!-- same as: LICENSE -->\n```text\nBSD License\n```\n", "page.md:2: not a part of LICENSE");
}

#[test]
fn blocks_of_a_page_share_a_folder_and_what_they_export() {
    let page = "\
<!-- file: tools/words.py -->\n```python\ndef count_words(text: str) -> int:\n    \"\"\"Counts.\"\"\"\n    return len(text.split())\n```\n
<!-- before: updraft run --agent thinker \"x\" -->\n```sh\nexport THIS=that\nupdraft show RUN | cat\n```\n
```console\n$ echo $THIS\nthat\n$ updraft tools call count_words '{\"text\": \"a b c\"}' | tail -1\n3\n```\n
<!-- exits: 2 -->\n```sh\nupdraft nonsense\n```\n";
    assert_eq!(faults_of("page.md", page), Vec::<String>::new());
}
