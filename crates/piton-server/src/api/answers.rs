//! Answers that many routes share, described once.

use std::collections::BTreeMap;

use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

use super::receipt::Receipt;
use crate::fault::ErrorBody;

/// An answer whose body is of a type that the description knows by name.
fn described<T: ToSchema>(words: &str) -> RefOr<Response> {
    let body = Content::new(Some(Ref::from_schema_name(T::name())));
    ResponseBuilder::new().description(words).content("application/json", body).build().into()
}

/// Any route may fail.
impl IntoResponses for ErrorBody {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let refused = ("4XX".into(), described::<Self>("nothing was done"));
        BTreeMap::from([refused, ("5XX".into(), described::<Self>("this server failed"))])
    }
}

/// A route that sends a command answers with a receipt, or fails.
impl IntoResponses for Receipt {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let pending = "left for the process that works on the conversation";
        let mut answers = ErrorBody::responses();
        answers.insert("200".into(), described::<Self>("taken"));
        answers.insert("202".into(), described::<Self>(pending));
        answers
    }
}
