//! The description of `/api/v1`, made from the code that answers.

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, Info, License, OpenApi, SecurityRequirement};

/// What is the same for all routes.
pub(crate) fn frame() -> OpenApi {
    let mut info = Info::new("piton", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "Conversations with a coding agent whose turns are never lost. Whatever is sent is durable when \
         it is answered, and sending it twice under one name is sending it once."
            .into(),
    );
    info.license = Some(License::new("MIT OR Apache-2.0"));
    let mut components = Components::new();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme("token", bearer);
    let mut api = OpenApi::new(info, utoipa::openapi::Paths::new());
    api.components = Some(components);
    api.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
    api
}
