//! `/runs/ID/plan`: a plan that waits for approval, to be changed in a form before anything of it is carried out.
//!
//! Every button sends the whole form. All but one only change what it shows: the draft of a plan is nowhere but in the
//! form. The last one carries the plan out, or leads back to the form with what is wrong at the fields.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Form, Path, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use updraft_drawing::{GraphNode, StepGraph, draw_graph};
use updraft_run::{Graph, GraphFault, Requirement};
use updraft_workbench::WaitingPlan;
use updraft_workbench::service::LiveRuns;

use super::failure::PageFailure;
use super::layout::{self, PageFrame};
use super::plan_draft::{DraftChange, DraftFaults, DraftField, DraftRow, PlanDraft};
use super::run_page::back;
use super::visitor::Visitor;
use super::{PageState, words};

/// A plan of more steps is edited as JSON only: each row names all others.
const MOST_ROWS: usize = 80;

/// Everything that the page shows.
struct PlanEditor {
    run: String,
    goal: String,
    /// The question about the plan: another plan may wait by the time the form is sent.
    about: String,
    draft: PlanDraft,
    faults: DraftFaults,
    /// The JSON as it was sent and what is wrong with it, if it was sent.
    json: Option<(String, Vec<String>)>,
    /// The element that the person goes on with.
    focus: Option<String>,
    agents: Vec<String>,
}

pub(super) async fn show(
    State(state): State<Arc<PageState>>,
    Path(run): Path<String>,
) -> Result<Response, PageFailure> {
    let Some((plan, goal)) = waiting(&state.service.runs, &run).await? else { return Ok(back(&run)) };
    let editor = PlanEditor::of(&state.service.runs, &run, &plan, goal);
    Ok(editor.page(&state).into_response())
}

/// The plan of a run that waits, and the goal.
async fn waiting(runs: &LiveRuns, run: &str) -> Result<Option<(WaitingPlan, String)>, PageFailure> {
    let feed = runs.feed(run).map_err(PageFailure::missing)?;
    let look = move || {
        feed.read(|history| {
            let goal = words::short(history.run().goal().own_words(), 200);
            WaitingPlan::of(history.run()).map(|plan| (plan, goal))
        })
    };
    Ok(tokio::task::spawn_blocking(look).await??)
}

/// What is wrong with a plan, for the run that it is to be carried out by.
async fn faults_of(runs: &LiveRuns, run: &str, plan: &Value) -> Result<Vec<GraphFault>, PageFailure> {
    let (runs, feed, plan) = (runs.clone(), runs.feed(run).map_err(PageFailure::missing)?, plan.clone());
    let look = move || feed.read(|history| runs.plan_faults(history.run(), &plan));
    Ok(tokio::task::spawn_blocking(look).await??)
}

/// Changes the form, or carries the plan out.
pub(super) async fn change(
    State(state): State<Arc<PageState>>,
    Extension(visitor): Extension<Visitor>,
    Path(run): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, PageFailure> {
    let runs = &state.service.runs;
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str());
    let Some((plan, goal)) = waiting(runs, &run).await? else {
        return Err(PageFailure::usage("the plan does not wait for approval any more"));
    };
    let about = plan.approval.to_string();
    if field("about").is_some_and(|sent| sent != about) {
        return Err(PageFailure::usage("another plan waits for approval by now; look at it before you change it"));
    }
    let mut editor = PlanEditor::of(runs, &run, &plan, goal);
    let deed = field("do").unwrap_or("run");
    let file = match field("plan") {
        Some(json) => editor.take_json(runs, json).await?,
        None => editor.take_rows(runs, &fields, deed).await?,
    };
    if deed != "run" || editor.is_faulty() {
        return Ok(editor.page(&state).into_response());
    }
    runs.edit_plan(&run, &file, visitor.name()).await?;
    Ok(back(&run))
}

