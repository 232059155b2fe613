//! Numbers that are written in groups: `1 000`, `06 12 34 56 78`, `4111 1111 1111 1111`.
//!
//! Text recognition does not return spaces reliably, so texts are compared without them. Two numbers beside each other must not become
//! one by that, such as those of two columns of a table.

/// Minimum length of a group that goes on a number by itself, in digits.
const MIN_GROUP: usize = 3;

/// Returns whether the digits that begin at `at` belong to the number before them, from which spaces part them.
#[must_use]
pub fn goes_on(text: &[char], at: usize) -> bool {
    let group = digits(&text[at..]);
    let rest = &text[at + group..];
    let is_decimal = matches!(rest, ['.' | ',', digit, ..] if digit.is_ascii_digit());
    if group >= MIN_GROUP {
        return true;
    }
    let before = groups_before(text, at);
    let is_run = before
        .first()
        .is_some_and(|last| *last == group && group > 1);
    // The last group of an account number is shorter.
    let is_rest = before.len() > 1 && before[0] >= MIN_GROUP && before[0] == before[1];
    !is_decimal && (is_run || is_rest)
}

/// Returns the lengths of the two groups of digits before an index, the nearest first.
fn groups_before(text: &[char], at: usize) -> Vec<usize> {
    let mut left = &text[..at];
    let mut groups = Vec::new();
    while groups.len() < 2 {
        let spaces = left.iter().rev().take_while(|c| c.is_whitespace()).count();
        left = &left[..left.len() - spaces];
        let group = left.iter().rev().take_while(|c| c.is_ascii_digit()).count();
        if group == 0 || spaces == 0 {
            break;
        }
        groups.push(group);
        left = &left[..left.len() - group];
    }
    groups
}

fn digits(text: &[char]) -> usize {
    text.iter().take_while(|c| c.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: bool) {
        let characters: Vec<char> = text.chars().collect();
        let last = characters.iter().rposition(|c| *c == '|').unwrap();
        let text: Vec<char> = characters.iter().copied().filter(|c| *c != '|').collect();
        assert_eq!(goes_on(&text, last), expected, "{text:?}");
    }

    #[test]
    fn groups_of_one_number_are_told_from_two_numbers() {
        check("1 |000", true);
        check("4111 1111 |1111", true);
        check("06 12 34 |56", true);
        check("DE89 3704 0044 |00", true);
        check("+49 151 |23456789", true);
        check("1 |000.50", true);
        check("Part 2 |5.00", false);
        check("Part 2 |5", false);
        check("12 |34.50", false);
        check("2 |15", false);
    }
}
