//! `updraft skills`: lists the skills that agents may use, and what is wrong with others.

use serde_json::json;
use updraft_engine::{FoundSkill, check_skill};
use updraft_workbench::skills::SKILL_FOLDERS;
use updraft_workbench::{Flags, skills};

use crate::args::SkillsArgs;
use crate::fault::{CliExitCode, CliResult};
use crate::folders::{self, AppFolders};
use crate::out::{self, Paint};
use crate::settings::WorkspaceSettings;

pub(crate) fn run(folders: &AppFolders, args: &SkillsArgs) -> CliResult {
    let found = if args.folders.is_empty() {
        let workspace = folders::workspace(args.place.workspace.as_deref())?;
        let settings = WorkspaceSettings::load(folders, &workspace, &Flags::default())?;
        let is_there = |folder: &&str| workspace.join(folder).is_dir();
        if let Some(folder) = SKILL_FOLDERS.into_iter().find(is_there).filter(|_| !settings.trust_state.is_trusted()) {
            out::note(&format!("the skills in {folder} are not used: the workspace is not trusted (`updraft trust`)"));
        }
        skills::of(folders, &workspace, &settings)
    } else {
        let check = |folder: &std::path::PathBuf| FoundSkill {
            folder: folder.clone(),
            skill: check_skill(folder),
            remarks: Vec::new(),
        };
        args.folders.iter().map(check).collect()
    };
    for one in &found {
        print(one, args.place.json);
    }
    if found.is_empty() && !args.place.json {
        out::note("no skills\n  hint: put a folder with a SKILL.md into .updraft/skills (docs/context.md)");
    }
    let is_faulty = !args.folders.is_empty() && found.iter().any(|one| one.skill.is_err());
    Ok(if is_faulty { CliExitCode::Failed } else { CliExitCode::Done })
}

fn print(FoundSkill { folder, skill, remarks }: &FoundSkill, is_json: bool) {
    let shown = folder.display().to_string();
    if is_json {
        let mut value = match skill {
            Ok(skill) => json!({ "folder": shown, "name": skill.name, "description": skill.description, "faults": [] }),
            Err(faults) => json!({ "folder": shown, "faults": faults }),
        };
        value["remarks"] = json!(remarks);
        return out::json(&value);
    }
    let paint = Paint::for_stdout();
    match skill {
        Ok(skill) => {
            out::line(&format!("{}  {}", paint.bold(&skill.name), out::short(&skill.description, 200)));
            out::line(&format!("  {}", paint.dim(&out::on_one_line(&shown))));
        }
        Err(faults) => {
            out::line(&format!("{}: {}", out::on_one_line(&shown), paint.red("not usable")));
            for fault in faults {
                out::line(&format!("  {}", out::on_one_line(fault)));
            }
        }
    }
    for remark in remarks {
        out::line(&format!("  {}", paint.dim(&format!("ignored: {}", out::on_one_line(remark)))));
    }
}
