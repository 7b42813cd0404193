//! Which texts may have the compiler look at files.
//!
//! Relative names are searched in folders that options name, and in no other. Absolute ones are read wherever
//! they stand: in a source, in a header that is a text, by a macro, or only asked for.

/// Returns whether a text may look at a file: by `#include` or `__has_include` of anything but a relative
/// name. A text in a comment counts, too.
pub(crate) fn may_read_files(text: &str) -> bool {
    let text = joined(text);
    text.match_indices("include").any(|(at, word)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        // Behind `#` in its three spellings, perhaps with a comment between.
        let is_directive = ["#", "%:", "??=", "*/"].iter().any(|start| before.trim_end().ends_with(start));
        (is_directive || before.ends_with("__has_")) && !is_of_relative_name(after)
    })
}

/// Joins lines that end with a backslash.
fn joined(text: &str) -> String {
    text.split_inclusive('\n').fold(String::new(), |all, line| {
        let end = line.trim_end();
        let begun = end.strip_suffix('\\').or_else(|| end.strip_suffix("??/"));
        all + begun.unwrap_or(line)
    })
}

/// Returns whether what follows is a relative name, and no macro.
fn is_of_relative_name(after: &str) -> bool {
    let name = after.trim_start().trim_start_matches('(').trim_start();
    let end = match name.as_bytes().first() {
        Some(b'"') => '"',
        Some(b'<') => '>',
        _ => return false,
    };
    let path = &name[1..];
    path.split([end, '\n']).next().is_some_and(|path| !path.starts_with('/') && !path.contains(['\\', ':']))
}

#[cfg(test)]
mod tests {
    use super::may_read_files;

    #[test]
    fn absolute_names_and_those_of_macros_are_found_however_they_are_written() {
        for text in [
            "#include \"/a.h\"",
            "int a;\n \t# include </a.h>",
            "#include/**/\"/a.h\"",
            "# /* why */ include \"/a.h\"",
            "/* why */ #include \"/a.h\"",
            "#include NAME",
            "#include_next \"a.h\"",
            "#inc\\\nlude \"/a.h\"",
            "#inc\\ \r\nlude \"/a.h\"",
            "#inc??/\nlude \"/a.h\"",
            "??=include \"/a.h\"",
            "%:include \"/a.h\"",
            "\u{b}#\u{b}include\u{b}\"/a.h\"",
            "#if __has_include(\"/a.h\")",
            "#if __has_include ( </a.h> )",
            "#if __has_include(NAME)",
            "#define ASK __has_include",
            "#include \"C:/a.h\"",
            "#include \"\\\\server\\a.h\"",
            "#include \"a.h\"\n#include \"/a.h\"",
        ] {
            assert!(may_read_files(text), "{text:?}");
        }
    }

    #[test]
    fn relative_names_and_other_words_are_none() {
        for text in [
            "",
            "#include \"a.h\"\n#include <b/c.h>\n",
            "#  include \"../a.h\"",
            "#if __has_include(<cuda/std/array>)",
            "// which /usr/include has, and includes: include this",
            "int include = 1, included = 2;",
            "#define A \\\n    1\n",
        ] {
            assert!(!may_read_files(text), "{text:?}");
        }
    }
}
