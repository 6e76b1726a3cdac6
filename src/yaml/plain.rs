//! Strings that a YAML 1.1 reader would take for another type without quotes.

/// Returns true for words of booleans and nulls, for numbers in every notation, and for timestamps.
pub(super) fn is_special(text: &str) -> bool {
    match text.bytes().next() {
        None => true,
        Some(b'0'..=b'9' | b'+' | b'-') => {
            is_word(text) || is_timestamp(text) || is_number(&text.replace('_', "")) || is_base_60(text)
        }
        Some(b'.') => is_word(text) || is_dotted_float(text),
        Some(_) => is_word(text),
    }
}

fn is_word(text: &str) -> bool {
    const WORDS: [&str; 6] = ["yes", "true", "on", "no", "false", "off"];
    let lower = text.to_ascii_lowercase();
    let usual_case = text == lower || text == text.to_ascii_uppercase() || capitalised(text, &lower);
    matches!(text, "~" | "y" | "Y" | "n" | "N" | ".nan" | ".NaN" | ".NAN")
        || usual_case && (WORDS.contains(&lower.as_str()) || lower == "null")
        || matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF") && text.len() <= 5
}

fn capitalised(text: &str, lower: &str) -> bool {
    text.get(1..) == lower.get(1..)
}

/// An integer in any base that fits 64 bits, or a decimal float. Without underscores.
///
/// The peer leaves a float beyond the range of a double (such as the commit `70e2024`) unquoted; other readers fail on
/// it.
fn is_number(text: &str) -> bool {
    let (sign, unsigned) = match text.as_bytes() {
        [b'+' | b'-', ..] => text.split_at(1),
        _ => ("", text),
    };
    is_integer(sign, unsigned) || is_float(unsigned) || is_loose_binary(sign, unsigned)
}

fn is_integer(sign: &str, unsigned: &str) -> bool {
    let lower = unsigned.to_ascii_lowercase();
    let (digits, radix) = match lower.as_bytes() {
        [b'0', b'x', _, ..] => (&lower[2..], 16),
        [b'0', b'o', _, ..] => (&lower[2..], 8),
        [b'0', b'b', _, ..] => (&lower[2..], 2),
        [b'0', _, ..] => (&lower[1..], 8),
        _ => (lower.as_str(), 10),
    };
    let limit = match sign {
        "" => u64::MAX,
        "-" => 1 << 63,
        _ => (1 << 63) - 1,
    };
    // `from_str_radix` accepts a second sign.
    digits.starts_with(|c: char| c.is_ascii_hexdigit())
        && u64::from_str_radix(digits, radix).is_ok_and(|value| value <= limit)
}

/// The peer parses `0b` a second time and then accepts a sign after it.
fn is_loose_binary(sign: &str, unsigned: &str) -> bool {
    let Some(digits) = unsigned.strip_prefix("0b") else { return false };
    sign.is_empty()
        && digits
            .strip_prefix(['+', '-'])
            .is_some_and(|digits| !digits.starts_with(['+', '-']) && i64::from_str_radix(digits, 2).is_ok())
}

fn is_float(unsigned: &str) -> bool {
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    digits_only(whole)
        && digits_only(fraction)
        && (!whole.is_empty() || mantissa.len() > 1)
        && exponent.is_none_or(is_exponent)
}

/// Starts with a dot; allows underscores between digits.
fn is_dotted_float(text: &str) -> bool {
    let separated = text.bytes().enumerate().filter(|(_, byte)| *byte == b'_').all(|(at, _)| {
        let digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
        digit(text.as_bytes().get(at.wrapping_sub(1))) && digit(text.as_bytes().get(at + 1))
    });
    separated && is_float(&text.replace('_', ""))
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits_only(digits)
}

fn digits_only(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `12:30:45`, which YAML 1.1 reads in base 60.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let mut parts = whole.split(':');
    let head = parts.next().unwrap_or_default();
    let tail: Vec<&str> = parts.collect();
    let loose = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    head.starts_with(|c: char| c.is_ascii_digit())
        && loose(head)
        && loose(fraction)
        && !tail.is_empty()
        && tail.iter().all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
}

/// A date, a date and a time with a zone after `T`, or a date and a time after blanks without a zone.
fn is_timestamp(text: &str) -> bool {
    let mut rest = PlainReader(text);
    let (Some(year), true) = (rest.year(), rest.skip("-")) else { return false };
    let (Some(month), true, Some(day)) = (rest.number(), rest.skip("-"), rest.number()) else { return false };
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return false;
    }
    if rest.0.is_empty() {
        return true;
    }
    let zoned = rest.skip("T") || rest.skip("t");
    if !zoned {
        if !rest.skip(" ") {
            return false;
        }
        rest.0 = rest.0.trim_start_matches(' ');
    }
    rest.time() && (!zoned || rest.zone()) && rest.0.is_empty()
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

struct PlainReader<'a>(&'a str);

impl PlainReader<'_> {
    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.0.strip_prefix(prefix);
        self.0 = found.unwrap_or(self.0);
        found.is_some()
    }

    fn year(&mut self) -> Option<u32> {
        let (year, rest) = self.0.split_at_checked(4)?;
        self.0 = rest;
        digits_only(year).then(|| year.parse().ok())?
    }

    /// One or two digits.
    fn number(&mut self) -> Option<u32> {
        let len = self.0.bytes().take(2).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at(len);
        self.0 = rest;
        digits.parse().ok()
    }

    fn below(&mut self, limit: u32) -> bool {
        self.number().is_some_and(|value| value < limit)
    }

    fn time(&mut self) -> bool {
        let whole = self.below(24) && self.skip(":") && self.below(60) && self.skip(":") && self.below(60);
        if let [b'.' | b',', b'0'..=b'9', ..] = self.0.as_bytes() {
            self.0 = self.0[1..].trim_start_matches(|c: char| c.is_ascii_digit());
        }
        whole
    }

    fn zone(&mut self) -> bool {
        if self.skip("Z") {
            return true;
        }
        let bytes = self.0.as_bytes();
        let ([b'+' | b'-', b'0'..=b'9', b'0'..=b'9', b':', b'0'..=b'9', b'0'..=b'9', ..], Some(rest)) =
            (bytes, self.0.get(6..))
        else {
            return false;
        };
        let in_range = &self.0[1..3] <= "24" && &self.0[4..6] <= "60";
        self.0 = rest;
        in_range
    }
}
