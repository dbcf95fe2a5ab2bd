//! Models that can be chosen, and settings as they are.

use axum::Json;
use axum::extract::State;
use piton_agent::config::{self, Origin};
use piton_agent::{known, typed};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::fault::{ErrorBody, Fault, Kind, with_causes};
use crate::models::is_ready;
use crate::shared::Shared;

/// Models that can be chosen.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelsView {
    /// The model of a new conversation; absent if somebody has to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    /// Those that are known without asking their providers. Others can be named too.
    models: Vec<ModelRow>,
    /// The providers.
    providers: Vec<ProviderRow>,
}

/// A model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelRow {
    /// How it is named: `provider/model`.
    name: String,
    /// Most tokens of a request and its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
    /// Whether a key is there, or none is needed.
    ready: bool,
}

/// A provider.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProviderRow {
    /// Its name.
    name: String,
    /// Whether a key is there, or none is needed.
    ready: bool,
}

/// List models
///
/// Those that are known here. No provider is asked.
#[utoipa::path(
    get,
    path = "/models",
    operation_id = "list_models",
    tag = "settings",
    responses(
        (status = 200, description = "models and providers", body = ModelsView),
        ErrorBody,
    )
)]
pub(crate) async fn models(State(shared): State<Shared>) -> Json<ModelsView> {
    let agent = &shared.parts.agent;
    let is_ready = |name: &str| is_ready(agent, name);
    let mut models = vec![ModelRow { name: "demo".into(), window: None, ready: true }];
    models.extend(known::KNOWN.iter().map(|known| ModelRow {
        name: format!("{}/{}", known.provider, known.model),
        window: Some(known.window),
        ready: is_ready(known.provider),
    }));
    let names = agent.providers().keys();
    let providers = names.map(|name| ProviderRow { name: name.clone(), ready: is_ready(name) });
    let default = agent.default_model().ok().as_ref().map(typed);
    Json(ModelsView { default, models, providers: providers.collect() })
}

/// Settings as they are.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettingsView {
    /// Every setting. Keys of providers are never among them.
    settings: Vec<SettingRow>,
}

/// A setting.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SettingRow {
    /// Its key, with dots between tables.
    key: String,
    /// Its value; absent if nothing is set and there is no fixed default.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// Where the value comes from: `default`, `file`, `variable` or `flag`.
    origin: String,
}

/// Read the settings
#[utoipa::path(
    get,
    path = "/settings",
    operation_id = "read_settings",
    tag = "settings",
    responses(
        (status = 200, description = "every setting, and where it comes from", body = SettingsView),
        ErrorBody,
    )
)]
pub(crate) async fn settings(State(shared): State<Shared>) -> Result<Json<SettingsView>, Fault> {
    let settings = shared.parts.agent.settings().clone();
    let reading = tokio::task::spawn_blocking(move || config::all(&settings, &[]));
    let found = match reading.await {
        Ok(found) => found.map_err(|error| Fault::new(Kind::Store, with_causes(&error)))?,
        Err(error) => return Err(Fault::new(Kind::Internal, error.to_string())),
    };
    let row = |setting: config::Setting| SettingRow {
        key: setting.key,
        value: setting.value,
        origin: match setting.origin {
            Origin::Default => "default",
            Origin::File { .. } => "file",
            Origin::Variable(_) => "variable",
            Origin::Flag(_) => "flag",
        }
        .into(),
    };
    Ok(Json(SettingsView { settings: found.into_iter().map(row).collect() }))
}
