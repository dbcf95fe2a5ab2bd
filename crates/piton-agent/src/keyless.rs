//! Keys of providers leave the environment of this process before anything else begins.
//!
//! Who may look at a process reads the environment that it was started with, whatever it did to it since. So a
//! process that has a key there executes its own program once more, without that variable. It stays the same
//! process, with the same arguments, files and number; the keys go along in a [`parcel`], and are handed on as
//! data. Costs a start of the program, and only where there is a key.

mod parcel;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

use piton_tools::read_regular;
use toml::Table;
use zeroize::Zeroizing;

use crate::environment::{Environment, Keys};
use crate::{providers, settings};

/// The environment of this process, whose keys nobody else can see. Before there are threads: if there are keys to
/// put away, this program begins anew.
///
/// Where that is not possible, all is as it was.
pub fn keyless_environment() -> Environment {
    let environment = Environment::of_process();
    if let Some(keys) = parcel::unpack() {
        return environment.with_keys(keys);
    }
    let keys = keys_in(&environment);
    if !keys.is_empty() {
        parcel::begin_anew(&keys);
    }
    environment
}

/// The keys that are in the environment.
fn keys_in(environment: &Environment) -> Keys {
    let key = |name: String| {
        let key = environment.value(&name)?.as_bytes().to_vec();
        Some((OsString::from(name), Zeroizing::new(key)))
    };
    key_variables(environment).into_iter().filter_map(key).collect()
}

/// The variables in which a key is expected. Settings that make no sense are told later, by those who need them.
fn key_variables(environment: &Environment) -> BTreeSet<String> {
    let file = settings::file_in(environment).ok().flatten();
    let text = file.and_then(|file| read_regular(&file).ok()).unwrap_or_default();
    let usual = providers::usual_key_variables().map(str::to_owned);
    usual.chain(named_in(&text)).collect()
}

/// The variables that settings name as those of keys.
fn named_in(settings: &str) -> Vec<String> {
    const NAME: &str = "key_env";
    // Reading the settings twice costs every start of the program.
    if !settings.contains(NAME) {
        return Vec::new();
    }
    let settings: Table = settings.parse().unwrap_or_default();
    let providers = settings.get("providers").and_then(|it| it.as_table());
    let named =
        providers.into_iter().flat_map(Table::values).filter_map(|it| it.get(NAME)?.as_str());
    named.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_name_further_variables_of_keys() {
        let text = "[providers.a]\nkey_env = \"A\"\n[providers.b]\nkey_command = [\"key_env\"]\n\
                    [providers]\nc.key_env = 7\nd = \"x\"\n";
        assert_eq!(named_in(text), ["A"]);
        let half = format!("{text}[providers.e\n");
        assert!(named_in(&half).is_empty(), "what makes no sense names nothing");
        let text =
            "providers.b.key_command = [\"x\"]\nproviders.a.key_env = \"A\"\nx.key_env = \"X\"\n";
        assert_eq!(named_in(text), ["A"]);
    }

    #[test]
    fn keys_are_those_of_the_environment_that_providers_expect() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("piton.toml");
        fs::write(file, "[providers.w]\nkey_env = \"WORK\"\n").unwrap();
        let home = directory.path().to_str().unwrap();
        let variables =
            [("PITON_HOME", home), ("WORK", "w"), ("GEMINI_API_KEY", "g"), ("OPENAI_API_KEY", "")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let keys = keys_in(&Environment::new("/".into(), variables));
        let shown: Vec<_> =
            keys.iter().map(|(name, key)| (name.to_str().unwrap(), &***key)).collect();
        assert_eq!(shown, [("GEMINI_API_KEY", b"g".as_slice()), ("WORK", b"w")]);
    }
}
