//! Schemas of tools, without what providers refuse at their root.
//!
//! A server of tools may say of its arguments anything that JSON Schema can say; providers take an
//! object with properties, and refuse the whole request for one tool that combines schemas at its
//! root. One rule serves all dialects: the narrowest. A schema that fits travels byte for byte.
//! Any other is folded into the properties that its forms have together, with what all of them
//! need, and the description says what is not shown. So it takes more than the tool does, never
//! less: the tool itself refuses the rest. What stands below the root is copied, not read.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use piton_core::event::ToolSpec;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// What no root keeps.
const REFUSED: [&str; 6] = ["oneOf", "anyOf", "allOf", "enum", "not", "$ref"];
/// What is left where the rest of a schema points into what was taken out.
const ANY_OBJECT: &str = r#"{"type":"object","properties":{}}"#;
/// Most schemas that are folded into one: they may name each other in circles.
const SCHEMAS_MAX: usize = 64;
/// Longest list of forms in a description, in bytes.
const FORMS_BYTES_MAX: usize = 400;

/// A tool as every provider takes it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fitted<'a> {
    pub(crate) description: Cow<'a, str>,
    pub(crate) parameters: Cow<'a, str>,
}

/// Folds the schema of a tool, if it has to be. One that is not an object is left to its dialect.
pub(crate) fn fitted(tool: &ToolSpec) -> Fitted<'_> {
    let (description, parameters) = (&*tool.description, &*tool.parameters);
    match Members::of(parameters) {
        Some(root) if root.0.iter().any(|(key, _)| REFUSED.contains(&key.as_str())) => {
            let mut folding = Folding { root: parameters, left: SCHEMAS_MAX, ..Folding::default() };
            let shape = folding.shape(&root);
            let description = folding.told(description, &root);
            Fitted { description, parameters: Cow::Owned(shape.written(&root)) }
        }
        Some(_) | None => Fitted {
            description: Cow::Borrowed(description),
            parameters: Cow::Borrowed(parameters),
        },
    }
}

/// The members of an object in their order, with their values as they are written.
#[derive(Debug, Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// A schema that an object can fit; `true` is one, too.
    fn of_object(text: &'a str) -> Option<Self> {
        if text == "true" {
            return Some(Self::default());
        }
        let members = Self::of(text)?;
        let is_object = members.get("type").is_none_or(|kind| kind.contains("\"object\""));
        is_object.then_some(members)
    }

    /// Of two with one name, parsers take the last.
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }

    fn read<T: Deserialize<'a> + Default>(&self, name: &str) -> T {
        self.get(name).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn branches(&self, name: &str) -> Vec<Self> {
        let all: Vec<&RawValue> = self.read(name);
        all.into_iter().filter_map(|branch| Self::of_object(branch.get())).collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A property: where it was first read of, and what is said of it in forms that exclude each other.
#[derive(Clone, Debug)]
struct Property<'a> {
    place: usize,
    forms: Vec<&'a str>,
}

/// What is known of an object.
#[derive(Clone, Debug, Default)]
struct Shape<'a> {
    properties: BTreeMap<String, Property<'a>>,
    required: BTreeSet<String>,
}

impl<'a> Shape<'a> {
    /// Both hold. What was said first of a property stays: two schemas at a time can be said only
    /// with words that some providers refuse.
    fn and(&mut self, other: Self) {
        for (name, property) in other.properties {
            self.properties.entry(name).or_insert(property);
        }
        self.required.extend(other.required);
    }

    /// One of both holds.
    fn or(mut self, other: Self) -> Self {
        for (name, property) in other.properties {
            let Some(known) = self.properties.get_mut(&name) else {
                self.properties.insert(name, property);
                continue;
            };
            for form in property.forms {
                if !known.forms.contains(&form) {
                    known.forms.push(form);
                }
            }
        }
        self.required.retain(|name| other.required.contains(name));
        self
    }

    /// The only value that a property can have.
    fn constant(&self, name: &str) -> Option<&'a str> {
        let [form] = *self.properties.get(name)?.forms.as_slice() else { return None };
        let members = Members::of(form)?;
        let listed: Vec<&RawValue> = members.read("enum");
        let [only] = *listed.as_slice() else { return members.get("const") };
        Some(only.get())
    }

    /// The root with these properties in the place of its own.
    fn written(&self, root: &Members<'_>) -> String {
        let member = |name: &str, value: &str| format!("{}:{value}", Value::from(name));
        let is_kept =
            |name: &str| !REFUSED.contains(&name) && !["properties", "required"].contains(&name);
        let kept = root.0.iter().filter(|(name, _)| is_kept(name));
        let mut members: Vec<_> = kept.map(|(name, value)| member(name, value.get())).collect();
        if root.get("type").is_none() {
            members.insert(0, member("type", "\"object\""));
        }
        let mut properties: Vec<_> = self.properties.iter().collect();
        properties.sort_by_key(|(_, property)| property.place);
        let properties = properties.into_iter().map(|(name, property)| {
            let forms = property.forms.join(",");
            let is_one = property.forms.len() == 1;
            member(name, &if is_one { forms } else { format!("{{\"anyOf\":[{forms}]}}") })
        });
        let properties: Vec<_> = properties.collect();
        members.push(format!("\"properties\":{{{}}}", properties.join(",")));
        if !self.required.is_empty() {
            let required = self.required.iter().map(|name| Value::from(name.as_str()));
            members.push(member("required", &required.collect::<Value>().to_string()));
        }
        let text = format!("{{{}}}", members.join(","));
        let points_nowhere = |key: &&str| text.contains(&format!("\"#/{key}/"));
        if REFUSED.iter().any(points_nowhere) { ANY_OBJECT.into() } else { text }
    }
}

