//! Tests of the rows of a plan: to wait means to read, and names can change.

use serde_json::json;

use super::*;

fn plan() -> Value {
    json!({ "steps": [
        { "id": "profile", "agent": "retriever", "prompt": "Look.", "writes": ["profile"] },
        { "id": "region", "agent": "retriever", "prompt": "By region.", "reads": ["profile"], "writes": ["region"] },
        { "id": "check", "agent": "coder", "prompt": "Check.", "after": ["region"], "candidates": 3, "model": "fast" },
        { "id": "report", "agent": "summarizer", "prompt": "Report.", "reads": ["region", "profile"], "writes": ["report"] },
    ], "requirements": [{ "text": "it builds", "command": "make" }] })
}

fn draft() -> PlanDraft {
    PlanDraft::of(&Graph::read(&plan()).unwrap(), &Requirement::all_in(&plan()))
}

/// The draft after it went through a form, with some fields changed.
fn sent(draft: &PlanDraft, changed: &[(&str, &str)]) -> PlanDraft {
    let mut fields = vec![("requirements".to_owned(), draft.requirements.to_string())];
    for row in &draft.rows {
        let key = row.key;
        fields.push(("row[]".to_owned(), key.to_string()));
        fields.push((format!("{key}.kept"), serde_json::to_string(&row.kept).unwrap()));
        for (name, text) in [("id", &row.id), ("agent", &row.agent), ("prompt", &row.prompt)] {
            fields.push((format!("{key}.{name}"), text.clone()));
        }
        fields.extend(row.after.iter().map(|after| (format!("{key}.after[]"), after.to_string())));
    }
    for (name, text) in changed {
        match fields.iter_mut().find(|(known, _)| known == name) {
            Some(field) => (*text).clone_into(&mut field.1),
            None => fields.push(((*name).to_owned(), (*text).to_owned())),
        }
    }
    PlanDraft::sent(&fields)
}

fn step(draft: &PlanDraft, at: usize) -> Value {
    draft.file()["steps"][at].clone()
}

#[test]
fn a_plan_that_nobody_changes_stays_as_it_is() {
    assert_eq!(draft().file(), plan());
    assert_eq!(sent(&draft(), &[]).file(), plan());
}

#[test]
fn those_who_wait_for_a_step_follow_its_new_name() {
    let renamed = sent(&draft(), &[("2.id", "by_region")]);
    assert_eq!(step(&renamed, 2)["after"], json!(["by_region"]));
    assert_eq!(step(&renamed, 3)["reads"], json!(["region", "profile"]), "its result keeps its name");
}

#[test]
fn to_wait_for_a_step_is_to_read_its_result() {
    let more = sent(&draft(), &[("3.after[]", "4")]);
    assert_eq!(step(&more, 2)["after"], json!(["report"]), "the one it waited for is no longer marked");
    assert_eq!(step(&more, 2)["reads"], json!(["report"]));
    let less = sent(&draft(), &[("4.after[]", "1")]);
    assert_eq!(step(&less, 3)["reads"], json!(["region", "profile"]), "both are marked still");
    let mut none = draft();
    none.rows[3].after.remove(&2);
    assert_eq!(step(&none, 3)["reads"], json!(["profile"]));
}

#[test]
fn a_removed_step_is_gone_from_all_others() {
    let mut draft = draft();
    assert_eq!(draft.change(DraftChange::of("remove.2"), "x"), Some("row-3-id".to_owned()));
    let file = sent(&draft, &[]).file();
    assert!(Graph::read(&file).is_ok());
    assert_eq!(file["steps"][1].get("after"), None);
    assert_eq!(file["steps"][2]["reads"], json!(["profile"]));
}

#[test]
fn an_added_step_reads_what_it_waits_for_and_its_result_has_its_name() {
    let mut draft = draft();
    assert_eq!(draft.change(DraftChange::of("add"), "coder"), Some("row-5-id".to_owned()));
    let named = sent(&draft, &[("5.id", "translate"), ("5.prompt", "Translate it.\r\nAll.\r\n"), ("1.after[]", "5")]);
    let new = json!({ "id": "translate", "agent": "coder", "prompt": "Translate it.\nAll.", "reads": ["report"],
                      "writes": ["translate"], "after": ["report"] });
    assert_eq!(step(&named, 4), new);
    assert_eq!(step(&named, 0)["reads"], json!(["translate"]));
}

#[test]
fn rows_change_places_and_the_ends_stay() {
    let mut draft = draft();
    assert_eq!(draft.change(DraftChange::of("up.2"), "x"), Some("row-2-down".to_owned()));
    assert_eq!(draft.change(DraftChange::of("down.3"), "x"), Some("row-3-up".to_owned()));
    assert_eq!(draft.rows.iter().map(|row| row.key).collect::<Vec<_>>(), [2, 1, 4, 3]);
    for nothing in ["up.2", "down.3", "up.9", "remove.9", "up.x", "redraw", ""] {
        assert_eq!(draft.change(DraftChange::of(nothing), "x"), None, "{nothing}");
    }
    assert_eq!(draft.rows.len(), 4);
}

#[test]
fn faults_are_where_they_can_be_mended() {
    let mut draft = draft();
    "a b".clone_into(&mut draft.rows[0].id);
    "report".clone_into(&mut draft.rows[1].id);
    draft.rows[2].prompt.clear();
    let mut faults = draft.faults();
    let places: Vec<(u32, DraftField)> = faults.fields.keys().copied().collect();
    assert_eq!(places, [(1, DraftField::Id), (3, DraftField::Prompt), (4, DraftField::Id)]);
    let cycle = GraphFault {
        steps: ["check", "report"].map(|id| StepId::parse(id).unwrap()).to_vec(),
        field: Some(StepField::After),
        text: "in a cycle".to_owned(),
    };
    draft.place(vec![cycle, GraphFault::of_graph("no steps")], &mut faults);
    assert_eq!(faults.fields[&(3, DraftField::After)], ["in a cycle"]);
    assert_eq!(faults.fields[&(4, DraftField::After)], ["in a cycle"]);
    assert_eq!(faults.whole, ["no steps"]);
}

#[test]
fn what_is_sent_may_be_anything() {
    let fields = [
        ("row[]", "7"),
        ("row[]", "7"),
        ("row[]", "x"),
        ("7.after[]", "9"),
        ("9.id", "y"),
        ("7.kept", "{"),
        ("..", ""),
    ];
    let fields = fields.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let draft = PlanDraft::sent(&fields);
    assert_eq!(draft.rows, [DraftRow { key: 7, ..DraftRow::default() }]);
    assert_eq!(PlanDraft::sent(&[]), PlanDraft::default());
}
