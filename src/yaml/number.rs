//! Formats numbers like Go.

use serde_json::Number;

/// A whole number that fits 64 bits is written in digits, also of a float type; other floats in Go's `%g`.
pub(super) fn text(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() => float_text(float),
        _ => number.to_string(),
    }
}

fn float_text(float: f64) -> String {
    let digits = format!("{float}");
    if let Ok(whole) = digits.parse::<i64>() {
        return whole.to_string();
    }
    if digits.parse::<u64>().is_ok() {
        return digits;
    }
    let scientific = format!("{float:e}");
    let Some((mantissa, Ok(exponent))) = scientific.split_once('e').map(|(m, e)| (m, e.parse::<i32>())) else {
        return digits; // a JSON number is finite, so it has an exponent
    };
    if (-4..=5).contains(&exponent) {
        return digits;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}
