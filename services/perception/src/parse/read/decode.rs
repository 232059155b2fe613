//! Decodes the output of text recognition (greedy Connectionist Temporal Classification).
//!
//! Pure. Each time step has a most probable class; repeats are merged, and class 0 separates.

/// Decoded text with character positions and confidence.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DecodedLine {
    pub(super) text: String,
    /// Centre of each character, as a fraction of the width; empty if unknown.
    pub(super) char_positions: Vec<f32>,
    /// Mean probability of the characters; 0 for none.
    pub(super) confidence: f32,
}

/// Characters of the model's classes.
#[derive(Debug, Clone)]
pub(super) struct Charset(Vec<String>);

impl Charset {
    /// Parses a list with one character per line. Class 0 is the blank and the last class is the space; neither is in
    /// the list.
    pub(super) fn parse(list: &str) -> Self {
        let blank = std::iter::once(String::new());
        let listed = list
            .split('\n')
            .map(|line| line.trim_end_matches('\r').to_owned());
        let mut classes: Vec<String> = blank.chain(listed).collect();
        if classes.last().is_some_and(String::is_empty) && classes.len() > 1 {
            classes.pop();
        }
        classes.push(" ".to_owned());
        Self(classes)
    }

    /// Number of classes.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Decodes rows of one probability per class.
    pub(super) fn decode(&self, probabilities: &[f32]) -> DecodedLine {
        let mut characters = Vec::new();
        let mut sum = 0.0;
        let mut count = 0u16;
        let mut before = 0;
        let steps = probabilities.len() / self.len();
        for (step, probabilities) in probabilities.chunks_exact(self.len()).enumerate() {
            let (class, probability) = likeliest(probabilities);
            if class != before && class != 0 {
                let place = (step as f32 + 0.5) / steps as f32;
                characters.extend(self.0[class].chars().map(|one| (one, place)));
                sum += probability;
                count += 1;
            }
            before = class;
        }
        let (text, places) = trimmed(&characters).iter().copied().unzip();
        let confidence = if count == 0 {
            0.0
        } else {
            sum / f32::from(count)
        };
        DecodedLine {
            text,
            char_positions: places,
            confidence,
        }
    }
}

/// Trims whitespace at both ends.
fn trimmed(characters: &[(char, f32)]) -> &[(char, f32)] {
    let is_sign = |(sign, _): &(char, f32)| !sign.is_whitespace();
    let first = characters.iter().position(is_sign).unwrap_or(0);
    let end = characters
        .iter()
        .rposition(is_sign)
        .map_or(0, |last| last + 1);
    &characters[first..end.max(first)]
}

/// Returns the index of the first maximum and its value. In two passes, because the compiler vectorises the first,
/// expensive one.
fn likeliest(step: &[f32]) -> (usize, f32) {
    let (chunks, rest) = step.as_chunks::<16>();
    let mut lanes = [f32::MIN; 16];
    for chunk in chunks {
        for (lane, &value) in lanes.iter_mut().zip(chunk) {
            *lane = if value > *lane { value } else { *lane };
        }
    }
    let largest = lanes.iter().chain(rest).copied().fold(f32::MIN, f32::max);
    let class = step.iter().position(|&value| value == largest).unwrap_or(0);
    (class, largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Classes: blank, `a`, `b`, `中`, space.
    fn check(classes: &[usize], expected: &str) {
        let charset = Charset::parse("a\nb\n中\n");
        assert_eq!(charset.len(), 5);
        let mut probabilities = vec![0.05; classes.len() * charset.len()];
        for (step, &class) in classes.iter().enumerate() {
            probabilities[step * charset.len() + class] = 0.8;
        }
        let decoded = charset.decode(&probabilities);
        assert_eq!(decoded.text, expected, "{classes:?}");
        assert_eq!(decoded.char_positions.len(), expected.chars().count());
        let certain = if expected.is_empty() { 0.0 } else { 0.8 };
        assert!((decoded.confidence - certain).abs() < 1e-6);
    }

    #[test]
    fn repeats_are_one_character_and_blanks_separate() {
        check(&[], "");
        check(&[0, 0], "");
        check(&[1, 1, 0, 1, 2], "aab");
        check(&[0, 3, 3, 0], "中");
        check(&[1, 4, 2], "a b");
    }

    #[test]
    fn space_around_a_line_is_dropped() {
        check(&[4, 1, 4], "a");
    }

    #[test]
    fn characters_are_where_they_were_first_seen() {
        let charset = Charset::parse("a\nb\n");
        let seen = |class: usize| (0..4).map(move |other| f32::from(u8::from(other == class)));
        let steps: Vec<f32> = [3, 1, 1, 0, 2, 0, 0, 0]
            .into_iter()
            .flat_map(seen)
            .collect();
        let decoded = charset.decode(&steps);
        assert_eq!(decoded.text, "ab");
        assert_eq!(decoded.char_positions, [1.5 / 8.0, 4.5 / 8.0]);
    }

    #[test]
    fn likeliest_class_is_found_at_any_index() {
        for length in [1, 15, 16, 17, 40] {
            for place in 0..length {
                let mut step = vec![0.1; length];
                step[place] = 0.9;
                assert_eq!(likeliest(&step), (place, 0.9));
            }
        }
    }
}
