//! The description of `/api/v1`, made from the code that answers.

use piton::view::{MessageView, QuestionView, QueuedView, Status};
use piton::{Envelope, Live, Reply, View, ViewChange};
use piton_core::tokens::Tokens;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Components, Info, License, OpenApi, SecurityRequirement};

use crate::api::receipt::{COMMAND_NAME, Receipt};
use crate::fault::ErrorBody;
use crate::forms::{CoreForms, bound_numbers, may_be_left_out};
use crate::hub::{ChangeEvent, ListEvent, LiveEvent, SnapshotEvent};

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
    // What no route names by itself: answers that many routes share, and the data of events.
    add::<ErrorBody>(&mut components);
    add::<Receipt>(&mut components);
    add::<SnapshotEvent<'_>>(&mut components);
    add::<ChangeEvent<'_>>(&mut components);
    add::<LiveEvent<'_>>(&mut components);
    add::<ListEvent<'_>>(&mut components);
    let mut api = OpenApi::new(info, utoipa::openapi::Paths::new());
    api.components = Some(components);
    api.security = Some(vec![SecurityRequirement::new("token", Vec::<String>::new())]);
    api
}

fn add<T: ToSchema>(components: &mut Components) {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    components.schemas.extend(schemas);
}

/// The whole description: that of the routes, with the forms of views and commands.
pub(crate) fn whole(routes: &OpenApi) -> Value {
    let mut whole = json!(routes);
    let forms = CoreForms::new()
        .with::<View>()
        .with::<ViewChange>()
        .with::<Live>()
        .with::<MessageView>()
        .with::<QuestionView>()
        .with::<QueuedView>()
        .with::<Status>()
        .with::<Tokens>()
        .with::<Reply>()
        .with::<Envelope>();
    if let Some(schemas) = whole.pointer_mut("/components/schemas").and_then(Value::as_object_mut) {
        schemas.extend(forms.all());
        // A name that arrives over HTTP has fewer letters to choose from than one that is made here.
        schemas.insert("CommandId".into(), json!({ "type": "string", "pattern": COMMAND_NAME }));
        for name in ONE_OF {
            schemas.get_mut(name).into_iter().for_each(close);
        }
    }
    let paths = whole.get_mut("paths").and_then(Value::as_object_mut).into_iter();
    let operations = paths.flat_map(Map::values_mut).filter_map(Value::as_object_mut);
    for operation in operations.flat_map(Map::values_mut) {
        operation.get_mut("requestBody").into_iter().for_each(may_be_left_out);
    }
    if let Some(Value::Object(body)) = whole.pointer_mut(COMMAND_BODY) {
        body.insert("required".into(), true.into());
    }
    bound_numbers(&mut whole);
    link(&mut whole);
    whole
}

/// Where the body of any command is described. It refers to a form, so nothing else says that it is needed.
const COMMAND_BODY: &str = "/paths/~1api~1v1~1conversations~1{id}~1commands/post/requestBody";

/// Forms of which a request has exactly one field.
const ONE_OF: [&str; 3] = ["Change", "ForkPlace", "QueueInput"];

/// Says of a form and its choices that they have no other fields than those that are described.
fn close(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    if fields.contains_key("properties") {
        fields.insert("additionalProperties".into(), false.into());
    }
    if let Some(Value::Array(choices)) = fields.get_mut("oneOf") {
        choices.iter_mut().for_each(close);
    }
}

/// Where the name of a new conversation is answered.
const NEW: [&str; 2] = ["/api/v1/conversations", "/api/v1/conversations/{id}/fork"];

/// Says which requests can follow the answer that names a new conversation: all that take one.
fn link(whole: &mut Value) {
    let mut links = Map::new();
    for (path, methods) in whole.get("paths").and_then(Value::as_object).into_iter().flatten() {
        let operations = methods.as_object().into_iter().flat_map(Map::values);
        for name in operations.filter_map(|it| it.get("operationId")?.as_str()) {
            if path.contains("/conversations/{id}") {
                let parameters = json!({ "id": "$response.body#/conversation" });
                let link = json!({ "operationId": name, "parameters": parameters });
                links.insert(name.to_owned(), link);
            }
        }
    }
    for path in NEW {
        let answer = format!("/paths/{}/post/responses/201", path.replace('/', "~1"));
        if let Some(Value::Object(answer)) = whole.pointer_mut(&answer) {
            answer.insert("links".into(), links.clone().into());
        }
    }
}
