//! Converts the headers' Doxygen comments to rustdoc's Markdown.
//!
//! It converts paragraphs, parameters, code, cross references and notes. Other commands lose their
//! backslash.

use std::collections::BTreeSet;

/// Lines that begin with these commands mean nothing without NVIDIA's own Doxygen configuration.
const DROPPED: [&str; 9] =
    ["notefnerr", "note_", "defgroup", "ingroup", "addtogroup", "cond", "endcond", "{", "}"];

/// Commands that open a part of the comment, and the Markdown that opens it.
const PARTS: [(&str, &str); 10] = [
    ("brief", ""),
    ("details", ""),
    ("return", "# Returns\n\n"),
    ("returns", "# Returns\n\n"),
    ("sa", "# See also\n\n"),
    ("see", "# See also\n\n"),
    ("note", "**Note:** "),
    ("deprecated", "**Deprecated.** "),
    ("remark", ""),
    ("warning", "**Warning:** "),
];

/// Converts one comment, without its asterisks.
pub(crate) fn to_markdown(comment: &str) -> String {
    let mut markdown = String::new();
    let mut code = false;
    let mut hidden = false;
    let mut parameters = false;
    for line in comment.strip_prefix("< ").unwrap_or(comment).lines() {
        let written = line.trim_end();
        let mut line = written.trim_start();
        let opens_code = line.strip_suffix("\\code").filter(|before| !before.is_empty());
        if let Some(before) = opens_code {
            line = before;
        }
        let (command, rest) = command(line).unwrap_or(("", line));
        match command {
            "code" => {
                markdown.push_str("\n```c\n");
                code = true;
            }
            "endcode" if code => {
                markdown.push_str("```\n\n");
                code = false;
            }
            _ if code => push(&mut markdown, written),
            "xmlonly" | "latexonly" => hidden = !line.contains("\\end"),
            "endxmlonly" | "endlatexonly" => hidden = false,
            _ if hidden => {}
            "" if line.is_empty() => push(&mut markdown, ""),
            "" => push(&mut markdown, &inline(line)),
            "param" => {
                if !std::mem::replace(&mut parameters, true) {
                    markdown.push_str("\n# Parameters\n\n");
                }
                push(&mut markdown, &parameter(rest));
            }
            "section" | "subsection" => push(&mut markdown, &format!("\n**{}**\n", inline(after_word(rest)))),
            "par" => push(&mut markdown, &format!("\n**{}**\n", inline(rest.trim_end_matches(':')))),
            "li" => push(&mut markdown, &format!("- {}", inline(rest))),
            _ => {
                if let Some((_, opening)) = PARTS.iter().find(|(name, _)| *name == command) {
                    push(&mut markdown, &format!("\n{opening}{}", inline(rest)));
                } else if !DROPPED.iter().any(|dropped| command.starts_with(dropped)) {
                    push(&mut markdown, &inline(line));
                }
            }
        }
        if opens_code.is_some() {
            markdown.push_str("\n```c\n");
            code = true;
        }
    }
    if code {
        markdown.push_str("```\n");
    }
    tidy(&markdown)
}

/// Replaces links without a target by code. `names` are those of the bindings.
pub(crate) fn link_known_names(bindings: &str, names: &BTreeSet<&str>) -> String {
    let mut text = String::with_capacity(bindings.len());
    let mut rest = bindings;
    while let Some((before, after)) = rest.split_once("[`") {
        text.push_str(before);
        match after.split_once("`]") {
            Some((name, tail)) if is_name(name) => {
                let linked = names.contains(name);
                text.push_str(&if linked { format!("[`{name}`]") } else { format!("`{name}`") });
                rest = tail;
            }
            _ => {
                text.push_str("[`");
                rest = after;
            }
        }
    }
    text + rest
}

/// Splits off the command that a line begins with, and returns it with the rest. Returns `None` for an
/// inline command.
fn command(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix(['\\', '@'])?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let end = if end == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { end };
    let (name, rest) = (&rest[..end], &rest[end..]);
    let inside = matches!(name, "p" | "c" | "b" | "e" | "n" | "ref");
    (!inside).then(|| (name, rest.trim_start_matches("[in]").trim_start_matches("[out]").trim_start()))
}

fn parameter(rest: &str) -> String {
    let (name, meaning) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let meaning = meaning.trim_start().trim_start_matches(['-', ':']).trim_start();
    format!("- `{name}`: {}", inline(meaning))
}

fn after_word(rest: &str) -> &str {
    rest.split_once(' ').map_or(rest, |(_, after)| after)
}

fn push(markdown: &mut String, line: &str) {
    markdown.push_str(line);
    markdown.push('\n');
}