/// A root on its way to a shape.
#[derive(Debug, Default)]
struct Folding<'a> {
    root: &'a str,
    /// Schemas that may still be read.
    left: usize,
    /// Properties that were read.
    read: usize,
    /// In how many forms that exclude others this one stands.
    within: usize,
    /// What the model has to know.
    notes: Vec<String>,
}

impl<'a> Folding<'a> {
    fn shape(&mut self, schema: &Members<'a>) -> Shape<'a> {
        let Some(left) = self.left.checked_sub(1) else { return Shape::default() };
        self.left = left;
        let mut shape = self.own(schema);
        let target = schema.get("$ref").and_then(|pointer| self.target(pointer));
        for part in target.into_iter().chain(schema.branches("allOf")) {
            let part = self.shape(&part);
            shape.and(part);
        }
        for (key, how_many) in [("oneOf", "exactly one"), ("anyOf", "at least one")] {
            self.within += 1;
            let forms = schema.branches(key).into_iter().map(|form| self.shape(&form));
            let forms: Vec<_> = forms.collect();
            self.within -= 1;
            if self.within == 0 && 1 < forms.len() {
                self.notes.push(choice(how_many, &forms, &shape));
            }
            if let Some(any) = forms.into_iter().reduce(Shape::or) {
                shape.and(any);
            }
        }
        shape
    }

    /// What a schema says itself.
    fn own(&mut self, schema: &Members<'a>) -> Shape<'a> {
        let Members(properties) =
            schema.get("properties").and_then(Members::of).unwrap_or_default();
        let property = |(name, value): (String, &'a RawValue)| {
            self.read += 1;
            (name, Property { place: self.read, forms: vec![value.get()] })
        };
        let properties = properties.into_iter().map(property).collect();
        Shape { properties, required: schema.read("required") }
    }

    /// What a pointer into the same schema points to.
    fn target(&self, pointer: &'a str) -> Option<Members<'a>> {
        let pointer: String = serde_json::from_str(pointer).ok()?;
        let mut text = self.root;
        for step in pointer.strip_prefix('#')?.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            text = if let Some(members) = Members::of(text) {
                members.get(&step)?
            } else {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                items.get(step.parse::<usize>().ok()?)?.get()
            };
        }
        Members::of_object(text)
    }

    /// The description, with what the schema does not say any more.
    fn told(mut self, description: &'a str, root: &Members<'_>) -> Cow<'a, str> {
        let unsaid: Vec<&str> =
            ["allOf", "enum", "not"].into_iter().filter(|key| root.get(key).is_some()).collect();
        if !unsaid.is_empty() {
            let unsaid = unsaid.join(", ");
            self.notes.push(format!("It may refuse some combinations of arguments ({unsaid})."));
        }
        let notes = self.notes.join(" ");
        match (description.trim_end(), notes.is_empty()) {
            (_, true) => Cow::Borrowed(description),
            ("", false) => Cow::Owned(notes),
            (description, false) => Cow::Owned(format!("{description}\n{notes}")),
        }
    }
}

/// Which arguments go together: `exactly one of these forms: {kind="a", path} or {url}`.
fn choice(how_many: &str, forms: &[Shape<'_>], common: &Shape<'_>) -> String {
    let listed = forms.iter().map(|form| {
        let needs = form.required.iter().filter_map(|name| match form.constant(name) {
            Some(value) => Some(format!("{name}={value}")),
            None => (!common.required.contains(name)).then(|| name.clone()),
        });
        needs.collect::<Vec<_>>().join(", ")
    });
    let listed: Vec<String> = listed.collect();
    let told = format!("{{{}}}", listed.join("} or {"));
    if listed.iter().any(String::is_empty) || FORMS_BYTES_MAX < told.len() {
        let count = forms.len();
        return format!("Its arguments fit {how_many} of {count} forms, shown here as one.");
    }
    format!("Its arguments fit {how_many} of these forms: {told}.")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use piton_core::event::EffectClass;

    use super::*;

    fn tool(parameters: &str) -> ToolSpec {
        ToolSpec::new("t", "Does. ", parameters, EffectClass::Once)
    }

    fn check(parameters: &str, expected: Expect) {
        let tool = tool(parameters);
        let Fitted { description, parameters } = fitted(&tool);
        expected.assert_eq(&format!("{parameters}\n{description}"));
    }

    #[test]
    fn what_fits_travels_as_it_is() {
        for parameters in [
            r#" {"type" : "object", "properties":{"a":{"oneOf":[{},{"not":{}}]}}, "z":1, "b":[]} "#,
            r##"{"if":{},"then":{"anyOf":[{"$ref":"#/x"}]},"$defs":{"enum":{"enum":[1]}}}"##,
            "{}",
            "[]",
            "no JSON",
            "",
        ] {
            let tool = tool(parameters);
            let fitted = fitted(&tool);
            assert!(matches!(fitted.parameters, Cow::Borrowed(text) if text == parameters));
            assert!(matches!(fitted.description, Cow::Borrowed("Does. ")));
        }
    }

    #[test]
    fn forms_are_folded_into_one() {
        // The most usual: which of the properties must be there.
        check(
            r#"{"type":"object","properties":{"z":{"type":"string"},"a":{}},"required":["k"],
                "anyOf":[{"required":["z"]},{"required":["a","k"]}],"additionalProperties":false}"#,
            expect![[r#"
                {"type":"object","additionalProperties":false,"properties":{"z":{"type":"string"},"a":{}},"required":["k"]}
                Does.
                Its arguments fit at least one of these forms: {z} or {a}."#]],
        );
        // A tagged union, by reference.
        check(
            r##"{"oneOf":[{"$ref":"#/$defs/file"},{"$ref":"#/$defs/a~1b"},{"type":"null"}],
                "discriminator":{"propertyName":"kind"},"$defs":{
                "file":{"type":"object","properties":{"kind":{"const":"file"},"path":{ "type":"string" }},
                "required":["kind","path"]},
                "a/b":{"properties":{"kind":{"enum":["url"]},"url":{},"path":{ "type":"string" }},
                "required":["kind","url"]}}}"##,
            expect![[r#"
                {"type":"object","discriminator":{"propertyName":"kind"},"$defs":{
                                "file":{"type":"object","properties":{"kind":{"const":"file"},"path":{ "type":"string" }},
                                "required":["kind","path"]},
                                "a/b":{"properties":{"kind":{"enum":["url"]},"url":{},"path":{ "type":"string" }},
                                "required":["kind","url"]}},"properties":{"kind":{"anyOf":[{"const":"file"},{"enum":["url"]}]},"path":{ "type":"string" },"url":{}},"required":["kind"]}
                Does.
                Its arguments fit exactly one of these forms: {kind="file", path} or {kind="url", url}."#]],
        );
        // All of them, one of which is a choice.
        check(
            r#"{"allOf":[{"properties":{"b":{},"a":{"x":1}},"required":["b"]},
                {"oneOf":[{"properties":{"c":{}}},true]},{"properties":{"a":{"x":2}},"required":["a"]}]}"#,
            expect![[r#"
                {"type":"object","properties":{"b":{},"a":{"x":1},"c":{}},"required":["a","b"]}
                Does.
                Its arguments fit exactly one of 2 forms, shown here as one. It may refuse some combinations of arguments (allOf)."#]],
        );
    }

    #[test]
    fn what_cannot_be_folded_is_left_out() {
        check(
            r#"{"type":"object","enum":[{"a":1}],"not":{"required":["a"]},"oneOf":7}"#,
            expect![[r#"
                {"type":"object","properties":{}}
                Does.
                It may refuse some combinations of arguments (enum, not)."#]],
        );
        check(
            r##"{"$ref":"#/definitions/none","title":"T"}"##,
            expect![[r#"
                {"type":"object","title":"T","properties":{}}
                Does. "#]],
        );
        check(
            r##"{"$ref":"#","properties":{"self":{"$ref":"#"}}}"##,
            expect![[r##"
                {"type":"object","properties":{"self":{"$ref":"#"}}}
                Does. "##]],
        );
        check(
            r##"{"anyOf":[{"properties":{"a":{}}},{"properties":{"b":{"$ref":"#/anyOf/0/properties/a"}}}]}"##,
            expect![[r#"
                {"type":"object","properties":{}}
                Does.
                Its arguments fit at least one of 2 forms, shown here as one."#]],
        );
    }

    #[test]
    fn schemas_that_name_each_other_without_end_are_cut() {
        let twice = r##"[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]"##;
        let schema = format!(r#"{{"anyOf":{twice},"$defs":{{"a":{{"allOf":{twice}}}}}}}"#);
        let tool = tool(&schema);
        let Fitted { parameters, .. } = fitted(&tool);
        assert!(parameters.ends_with(r#""properties":{}}"#), "{parameters}");
    }
}