impl PlanEditor {
    fn of(runs: &LiveRuns, run: &str, plan: &WaitingPlan, goal: String) -> Self {
        let draft = PlanDraft::of(&plan.graph, &plan.requirements);
        let agents = runs.agents().into_iter().map(|agent| agent.name).collect();
        let about = plan.approval.to_string();
        Self {
            run: run.to_owned(),
            goal,
            about,
            draft,
            faults: DraftFaults::default(),
            json: None,
            focus: None,
            agents,
        }
    }

    /// Shows a plan that was sent as JSON. If nothing can be read, the rows stay as they were.
    async fn take_json(&mut self, runs: &LiveRuns, json: &str) -> Result<Value, PageFailure> {
        let (file, wrong) = match serde_json::from_str(json) {
            Ok(file) => {
                let faults = faults_of(runs, &self.run, &file).await?;
                (file, faults.into_iter().map(|fault| fault.text).collect())
            }
            Err(error) => (Value::Null, vec![format!("the plan is not JSON: {error}")]),
        };
        let (graph, _) = Graph::read_what_can_be(&file);
        if !graph.steps.is_empty() {
            self.draft = PlanDraft::of(&graph, &Requirement::all_in(&file));
        }
        if !wrong.is_empty() {
            self.focus = Some("plan-text".to_owned());
        }
        self.json = Some((json.to_owned(), wrong));
        Ok(file)
    }

    /// Shows the rows that were sent, as a button has changed them.
    async fn take_rows(
        &mut self,
        runs: &LiveRuns,
        fields: &[(String, String)],
        deed: &str,
    ) -> Result<Value, PageFailure> {
        self.draft = PlanDraft::sent(fields);
        let agent = self.agents.first().cloned().unwrap_or_default();
        let agent = self.draft.rows.last().map_or(agent, |row| row.agent.clone());
        self.focus = self.draft.change(DraftChange::of(deed), &agent);
        self.faults = self.draft.faults();
        let file = self.draft.file();
        if self.faults.fields.keys().all(|(_, field)| *field == DraftField::Prompt) {
            let found = faults_of(runs, &self.run, &file).await?;
            self.draft.place(found, &mut self.faults);
        }
        if deed == "run" {
            let first = self.faults.fields.keys().next();
            self.focus = first.map(|(key, field)| format!("row-{key}-{}", field.word()));
        } else {
            // A step that has just been added says nothing yet.
            self.faults.fields.retain(|(_, field), _| *field != DraftField::Prompt);
        }
        Ok(file)
    }

    fn is_faulty(&self) -> bool {
        !self.faults.is_empty() || self.json.as_ref().is_some_and(|(_, wrong)| !wrong.is_empty())
    }

    fn page(&self, state: &PageState) -> Markup {
        let frame =
            PageFrame { title: "Change the plan", place: "", kind: "plan", waiting: state.service.runs.waiting() };
        let rows = &self.draft.rows;
        let body = html! {
            p { a href={ "/runs/" (self.run) } { (self.goal) } }
            h1 { "Change the plan" }
            p.about { "Nothing of it begins before you carry it out." }
            div.plan-editor {
                section.plan-graph aria-label="The plan as a graph" { (self.graph()) }
                @if rows.len() > MOST_ROWS {
                    p.about { "A plan of " (words::count(rows.len() as u64, "step")) " is edited as JSON." }
                } @else { (self.form()) }
                (self.json_form())
            }
        };
        layout::page(&frame, &body)
    }

