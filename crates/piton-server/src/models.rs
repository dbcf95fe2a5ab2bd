//! The models that can be chosen, as far as they are known without asking anybody.

use piton_agent::{Agent, KeyFrom, known, typed};
use piton_page::Model;

/// Tokens that are told as one thing.
const THOUSAND: u64 = 1_000;

/// Whether a provider can be asked: a key is there, or none is needed.
pub(crate) fn is_ready(agent: &Agent, provider: &str) -> bool {
    let environment = &agent.settings().environment;
    match agent.providers().get(provider).map(|provider| &provider.key) {
        Some(KeyFrom::Variables(names)) => {
            names.iter().any(|name| environment.text(name).is_some())
        }
        Some(KeyFrom::Nowhere | KeyFrom::Command(_)) => true,
        None => false,
    }
}

/// Those that a page offers: the one that is set first, then those with a key, and the demo model.
pub(crate) fn choices(agent: &Agent) -> Vec<Model> {
    let mut choices: Vec<Model> = Vec::new();
    let default = agent.default_model().ok();
    choices.extend(default.map(|model| {
        let name = typed(&model);
        let price = known::KnownModel::find(&name).and_then(|known| known.price);
        Model { name, shown: model.plain(), about: String::new(), price }
    }));
    let ready = known::KNOWN.iter().filter(|it| is_ready(agent, it.provider));
    choices.extend(ready.map(|it| Model {
        name: it.typed(),
        shown: it.typed(),
        about: format!("{}k", it.window / THOUSAND),
        price: it.price,
    }));
    let (name, about) = ("demo".to_owned(), "no language model".to_owned());
    choices.push(Model { shown: name.clone(), name, about, price: None });
    let mut seen = std::collections::BTreeSet::new();
    choices.retain(|it| seen.insert(it.name.clone()));
    choices
}
