//! Which crate may know which: dependencies between our crates point down only.

use std::path::Path;

use serde_json::Value;

use crate::fault::Fault;
use crate::tree;

/// A package, and what it may depend on of ours. The table of ARCHITECTURE.md, for the crates to come too.
const ALLOWED: [(&str, &[&str]); 19] = [
    ("updraft-lenient", &[]),
    ("updraft-reader", &[]),
    ("updraft-browser", &[]),
    ("updraft-drawing", &[]),
    ("updraft-run", &["updraft-lenient"]),
    ("updraft-workspace", &["updraft-run"]),
    ("updraft-sandbox", &["updraft-workspace"]),
    ("updraft-models", &["updraft-run", "updraft-lenient"]),
    ("updraft-tools", TOOLS),
    ("updraft-journal", &["updraft-run"]),
    ("updraft-mcp", &["updraft-run", "updraft-tools", "updraft-sandbox"]),
    ("updraft-knowledge", &["updraft-reader"]),
    ("updraft-engine", ENGINE),
    ("updraft-workbench", WORKBENCH),
    ("updraft-restate", &["updraft-run", "updraft-journal", "updraft-engine"]),
    ("updraft-serve", &["updraft-workbench", "updraft-mcp", "updraft-run", "updraft-drawing"]),
    ("updraft-acp", &["updraft-workbench", "updraft-run"]),
    ("updraft", CLI),
    ("xtask", &[]),
];

const TOOLS: &[&str] =
    &["updraft-run", "updraft-reader", "updraft-workspace", "updraft-sandbox", "updraft-knowledge", "updraft-browser"];

const ENGINE: &[&str] =
    &["updraft-run", "updraft-lenient", "updraft-models", "updraft-tools", "updraft-journal", "updraft-workspace"];

const WORKBENCH: &[&str] = &[
    "updraft-run",
    "updraft-lenient",
    "updraft-workspace",
    "updraft-sandbox",
    "updraft-models",
    "updraft-tools",
    "updraft-journal",
    "updraft-mcp",
    "updraft-knowledge",
    "updraft-reader",
    "updraft-engine",
];

const CLI: &[&str] = &[
    "updraft-run",
    "updraft-lenient",
    "updraft-sandbox",
    "updraft-models",
    "updraft-tools",
    "updraft-journal",
    "updraft-mcp",
    "updraft-knowledge",
    "updraft-engine",
    "updraft-restate",
    "updraft-serve",
    "updraft-acp",
    "updraft-workbench",
];

/// What a package must not depend on of others: `run`, and what it decides by, neither waits, nor connects, nor stores.
const FORBIDDEN: [(&str, &[&str]); 2] = [("updraft-run", IMPURE), ("updraft-lenient", IMPURE)];

const IMPURE: &[&str] = &["tokio", "reqwest", "rusqlite"];

/// A package of the workspace and what it needs to be built; dev-dependencies are left out.
#[derive(Debug, PartialEq, Eq)]
struct Package {
    name: String,
    needs: Vec<String>,
}

/// Reads `cargo metadata` and names every arrow that is not in the table.
pub(crate) fn check(root: &Path) -> Result<Vec<Fault>, String> {
    let text = tree::output(root, "cargo", &["metadata", "--format-version", "1", "--no-deps"])?;
    let metadata = serde_json::from_str(&text).map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    Ok(faults(&packages(&metadata)?))
}

fn packages(metadata: &Value) -> Result<Vec<Package>, String> {
    let list = metadata["packages"].as_array().ok_or("cargo metadata has no `packages`")?;
    Ok(list.iter().map(package).collect())
}

fn package(value: &Value) -> Package {
    let needs = value["dependencies"].as_array().into_iter().flatten();
    let needs = needs.filter(|needed| needed["kind"].as_str() != Some("dev"));
    Package { name: text(&value["name"]), needs: needs.map(|needed| text(&needed["name"])).collect() }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn faults(packages: &[Package]) -> Vec<Fault> {
    packages.iter().flat_map(|package| faults_of(package, packages)).collect()
}

fn faults_of(package: &Package, packages: &[Package]) -> Vec<Fault> {
    let name = package.name.as_str();
    let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
        return vec![Fault::new(
            format!("`{name}` is not in the table of crates"),
            "say what it may import: a row in ARCHITECTURE.md and in xtask/src/arrows.rs, with a page in docs/decisions",
        )];
    };
    let forbidden = FORBIDDEN.iter().filter(|(known, _)| *known == name).flat_map(|(_, list)| *list);
    let forbidden: Vec<&str> = forbidden.copied().collect();
    let mut faults = Vec::new();
    for needed in &package.needs {
        let is_ours = packages.iter().any(|other| other.name == *needed);
        if is_ours && !allowed.contains(&needed.as_str()) {
            faults.push(Fault::new(
                format!("`{name}` depends on `{needed}`; it may depend on {}", listed(allowed)),
                "move the code to the crate that may know both, or pass the value in; a new arrow needs a page in \
                 docs/decisions and a row in xtask/src/arrows.rs",
            ));
        }
        if forbidden.contains(&needed.as_str()) {
            faults.push(Fault::new(
                format!("`{name}` depends on `{needed}`; it must stay pure"),
                "decide in `run`, perform in `engine`: return an event that wants the effect instead",
            ));
        }
    }
    faults
}

fn listed(names: &[&str]) -> String {
    if names.is_empty() {
        return "nothing of ours".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, needs: &[&str]) -> Package {
        Package { name: name.to_owned(), needs: needs.iter().map(|&needed| needed.to_owned()).collect() }
    }

    fn found(packages: &[Package]) -> Vec<String> {
        faults(packages).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn arrows_that_point_down_are_fine() {
        let packages = [
            package("updraft-run", &["serde"]),
            package("updraft-models", &["updraft-run", "tokio", "reqwest"]),
            package("updraft", &["updraft-run", "updraft-models"]),
        ];
        assert_eq!(found(&packages), [""; 0]);
    }

    #[test]
    fn an_arrow_that_points_up_is_named() {
        let packages = [
            package("updraft-run", &[]),
            package("updraft-journal", &["updraft-models"]),
            package("updraft-models", &[]),
        ];
        assert_eq!(found(&packages), ["`updraft-journal` depends on `updraft-models`; it may depend on `updraft-run`"]);
    }

    #[test]
    fn the_run_must_not_wait_connect_or_store() {
        let packages = [package("updraft-run", &["tokio", "serde"])];
        assert_eq!(found(&packages), ["`updraft-run` depends on `tokio`; it must stay pure"]);
    }

    #[test]
    fn a_crate_nobody_placed_is_named() {
        assert_eq!(found(&[package("updraft-utils", &[])]), ["`updraft-utils` is not in the table of crates"]);
    }

    #[test]
    fn dev_dependencies_are_left_out() {
        let metadata = serde_json::json!({"packages": [{"name": "updraft-run", "dependencies": [
            {"name": "serde", "kind": null},
            {"name": "tokio", "kind": "dev"},
            {"name": "cc", "kind": "build"},
        ]}]});
        assert_eq!(packages(&metadata), Ok(vec![package("updraft-run", &["serde", "cc"])]));
    }
}
