//! Parses durations of flags: `8s`, `1m30s`, `1.5h`, `300ms`, `0`.

use std::time::Duration;

use k8s_openapi::jiff::fmt::friendly::SpanParser;

/// The longest duration of Go, about 292 years. Adding it to any time since boot does not overflow.
const LONGEST: Duration = Duration::from_nanos(i64::MAX.unsigned_abs());

pub(crate) fn parse(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = SpanParser::new().parse_duration(text).ok();
    let duration = parsed.and_then(|duration| Duration::try_from(duration).ok());
    let duration = duration
        .ok_or_else(|| format!("`{text}` is not a duration such as `8s`, `1m30s` or `300ms`"))?;
    if duration > LONGEST {
        let hours = LONGEST.as_secs() / 3600;
        return Err(format!("`{text}` is longer than {hours} hours"));
    }
    Ok(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go_and_never_negative() {
        for (text, milliseconds) in [
            ("0", Some(0)),
            ("0s", Some(0)),
            ("8s", Some(8_000)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("300ms", Some(300)),
            ("1h 30 minutes", Some(5_400_000)),
            ("", None),
            ("8", None),
            ("s", None),
            ("-1s", None),
            ("1d", None),
            ("1.2.3s", None),
            ("2562047h", Some(9_223_369_200_000)),
            ("2562048h", None),
            ("18446744073709549568s", None),
        ] {
            let parsed = parse(text).ok().map(|duration| duration.as_millis());
            assert_eq!(parsed, milliseconds, "{text}");
        }
    }
}
