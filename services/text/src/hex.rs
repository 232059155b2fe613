//! Bytes as lower-case hexadecimal digits.
//!
//! Upper-case digits are not read: a hash has one form, by which it is compared.

/// Returns the digits of these bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    digits
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// Returns the bytes of exactly as many digits as `N` bytes have; `None` for any other text.
#[must_use]
pub fn decode<const N: usize>(digits: &str) -> Option<[u8; N]> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

const fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_written_and_read_back() {
        let bytes = [0, 9, 10, 15, 16, 171, 255];
        assert_eq!(encode(&bytes), "00090a0f10abff");
        assert_eq!(decode("00090a0f10abff"), Some(bytes));
        for other in [
            "",
            "00",
            "00090A0f10abff",
            "00090a0f10abf",
            "00090a0f10abff00",
            "00090a0f10abfé",
        ] {
            assert_eq!(decode::<7>(other), None, "{other}");
        }
    }
}
