//! How a call is prepared and settled if its tool does not say.

use std::path::Path;

use piton_core::event::{ArgumentRole, EffectClass, ToolSpec};
use serde_json::Value;

use super::arguments::{Arguments, refuse_unfit};
use super::prepared::{Prepared, Settled};
use super::real_path::real;
use super::refusal::Refusal;
use super::site::Site;

/// Checks arguments against the schema of a tool, and the paths that it declares against the site.
pub(super) fn default_prepare(
    spec: &ToolSpec,
    site: &Site,
    arguments: &Arguments,
) -> Result<Prepared, Refusal> {
    match spec.effect {
        EffectClass::ReadOnly | EffectClass::Idempotent | EffectClass::Once => {}
        EffectClass::Digested | EffectClass::Supervised | EffectClass::Child => {
            return Err(Refusal(format!(
                "the tool `{}` does not record what would settle its calls after a crash, as its \
                 effect class demands: nothing was done",
                spec.name
            )));
        }
    }
    refuse_unfit(&spec.parameters, arguments)?;
    let mut path = None;
    for (name, role) in &spec.roles {
        if !matches!(role, ArgumentRole::Path | ArgumentRole::WorkspacePath) {
            continue;
        }
        for written in texts(arguments.get(name)) {
            let beneath = beneath(site, written, *role)?;
            path = path.or(beneath);
        }
    }
    Ok(Prepared { path, ..Prepared::default() })
}

fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The path from the workspace, behind all links, or whole in an added directory; `None` if it is
/// elsewhere and may be.
fn beneath(site: &Site, written: &str, role: ArgumentRole) -> Result<Option<String>, Refusal> {
    let path = real(&site.workspace.join(written));
    if site.closed.holds(&path) {
        return Err(Refusal(format!(
            "`{written}` is one of piton's own files, which no tool touches"
        )));
    }
    let beneath = path.strip_prefix(&site.workspace).ok().and_then(Path::to_str);
    let added = || path.to_str().filter(|_| site.added(&path).is_some());
    match beneath.or_else(added) {
        Some("") => Ok(Some(".".into())),
        Some(beneath) => Ok(Some(beneath.to_owned())),
        None if role == ArgumentRole::WorkspacePath => {
            Err(Refusal(format!("`{written}` is outside {}: use a path inside", site.told())))
        }
        None => Ok(None),
    }
}

/// What may run twice was as good as not run; of all else nothing is known.
pub(super) fn default_settle(effect: EffectClass) -> Settled {
    match effect {
        EffectClass::ReadOnly | EffectClass::Idempotent => Settled::NotApplied,
        EffectClass::Digested
        | EffectClass::Supervised
        | EffectClass::Child
        | EffectClass::Once => Settled::Unknown(
            "it was started, then the agent died: whether it took effect is not known".into(),
        ),
    }
}
