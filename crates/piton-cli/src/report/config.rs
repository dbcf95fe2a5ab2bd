//! Settings that cannot be loaded, shown or changed.

use piton_agent::config::ConfigError;
use piton_agent::{EditError, FileError, LoadError};

use super::code::Code;

/// What helps with providers.
pub(super) const PROVIDERS: &str = "piton models shows the providers and what they lack";

/// What to do about settings that cannot be loaded.
pub(crate) fn loading(error: &LoadError) -> String {
    match error {
        LoadError::File(FileError::Read { .. }) => "see that it is a file that you may read".into(),
        LoadError::File(FileError::Parse { page, .. }) => {
            format!("mend the file; {page} has its form")
        }
        LoadError::Provider(_) => PROVIDERS.into(),
        LoadError::Variable { .. } => "set it to something else, or unset it".into(),
    }
}

/// The exit code.
pub(super) fn code(error: &ConfigError) -> Code {
    match error {
        ConfigError::Unknown { .. }
        | ConfigError::Key(_)
        | ConfigError::NoFile
        | ConfigError::Load(_)
        | ConfigError::Edit(EditError::Parse { .. }) => Code::Usage,
        ConfigError::Edit(EditError::Write { .. } | EditError::Changed { .. }) => Code::Failed,
    }
}

/// What to do.
pub(super) fn hints(error: &ConfigError) -> Vec<String> {
    let hint = match error {
        ConfigError::Unknown { .. } | ConfigError::Key(_) => {
            "piton config shows the settings; piton help settings says what they mean".into()
        }
        ConfigError::NoFile => "set HOME, or PITON_HOME to a directory".into(),
        ConfigError::Load(error) => loading(error),
        ConfigError::Edit(EditError::Parse { .. }) => {
            "nothing was changed; piton help settings says what can be set".into()
        }
        ConfigError::Edit(EditError::Changed { .. }) => "nothing was lost; try again".into(),
        ConfigError::Edit(EditError::Write { .. }) => "see that you may write the file".into(),
    };
    vec![hint]
}
