//! `/api/v1/openapi.json`: the whole API as OpenAPI 3.1, made from the types and operations themselves.
//!
//! What holds for many operations is added here and not at each: the token, the role, and the answers that tell of
//! problems.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::http::{Method, header};
use axum::response::IntoResponse;
use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation, Parameter};
use utoipa::openapi::response::{Response as ResponseEntry, ResponseBuilder};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, OpenApi as Document, Ref, RefOr, Schema};
use utoipa::{Modify, OpenApi};

use super::problem::Problem;
use super::{
    accounts, aftermath, aside, copies, export, files, hooks, knowledge, lifecycle, logs, memory, new_run, permissions,
    plan, recipes, recurring, roles, runs, server, socket, steering, stream, surroundings, upkeep,
};

/// Where the API is.
pub(crate) const PREFIX: &str = "/api/v1";

/// The whole API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Updraft",
        description = "Runs of agents: start, watch, steer, look at and compare them. Made for programs; people have the \
                       page. Errors are problem details (RFC 9457)."
    ),
    paths(
        runs::list,
        new_run::start,
        runs::show,
        runs::events,
        stream::open,
        socket::open,
        steering::tell,
        steering::answer,
        steering::approve,
        lifecycle::pause,
        lifecycle::resume,
        lifecycle::cancel,
        lifecycle::cancel_step,
        lifecycle::adopt,
        plan::show,
        plan::replace,
        export::export,
        aftermath::changes,
        aftermath::undo,
        aftermath::remove,
        logs::logs,
        accounts::audit,
        accounts::replay,
        accounts::detail,
        logs::stats,
        upkeep::import,
        upkeep::prune,
        permissions::list,
        permissions::allow,
        permissions::forget,
        permissions::clear,
        aside::list,
        aside::restore,
        aside::delete,
        copies::fork,
        copies::rerun,
        copies::diff,
        files::add,
        files::add_to_run,
        surroundings::agents,
        surroundings::tools,
        surroundings::call,
        surroundings::models,
        surroundings::skills,
        surroundings::servers,
        memory::list,
        memory::add,
        memory::change,
        memory::forget,
        knowledge::search,
        knowledge::documents,
        knowledge::forget,
        knowledge::ingestion,
        knowledge::ingest,
        recurring::list,
        recurring::add,
        recurring::remove,
        recurring::pause,
        recurring::resume,
        recurring::run_now,
        recipes::list,
        recipes::run,
        server::health,
        server::doctor,
        server::settings,
        hooks::list,
        server::users,
        server::add_user,
        server::remove_user,
        openapi,
    ),
    components(schemas(
        Problem,
        runs::ApiRunGroup,
        export::ApiExportFormat,
        logs::ApiLog,
        logs::ApiLogFormat,
        accounts::ApiDetail
    )),
    modifiers(&CommonParts)
)]
struct ApiDocument;

/// What all operations have in common.
struct CommonParts;

impl Modify for CommonParts {
    fn modify(&self, document: &mut Document) {
        env!("CARGO_PKG_VERSION").clone_into(&mut document.info.version);
        if let Some(components) = document.components.as_mut() {
            components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        }
        document.security = Some(vec![SecurityRequirement::new::<_, [&str; 0], &str>("token", [])]);
        let paths = std::mem::take(&mut document.paths.paths);
        for (path, mut item) in paths {
            let operations = [
                (Method::GET, &mut item.get),
                (Method::POST, &mut item.post),
                (Method::PUT, &mut item.put),
                (Method::DELETE, &mut item.delete),
            ];
            for (method, operation) in operations {
                if let Some(operation) = operation {
                    complete(&method, &path, operation);
                }
            }
            document.paths.paths.insert(format!("{PREFIX}{path}"), item);
        }
    }
}

/// Adds what all operations of this kind have.
fn complete(method: &Method, path: &str, operation: &mut Operation) {
    // The names of functions are the same in several files, and these must not be.
    let words = path.split(['/', '{', '}', '.']).filter(|word| !word.is_empty());
    let words: Vec<&str> = std::iter::once(method.as_str()).chain(words).collect();
    operation.operation_id = Some(words.join("_").to_lowercase());
    let role = roles::needed(method, path).word();
    let about = operation.description.take().unwrap_or_default();
    operation.description = Some(format!("{about}\n\nNeeds the role `{role}`.").trim().to_owned());
    operation.extensions.get_or_insert_default().merge(Extensions::builder().add("x-role", json!(role)).build());
    for parameter in operation.parameters.iter_mut().flatten() {
        if let RefOr::T(parameter) = parameter {
            plain(parameter);
        }
    }
    let has_body = operation.request_body.is_some();
    let is_key = |parameter: &RefOr<Parameter>| matches!(parameter, RefOr::T(one) if one.name == "Idempotency-Key");
    let has_key = operation.parameters.iter().flatten().any(is_key);
    let problems = [
        ("400", "The request cannot be read.", true),
        ("401", "There is no token, or it is not known.", true),
        ("403", "The role of the token may not do this.", true),
        ("404", "There is no such thing here.", path.contains('{')),
        ("408", "The body did not arrive in time.", has_body),
        ("409", "It does not fit what is there.", true),
        ("413", "The body is too large.", has_body),
        ("415", "The body has another type.", has_body),
        ("422", "The `Idempotency-Key` was used for another request.", has_key),
        ("500", "The server could not do it.", true),
        ("503", "No worker that could do it answers.", method == Method::POST && path == "/runs"),
    ];
    for (status, words, _) in problems.into_iter().filter(|(.., is_possible)| *is_possible) {
        operation.responses.responses.entry(status.to_owned()).or_insert_with(|| problem(words));
    }
}

/// A parameter that may be absent is never `null`.
fn plain(parameter: &mut Parameter) {
    if let Some(RefOr::T(Schema::Object(object))) = &mut parameter.schema
        && let SchemaType::Array(types) = &object.schema_type
        && let Some(only) = types.iter().find(|one| **one != Type::Null)
    {
        object.schema_type = SchemaType::Type(only.clone());
    }
}

/// An answer that tells of a problem.
fn problem(words: &str) -> RefOr<ResponseEntry> {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
    RefOr::T(ResponseBuilder::new().description(words).content("application/problem+json", content).build())
}

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| ApiDocument::openapi().to_pretty_json().unwrap_or_default().into());

/// This document
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "server",
    responses((status = 200, description = "OpenAPI 3.1", content_type = "application/json"))
)]
pub(super) async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_name_of_its_own() {
        let document = serde_json::to_value(ApiDocument::openapi()).unwrap();
        let items = document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
        let names: Vec<&str> = items.filter_map(|(_, operation)| operation["operationId"].as_str()).collect();
        let different: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert!(names.len() > 40 && different.len() == names.len(), "{names:?}");
    }

    /// `cargo xtask reference --write` writes it anew.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "whoever writes the file anew says so by a variable")]
    fn docs_reference_has_the_document_that_is_served() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
        if std::env::var("UPDRAFT_WRITE_REFERENCE").is_ok() {
            std::fs::write(&path, &*DOCUMENT).unwrap();
        }
        let written = std::fs::read(&path).unwrap_or_default();
        assert!(written == *DOCUMENT, "docs/openapi.json is out of date: run `cargo xtask reference --write`");
    }
}
