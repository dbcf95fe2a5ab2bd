use super::*;

#[test]
fn a_pattern_names_tools_by_their_letters() {
    for (pattern, tool, expected) in [
        ("shell", "shell", true),
        ("shell", "shell_write", false),
        ("*", "shell", true),
        ("*", "", true),
        ("shell*", "shell_write", true),
        ("*_file", "write_file", true),
        ("*_file", "write_files", false),
        ("files__*", "files__read", true),
        ("files__*", "file__read", false),
        ("a*a", "a", false),
        ("a*b*c", "axbyc", true),
        ("a*b*c", "axyc", false),
        ("a**c", "ac", true),
        ("*b*", "abc", true),
        ("", "shell", false),
    ] {
        assert_eq!(names_tool(pattern, tool), expected, "{pattern:?} and {tool:?}");
    }
}

#[test]
fn a_tool_is_hooked_if_one_pattern_names_it() {
    let hooked = vec!["shell".into(), "*_file".into()];
    let permissions = Permissions { hooked, ..Permissions::default() };
    for (tool, expected) in [("shell", true), ("edit_file", true), ("grep", false)] {
        assert_eq!(is_hooked(&permissions, tool), expected, "{tool}");
    }
    assert!(!is_hooked(&Permissions::default(), "shell"));
}
