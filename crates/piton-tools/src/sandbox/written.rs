//! What settings say of the wall around one program: a tool, a server.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A place as written: whole, or from the user's own directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct WrittenPlace(String);

impl TryFrom<String> for WrittenPlace {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        if text.starts_with('/') || text.starts_with("~/") {
            return Ok(Self(text));
        }
        Err(format!("`{text}` must begin with / or ~/"))
    }
}

impl WrittenPlace {
    /// As it is written.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The place, for a user with this directory.
    pub fn resolve(&self, own: Option<&Path>) -> Result<PathBuf, String> {
        let Some(rest) = self.0.strip_prefix("~/") else { return Ok(PathBuf::from(&self.0)) };
        let place = own.map(|directory| directory.join(rest));
        place
            .filter(|place| place.is_absolute())
            .ok_or_else(|| format!("`{}`: HOME names no directory; begin with /", self.0))
    }
}

/// Whether a program is confined: `true`, `false`, or a table of what is open to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// It is not.
    #[default]
    No,
    /// It is, as `[sandbox]` says.
    Yes,
    /// It is, and more is open to it.
    With(Openings),
}

/// What is open to one program beside what `[sandbox]` opens to all. The same words as there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Openings {
    /// Whether it has a network.
    pub network: Option<bool>,
    /// Whether it may use sockets of this machine.
    pub unix_sockets: Option<bool>,
    /// Further places to write to.
    pub write: Vec<WrittenPlace>,
    /// Places to read that are closed by themselves.
    pub read: Vec<WrittenPlace>,
    /// Variables that it sees although their names are those of secrets or services.
    pub env: Vec<String>,
}

impl<'de> Deserialize<'de> for Confinement {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        field.deserialize_any(Written)
    }
}

struct Written;

impl<'de> Visitor<'de> for Written {
    type Value = Confinement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or a table with write, read, network, unix_sockets or env")
    }

    fn visit_bool<E>(self, is_confined: bool) -> Result<Confinement, E> {
        Ok(if is_confined { Confinement::Yes } else { Confinement::No })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Confinement, A::Error> {
        Openings::deserialize(MapAccessDeserializer::new(map)).map(Confinement::With)
    }
}

impl JsonSchema for Confinement {
    fn schema_name() -> Cow<'static, str> {
        "Confinement".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Openings::json_schema(generator);
        schema.insert("type".into(), ["boolean", "object"].as_slice().into());
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_is_a_word_or_what_is_open_in_it() {
        let read = |text: &str| serde_json::from_str::<Confinement>(text);
        assert_eq!(read("true").unwrap(), Confinement::Yes);
        assert_eq!(read("false").unwrap(), Confinement::No);
        let opened = Openings {
            write: vec![WrittenPlace("~/x".into())],
            network: Some(false),
            ..Openings::default()
        };
        let text = r#"{"write":["~/x"],"network":false}"#;
        assert_eq!(read(text).unwrap(), Confinement::With(opened));
        let fault = |text: &str| read(text).unwrap_err().to_string();
        assert!(fault("\"yes\"").contains("true, false, or a table"), "{}", fault("\"yes\""));
        assert!(fault(r#"{"writes":[]}"#).contains("writes"));
        assert!(fault(r#"{"write":["x"]}"#).contains("must begin with"));
    }

    #[test]
    fn a_place_from_the_users_own_directory_needs_one() {
        let place = |text: &str| WrittenPlace::try_from(text.to_owned()).unwrap();
        assert_eq!(place("~/x").resolve(Some(Path::new("/me"))), Ok("/me/x".into()));
        assert_eq!(place("/x").resolve(None), Ok("/x".into()));
        for nowhere in [None, Some(Path::new(""))] {
            let fault = place("~/x").resolve(nowhere).unwrap_err();
            assert!(fault.starts_with("`~/x`: HOME names no directory"), "{fault}");
        }
    }
}
