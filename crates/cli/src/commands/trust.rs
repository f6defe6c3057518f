//! `updraft trust`: lets a workspace's files count in full, after showing them.

use crate::args::Trust;
use crate::fault::{Code, Fault, Outcome};
use crate::places::Places;
use crate::settings::{Standing, Trusted};
use crate::{out, view, wire};

pub(crate) fn run(places: &Places, args: &Trust) -> Outcome {
    let workspace = wire::workspace(args.dir.as_deref())?;
    let shown = workspace.display();
    let mut trusted = Trusted::load(places);
    if args.remove {
        let was = trusted.remove(&workspace)?;
        out::note(&if was { format!("{shown} is no longer trusted") } else { format!("{shown} was not trusted") });
        return Ok(Code::Done);
    }
    if trusted.standing(&workspace) == Standing::Trusted {
        out::note(&format!("{shown} is trusted already, and has not changed"));
        return Ok(Code::Done);
    }
    let files = trusted.what_counts(&workspace);
    out::line(&format!("In {shown} these would count in full:"));
    for file in &files {
        out::line(&format!("  {}", out::harmless(file)));
    }
    if files.is_empty() {
        out::line("  nothing yet");
    }
    if !args.yes {
        if !out::can_ask() {
            return Err(Fault::new(Code::NeedsPerson, "nobody is there to say yes")
                .hint("look at the files, then `updraft trust --yes`"));
        }
        if !view::confirm("Trust this workspace as it is now?") {
            out::note("nothing changed");
            return Ok(Code::Failed);
        }
    }
    trusted.add(&workspace)?;
    out::note(&format!("{shown} is trusted until one of these files changes"));
    Ok(Code::Done)
}
