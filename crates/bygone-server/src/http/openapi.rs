//! The OpenAPI document.

use std::collections::BTreeSet;

use axum::Json;
use utoipa::openapi::path::{Operation, Paths};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Components, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::problem::{MEDIA_TYPE, ProblemDocument};
use super::security::Scope;
use super::table;

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
    document.merge(table::probes().into_openapi());
    document
}

fn about() -> utoipa::openapi::Info {
    InfoBuilder::new()
        .title("bygone")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("The daemon of bygone: policies, sweeps, and what was removed."))
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
pub(super) fn complete(paths: &mut Paths, needs: Option<Scope>, problems: &[u16]) {
    for item in paths.paths.values_mut() {
        let is_unsafe = item.post.is_some();
        for operation in [&mut item.get, &mut item.post].into_iter().flatten() {
            let mut statuses: BTreeSet<u16> = ALWAYS.iter().chain(problems).copied().collect();
            if is_unsafe {
                statuses.insert(403);
            }
            if let Some(scope) = needs {
                statuses.extend([401, 403]);
                operation.security = Some(vec![SecurityRequirement::new(SCHEME, [scope.as_str()])]);
            }
            for status in statuses {
                add_problem(operation, status);
            }
        }
    }
}

fn add_problem(operation: &mut Operation, status: u16) {
    let schema = Ref::from_schema_name(ProblemDocument::name());
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(meaning(status)).content(MEDIA_TYPE, content).build();
    operation.responses.responses.insert(status.to_string(), response.into());
}

fn meaning(status: u16) -> &'static str {
    match status {
        400 => "The request cannot be read",
        401 => "There is no token, or it is not good (any more)",
        403 => "The token does not allow that, or the request comes from another site",
        404 => "There is no such policy or sweep",
        409 => "Another sweeper has the turn",
        413 => "The body is too large",
        415 => "The body is not JSON",
        421 => "The daemon has another name than `Host` says",
        422 => "The request makes no sense as it is",
        429 => "Too many sweeps are waiting",
        502 => "The source could not be asked",
        503 => "Not now: the daemon is ending, not ready, has too much to do, or took too long",
        _ => "The daemon could not do it",
    }
}
