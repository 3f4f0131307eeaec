//! The OpenAPI document.

use std::collections::BTreeSet;

use axum::Json;
use utoipa::openapi::path::{Operation, PathItem, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::problem::{MEDIA_TYPE, ProblemDocument};
use super::table::{self, Needs};

/// What can go wrong with any request: no proper `Host`, another one's, too much to do or too slow, or a bug.
const ALWAYS: [u16; 4] = [400, 421, 500, 503];
const SCHEME: &str = "token";

/// What this API can do, for programs.
#[utoipa::path(
    get, path = "/api/v1/openapi.json", tag = "about",
    responses((status = OK, body = Object, description = "This document")),
)]
pub(super) async fn openapi() -> Json<OpenApi> {
    Json(document())
}

/// The OpenAPI document of all routes.
pub fn document() -> OpenApi {
    let mut document = OpenApiBuilder::new().info(about()).components(Some(components())).build();
    document.merge(table::api().into_openapi());
    document.merge(table::leases().into_openapi());
    document.merge(table::streams().into_openapi());
    document.merge(table::uploads().into_openapi());
    document.merge(table::probes().into_openapi());
    document
}

fn about() -> utoipa::openapi::Info {
    InfoBuilder::new()
        .title("bygone")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("The daemon of bygone: policies, sweeps, what was removed, leases and staging areas."))
        .build()
}

fn components() -> Components {
    let mut components = Components::new();
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("A token with a scope")).build();
    components.add_security_scheme(SCHEME, SecurityScheme::Http(bearer));
    components.schemas.insert(ProblemDocument::name().into_owned(), ProblemDocument::schema());
    components
}

/// Adds what the table says of a route to what its handler does.
pub(super) fn complete(paths: &mut Paths, needs: Needs, problems: &[u16]) {
    for item in paths.paths.values_mut() {
        let is_unsafe = item.get.is_none();
        for operation in operations(item) {
            let mut statuses: BTreeSet<u16> = ALWAYS.iter().chain(problems).copied().collect();
            if is_unsafe {
                statuses.insert(403);
            }
            if let Some(scope) = needs.scope() {
                statuses.extend([401, 403]);
                operation.security = Some(vec![SecurityRequirement::new(SCHEME, [scope])]);
            }
            for status in statuses {
                add_problem(operation, status, meaning(status));
            }
        }
    }
}

/// The same for an operation on a lease store. What its token must be good for depends on the namespace.
pub(super) fn complete_operation(paths: &mut Paths, problems: &[u16]) {
    for operation in paths.paths.values_mut().flat_map(operations) {
        operation.security = Some(vec![SecurityRequirement::new(SCHEME, [""; 0])]);
        for status in ALWAYS.iter().chain(&[401, 403]).chain(problems) {
            add_problem(operation, *status, meaning_of_leases(*status));
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.post, &mut item.put, &mut item.delete].into_iter().flatten()
}

fn add_problem(operation: &mut Operation, status: u16, meaning: &'static str) {
    let schema = Ref::from_schema_name(ProblemDocument::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(meaning).content(MEDIA_TYPE, content).build();
    operation.responses.responses.insert(status.to_string(), response.into());
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request cannot be read",
        401 => "There is no token, or it is not good (any more)",
        403 => "The token does not allow that, or the request comes from another site",
        404 => "There is no such policy, sweep, source, staging area or file",
        408 => "The body stopped coming",
        409 => "Another sweeper has the turn, or somebody holds the file",
        413 => "The body is too large",
        415 => "The body is not JSON",
        421 => "The daemon has another name than `Host` says",
        422 => "The request makes no sense as it is",
        429 => "Too many sweeps are waiting",
        502 => "The source could not be asked",
        503 => "Not now: the daemon is ending, not ready, has too much to do, or took too long",
        507 => "There is no room for the file",
        _ => "The daemon could not do it",
    }
}

/// What says more where it is about leases.
fn meaning_of_leases(status: u16) -> &'static str {
    match status {
        403 => "The token does not allow that, the request comes from another site, or the lease is over or another's",
        404 => "There is no such store, key, attachment or transaction",
        409 => "Somebody else has it, it is another one than is said, or others were faster",
        429 => "The store asks for fewer requests",
        502 => "The store does not answer, or cannot be used",
        504 => "It may have happened or not: ask again with the same `request`, or look",
        _ => meaning(status),
    }
}