    /// The graph of the draft; its nodes lead to the rows.
    fn graph(&self) -> Markup {
        let node = |row: &DraftRow| {
            let is_faulty = self.faults.fields.keys().any(|(key, _)| *key == row.key);
            GraphNode {
                id: row.key.to_string(),
                element: format!("node-{}", row.key),
                label: format!("{} {}", row.id, row.agent),
                detail: words::short(if row.description.is_empty() { &row.prompt } else { &row.description }, 80),
                state: if is_faulty { "faulty" } else { "pending" }.to_owned(),
                link: format!("#row-{}", row.key),
                ..GraphNode::default()
            }
        };
        let nodes: Vec<GraphNode> = self.draft.rows.iter().map(node).collect();
        let edges = self
            .draft
            .rows
            .iter()
            .flat_map(|row| row.after.iter().map(move |before| (before.to_string(), row.key.to_string())));
        let title = format!("Graph of {}", words::count(nodes.len() as u64, "step"));
        let graph = StepGraph { title, edges: edges.collect(), nodes, selected: None };
        html! {
            @if graph.nodes.is_empty() { p.empty { "The plan has no steps." } }
            @else { div.graph-frame id="graph-frame" { div.graph-layer { (PreEscaped(draw_graph(&graph))) } } }
        }
    }

    fn form(&self) -> Markup {
        let last = self.draft.rows.len().saturating_sub(1);
        html! {
            form.plan-form method="post" action={ "/runs/" (self.run) "/plan" } data-redraw {
                input type="hidden" name="about" value=(self.about);
                input type="hidden" name="requirements" value=(self.draft.requirements);
                // The first button is what the Enter key means in a field.
                button.quiet.redraw type="submit" name="do" value="redraw" { "Draw the graph again" }
                @for text in &self.faults.whole { p.error role="alert" { (words::ticked(text)) } }
                ol.plan-rows {
                    @for (at, row) in self.draft.rows.iter().enumerate() { (self.row(row, at, at == last)) }
                }
                button id="add-step" type="submit" name="do" value="add" autofocus[self.has_focus("add-step")] {
                    "Add a step"
                }
                div.choices {
                    button.primary type="submit" name="do" value="run" { "Carry out as changed" }
                    a.button href={ "/runs/" (self.run) } { "Back without changes" }
                }
            }
        }
    }

    fn has_focus(&self, id: &str) -> bool {
        self.focus.as_deref() == Some(id)
    }

    fn row(&self, row: &DraftRow, at: usize, is_last: bool) -> Markup {
        let key = row.key;
        let kept = serde_json::to_string(&row.kept).unwrap_or_default();
        let is_known = self.agents.contains(&row.agent);
        let tool = |deed: &str, name: &str, after: &str, sign: &str, is_off: bool| {
            let id = format!("row-{key}-{deed}");
            html! {
                button.quiet id=(id) type="submit" name="do" value={ (deed) "." (key) } disabled[is_off]
                    autofocus[self.has_focus(&id)] aria-label={ (name) " " (row.id) (after) } title={ (name) (after) } { (sign) }
            }
        };
        html! {
            li.plan-row id={ "row-" (key) } data-key=(key) {
                input type="hidden" name="row[]" value=(key);
                input type="hidden" name={ (key) ".kept" } value=(kept);
                div.row-head {
                    h2 { "Step " (at + 1) }
                    div.row-tools {
                        (tool("up", "Move", " up", "↑", at == 0))
                        (tool("down", "Move", " down", "↓", is_last))
                        (tool("remove", "Remove", "", "✕", false))
                    }
                }
                (self.fault(key, DraftField::Other))
                (self.field(key, DraftField::Id, "Step id", |id, described, is_wrong| html! {
                    input id=(id) name={ (key) ".id" } type="text" value=(row.id) maxlength="64" spellcheck="false"
                        autocomplete="off" aria-describedby=[described] aria-invalid=[is_wrong]
                        autofocus[self.has_focus(id)];
                }))
                (self.field(key, DraftField::Agent, "Agent", |id, described, is_wrong| html! {
                    select id=(id) name={ (key) ".agent" } aria-describedby=[described] aria-invalid=[is_wrong]
                        autofocus[self.has_focus(id)] {
                        @if !is_known { option value=(row.agent) selected { (row.agent) } }
                        @for agent in &self.agents { option value=(agent) selected[*agent == row.agent] { (agent) } }
                    }
                }))
                div.field.wide {
                    label for={ "row-" (key) "-description" } { "In a few words" }
                    input id={ "row-" (key) "-description" } name={ (key) ".description" } type="text"
                        value=(row.description) maxlength="1000";
                }
                (self.field(key, DraftField::Prompt, "Instruction", |id, described, is_wrong| html! {
                    textarea id=(id) name={ (key) ".prompt" } rows="3" aria-describedby=[described]
                        aria-invalid=[is_wrong] autofocus[self.has_focus(id)] { "\n" (row.prompt) }
                }))
                (self.after(row))
            }
        }
    }

