//! The sections of a response: headings of the second level, and the last fenced block as the code.
//!
//! It does not parse the code: `pyautogui` does.

/// A response by section; absent sections are empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sections<'a> {
    pub(super) observation: &'a str,
    pub(super) thought: &'a str,
    pub(super) action: &'a str,
    pub(super) code: Option<&'a str>,
}

impl<'a> Sections<'a> {
    /// Splits a text into sections.
    pub(super) fn of(text: &'a str) -> Self {
        let mut sections = Self::default();
        let headings = headings(text);
        let ends = headings.iter().skip(1).map(|heading| heading.start);
        for (heading, end) in headings.iter().zip(ends.chain([text.len()])) {
            let content = text[heading.content..end].trim();
            match heading.name {
                "observation" => sections.observation = content,
                "thought" => sections.thought = content,
                "action" => sections.action = without_code(content),
                _ => sections.code = unfenced(content),
            }
        }
        sections.code = last_block(text).or(sections.code);
        if headings.is_empty() {
            sections.thought = without_code(text).trim();
        }
        sections
    }

    /// Returns the model's description of what it does.
    pub(super) fn words(&self) -> &'a str {
        if self.action.is_empty() {
            self.thought
        } else {
            self.action
        }
    }
}

struct Heading {
    name: &'static str,
    /// Start of the heading's line, in bytes.
    start: usize,
    /// Start of its content, in bytes.
    content: usize,
}

const NAMES: &[&str] = &["observation", "thought", "action", "code"];

fn headings(text: &str) -> Vec<Heading> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some((name, length)) = heading(line) {
            found.push(Heading {
                name,
                start,
                content: start + length,
            });
        }
        start += line.len();
    }
    found
}

/// Returns the name of a heading and its length in the line: text after the colon belongs to the content.
fn heading(line: &str) -> Option<(&'static str, usize)> {
    let words = line.trim_start().strip_prefix("##")?.trim_start();
    let name = NAMES.iter().copied().find(|name| {
        let begins = words
            .get(..name.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(name));
        begins && !words[name.len()..].starts_with(|c: char| c.is_alphanumeric())
    })?;
    let behind = words[name.len()..].trim_start_matches([' ', ':', '：']);
    Some((name, line.len() - behind.len()))
}

/// Returns the content of the last fenced code block; `None` if a fence is left open, since the text may be truncated.
fn last_block(text: &str) -> Option<&str> {
    if !text.matches("```").count().is_multiple_of(2) {
        return None;
    }
    let mut fences = text.rmatch_indices("```").map(|(at, _)| at);
    let end = fences.next()?;
    let start = fences.next()?;
    let inner = &text[start + 3..end];
    let inner = ["python", "code"]
        .into_iter()
        .find_map(|language| inner.strip_prefix(language))
        .unwrap_or(inner);
    Some(inner.trim())
}

/// Returns code without a fence; `None` if there is a fence, which then does not end.
fn unfenced(content: &str) -> Option<&str> {
    (!content.is_empty() && !content.contains("```")).then_some(content)
}

fn without_code(text: &str) -> &str {
    text.split("```").next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, thought: &str, action: &str, code: Option<&str>) {
        let sections = Sections::of(text);
        let found = (sections.thought, sections.action, sections.code);
        assert_eq!(found, (thought, action, code), "{text}");
    }

    #[test]
    fn response_sections_are_parsed() {
        check(
            "# Step 4:\n## Thought:\nThe dialog is open…\n## Action:\nClick the Save button.\n## Code:\n```python\npyautogui.click(x=644, y=364)\n```",
            "The dialog is open…",
            "Click the Save button.",
            Some("pyautogui.click(x=644, y=364)"),
        );
        check(
            "## Thought: Done.\n\n## Action: End.\n\n## Code:\n```code\ncomputer.terminate(status=\"success\")\n```\n",
            "Done.",
            "End.",
            Some("computer.terminate(status=\"success\")"),
        );
        check(
            "##Action\nWait.\n## Code\ncomputer.wait()",
            "",
            "Wait.",
            Some("computer.wait()"),
        );
        check(
            "I wait.\n```\ncomputer.wait()\n```",
            "I wait.",
            "",
            Some("computer.wait()"),
        );
        check(
            "```python\na()\n```\nor rather\n```python\nb()\n```",
            "",
            "",
            Some("b()"),
        );
        check("## Code:\n```python\npyautogui.cl", "", "", None);
        check(
            "```python\na()\n```\nor rather\n```python\nb(",
            "",
            "",
            None,
        );
        check(
            "## Thoughts on this\nnone",
            "## Thoughts on this\nnone",
            "",
            None,
        );
        check("", "", "", None);
    }

    #[test]
    fn observation_section_is_parsed() {
        let sections =
            Sections::of("## Observation:\nA form.\n## Thought:\nFill it.\n## Action:\nClick.\n");
        assert_eq!(sections.observation, "A form.");
        assert_eq!(sections.words(), "Click.");
        assert_eq!(Sections::of("no parts").words(), "no parts");
    }
}
