//! Who answers, where keys of several providers are there and nobody has chosen. Asked once.

use piton_agent::{Settings, rules, typed};
use piton_core::view::ModelRef;

use super::stage::Stage;
use crate::ask::not_understood;
use crate::report::Fault;

/// Asks a person, and keeps the choice in the settings.
pub(super) async fn choose(
    models: &[ModelRef],
    settings: &Settings,
    stage: &mut Stage<'_>,
) -> Result<ModelRef, Fault> {
    let rows = models.iter().enumerate();
    let rows: Vec<String> =
        rows.map(|(place, model)| format!("  {}  {}\n", place + 1, typed(model))).collect();
    let menu = format!(
        "There are keys for several providers, and no model is chosen. Who answers from now on?\n{}> ",
        rows.concat()
    );
    let mut unclear = String::new();
    let chosen = loop {
        let line = stage.ask(&format!("{unclear}{menu}")).await?;
        let place = line.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let named = models.iter().find(|model| typed(model) == line.trim());
        if let Some(model) = place.and_then(|place| models.get(place)).or(named) {
            break model.clone();
        }
        unclear = not_understood(&format!("a number from 1 to {}", models.len()));
    };
    let kept =
        settings.file.as_deref().map(|file| rules::file::choose_model(file, &typed(&chosen)));
    match (kept, &settings.file) {
        (Some(Ok(())), Some(file)) => {
            let note = format!("kept as model in {}; --model chooses another one", file.display());
            stage.output.talk(&note);
        }
        (Some(Err(error)), _) => stage.output.talk(&format!("warning: not kept: {error}")),
        (Some(Ok(())) | None, _) => {}
    }
    Ok(chosen)
}