    /// The steps that a step waits for, to be chosen among all others.
    fn after(&self, row: &DraftRow) -> Markup {
        let key = row.key;
        let id = format!("row-{key}-after");
        let (described, _) = self.wrong(key, DraftField::After);
        html! {
            fieldset.plan-after id=(id) aria-describedby=[described] {
                legend { "After" }
                @for other in self.draft.rows.iter().filter(|other| other.key != key) {
                    label {
                        input type="checkbox" name={ (key) ".after[]" } value=(other.key)
                            checked[row.after.contains(&other.key)];
                        " " (other.id)
                    }
                }
                @if self.draft.rows.len() < 2 { span.about { "There is no other step." } }
                (self.fault(key, DraftField::After))
            }
        }
    }

    /// A field with its label and what is wrong with it.
    fn field(
        &self,
        key: u32,
        field: DraftField,
        label: &str,
        input: impl FnOnce(&str, Option<String>, Option<&'static str>) -> Markup,
    ) -> Markup {
        let id = format!("row-{key}-{}", field.word());
        let (described, is_wrong) = self.wrong(key, field);
        html! {
            div class=(if field == DraftField::Prompt { "field wide" } else { "field" }) {
                label for=(id) { (label) }
                (input(&id, described, is_wrong))
                (self.fault(key, field))
            }
        }
    }

    /// The element that says what is wrong with a field, if something is, and its `aria-invalid`.
    fn wrong(&self, key: u32, field: DraftField) -> (Option<String>, Option<&'static str>) {
        let is_wrong = self.faults.fields.contains_key(&(key, field));
        (is_wrong.then(|| format!("row-{key}-{}-fault", field.word())), is_wrong.then_some("true"))
    }

    fn fault(&self, key: u32, field: DraftField) -> Markup {
        html! {
            @if let Some(texts) = self.faults.fields.get(&(key, field)) {
                p.field-fault id={ "row-" (key) "-" (field.word()) "-fault" } {
                    @for text in texts { span { (words::ticked(text)) } }
                }
            }
        }
    }

    /// The whole plan as JSON, for what the rows do not show.
    fn json_form(&self) -> Markup {
        let (json, wrong) = match &self.json {
            Some((json, wrong)) => (json.clone(), wrong.as_slice()),
            None => (serde_json::to_string_pretty(&self.draft.file()).unwrap_or_default(), [].as_slice()),
        };
        let is_open = !wrong.is_empty() || self.draft.rows.len() > MOST_ROWS;
        html! {
            details.plan-json id="plan-json" open[is_open] {
                summary { "Advanced: the plan as JSON" }
                form method="post" action={ "/runs/" (self.run) "/plan" } data-redraw {
                    input type="hidden" name="about" value=(self.about);
                    label for="plan-text" { "Steps with all their fields, and what is required at the end" }
                    textarea.code id="plan-text" name="plan" rows="16" spellcheck="false"
                        aria-describedby=[(!wrong.is_empty()).then_some("plan-text-fault")]
                        aria-invalid=[(!wrong.is_empty()).then_some("true")] autofocus[self.has_focus("plan-text")] {
                        "\n" (json)
                    }
                    @if !wrong.is_empty() {
                        p.field-fault id="plan-text-fault" { @for text in wrong { span { (words::ticked(text)) } } }
                    }
                    div.choices {
                        button type="submit" name="do" value="show" { "Show in the form" }
                        button type="submit" name="do" value="run" { "Carry out this JSON" }
                    }
                }
            }
        }
    }
}
