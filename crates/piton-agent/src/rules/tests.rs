use crate::settings_file::SettingsFile;

/// A rule that is in order, and behind it one that has this in line 7.
fn refused(field: &str) -> String {
    let text = format!(
        "[[permissions]]\ntool = \"shell\"\neffect = \"ask\"\n\n[[permissions]]\ntool = \"fetch\"\n\
         {field}\neffect = \"allow\"\n"
    );
    SettingsFile::parse(&text).expect_err(field)
}

// D47: a rule that would say something else than it seems to is refused where it stands.
#[test]
fn a_fault_in_a_rule_is_shown_with_its_line_and_its_field() {
    for (field, why) in [
        ("arguments = {}", "names none, so the rule would be for every call of the tool"),
        ("arguments = { url = '(' }", "unclosed group"),
        ("arguments = { url = '(?:a{1000}){1000}' }", "size limit"),
        ("path = '['", "`[` means nothing in a path"),
        ("path = '/home/me/x/.env'", "relative to the workspace"),
        ("path = 'secret/'", "write `secret`"),
        ("command = 'a && b'", "written in plain words"),
        ("workspace = 'x'", "a path that begins with /"),
        ("effects = 'deny'", "there is no key `effects`; did you mean `effect`?"),
    ] {
        let told = refused(field);
        assert!(told.contains("line 7,"), "{told}");
        assert!(told.contains(&format!("| {field}")), "{told}");
        assert!(told.contains(why), "{told}");
    }
}

#[test]
fn a_fault_is_shown_with_its_line_in_a_list_of_rules_too() {
    let text = "permissions = [\n  { tool = \"a\", effect = \"ask\" },\n  \
                { tool = \"b\", path = \"[\", effect = \"deny\" },\n]\n";
    let told = SettingsFile::parse(text).unwrap_err();
    assert!(told.contains("line 3,") && told.contains("tool = \"b\""), "{told}");
}