/// Converts the text of a line word by word, so that punctuation around a name stays outside its markup.
fn inline(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("::") {
            let name = leading_name(after);
            let before = out.chars().next_back();
            if !name.is_empty() && !before.is_some_and(|c| c.is_ascii_alphanumeric()) {
                rest = link(name, &after[name.len()..], &mut out);
                continue;
            }
        }
        if c == '\\' {
            rest = inline_command(rest, &mut out);
            continue;
        }
        if rest.starts_with("http://") || rest.starts_with("https://") {
            let end = rest.find(|c: char| c.is_whitespace() || c == ')').unwrap_or(rest.len());
            out.push_str(&format!("<{}>", &rest[..end]));
            rest = &rest[end..];
            continue;
        }
        if c == '<'
            && let Some(after) = html_tag(rest)
        {
            rest = after;
            continue;
        }
        if matches!(c, '<' | '>' | '[' | ']' | '*' | '`') && !(c == '*' && out.is_empty()) {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// Adds a link to `name` and returns the rest of the text. The text after the link must not turn it into
/// another kind of link.
fn link<'a>(name: &str, rest: &'a str, out: &mut String) -> &'a str {
    out.push_str(&format!("[`{name}`]"));
    let rest = rest.strip_prefix("()").unwrap_or(rest);
    if rest.starts_with(['(', '[', ':']) {
        out.push('\\');
    }
    rest
}

/// Converts a backslash inside a line and returns the rest of the text.
fn inline_command<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let after = &rest[1..];
    let name = leading_name(after);
    let tail = after[name.len()..].trim_start();
    match name {
        "p" | "c" | "e" | "b" => {
            let word_end = tail
                .find(|c: char| !(c.is_ascii_alphanumeric() || "_:->.*&".contains(c)))
                .unwrap_or(tail.len());
            let word = tail[..word_end].trim_end_matches(['.', ':', '-']);
            out.push_str(&if word.is_empty() {
                String::new()
            } else {
                format!("`{}`", word.trim_start_matches(':'))
            });
            &tail[word.len()..]
        }
        "ref" => {
            let target = leading_name(tail.trim_start_matches(':'));
            let tail = &tail.trim_start_matches(':')[target.len()..];
            match tail.trim_start().strip_prefix('"').and_then(|quoted| quoted.split_once('"')) {
                Some((text, tail)) => {
                    out.push_str(text);
                    tail
                }
                None => link(target, tail, out),
            }
        }
        "n" => {
            out.push_str("\n\n");
            tail
        }
        _ => after,
    }
}

/// Returns the text after an HTML tag that only affects the layout.
fn html_tag(rest: &str) -> Option<&str> {
    let (tag, after) = rest[1..].split_once('>')?;
    let name = tag.trim_start_matches('/');
    let known =
        ["table", "tr", "td", "th", "ul", "li", "tt", "p", "b", "i", "br", "sup", "sub", "entry", "row"];
    known.contains(&name.split(' ').next()?).then_some(after)
}

fn leading_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && leading_name(text) == text
}

/// Removes empty lines at either end, and all but one of several in a row.
fn tidy(markdown: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    for line in markdown.lines().map(str::trim_end) {
        if !(line.is_empty() && lines.last().is_none_or(|last| last.is_empty())) {
            lines.push(line);
        }
    }
    lines.join("\n").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_comment_gets_its_parts() {
        let comment = " \\brief Does a thing\n\n Gives \\p count bytes to ::cudaFree().\n \\param a  - \
                       First\n \\param[out] b - Second\n\
                       \n \\return\n ::cudaSuccess,\n \\notefnerr\n\n \\sa ::cudaX, ::cudaY";
        let expected = "Does a thing\n\nGives `count` bytes to [`cudaFree`].\n\n# Parameters\n\n- `a`: \
                        First\n- `b`: Second\n\
                        \n# Returns\n\n[`cudaSuccess`],\n\n# See also\n\n[`cudaX`], [`cudaY`]";
        assert_eq!(to_markdown(comment), expected);
    }

    #[test]
    fn code_is_fenced_and_left_alone() {
        let markdown = to_markdown("Text\n \\code\n  int a[1]; ::x <b>\n \\endcode\nMore");
        assert_eq!(markdown, "Text\n\n```c\n  int a[1]; ::x <b>\n```\n\nMore");
        assert_eq!(to_markdown("Text: \\code\nx\n\\endcode"), "Text:\n\n```c\nx\n```");
    }

    #[test]
    fn what_markdown_would_take_for_markup_is_escaped() {
        assert_eq!(to_markdown("a < b, c[1] and https://x.y/z."), "a \\< b, c\\[1\\] and <https://x.y/z.>");
        assert_eq!(to_markdown("<tt>x</tt> <li>y"), "x y");
    }

    #[test]
    fn indented_text_is_not_taken_for_code() {
        assert_eq!(to_markdown("- one\n        two"), "- one\ntwo");
    }

    #[test]
    fn references_take_their_text_or_their_name() {
        assert_eq!(
            to_markdown("see \\ref group \"the page\" or \\ref ::cudaX()"),
            "see the page or [`cudaX`]"
        );
    }

    #[test]
    fn a_reference_is_not_turned_into_a_link_to_elsewhere() {
        assert_eq!(to_markdown("::cudaX: that\n::cudaY(1)"), "[`cudaX`]\\: that\n[`cudaY`]\\(1)");
    }

    #[test]
    fn only_known_names_stay_links() {
        let names = BTreeSet::from(["cudaX"]);
        assert_eq!(link_known_names("[`cudaX`] [`cuY`] [`a b`] [`", &names), "[`cudaX`] `cuY` [`a b`] [`");
    }
}
