//! `updraft import`: reads a run that `export` wrote.

use std::fs::File;
use std::io::{BufRead, BufReader};

use updraft_journal::parse_export;
use updraft_run::RunId;

use crate::args::Import;
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::{out, wire};

pub(crate) fn run(places: &Places, args: &Import) -> Outcome {
    let cannot = |error: std::io::Error| Fault::usage(format!("`{}` cannot be read: {error}", args.file.display()));
    let mut lines: Box<dyn BufRead> = if args.file.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(&args.file).map_err(cannot)?))
    };
    let begins = lines.fill_buf().map_err(cannot)?;
    let is_node_link = begins.windows(7).take(4096).any(|bytes| bytes == b"\"nodes\"")
        || begins.windows(10).take(4096).any(|bytes| bytes == b"\"directed\"");
    if is_node_link {
        return Err(Fault::usage(format!("`{}` is a graph, not a run's journal", args.file.display()))
            .hint(format!("`updraft run --plan {} \"GOAL\"` carries it out", args.file.display())));
    }
    let mut export = parse_export(&mut *lines)?;
    if let Some(id) = &args.id {
        export.head.id = RunId::parse(id).map_err(|bad| Fault::usage(bad.to_string()))?;
    }
    let id = export.head.id.clone();
    let journal = wire::journal(places)?;
    wire::block_on(async {
        let imported = journal.import(export.head, export.records, export.blobs).await;
        journal.close().await;
        imported.map_err(|error| match error {
            updraft_journal::Error::Exists(id) => Fault::failed(format!("a run named `{id}` is there already"))
                .hint("`--id NAME` imports it under another name"),
            other => other.into(),
        })
    })?;
    out::line(id.as_str());
    Ok(Code::Done)
}
