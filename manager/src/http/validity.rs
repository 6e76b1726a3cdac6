//! Reads the end of a certificate's validity, the only X.509 field needed here. rustls does not expose it, and
//! x509-parser would add ten crates, even without webhooks.

use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// Returns when the first certificate of a PEM file expires, in seconds since 1970; `None` if it is not a certificate.
/// <https://www.rfc-editor.org/rfc/rfc5280#section-4.1>
pub(crate) fn end(pem: &[u8]) -> Option<i64> {
    let first = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
    let (certificate, _) = element(&first, SEQUENCE)?;
    let (mut rest, _) = element(certificate, SEQUENCE)?;
    if let Some((_, after)) = element(rest, VERSION) {
        rest = after;
    }
    // Skip the serial number, the algorithm and the issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (_, rest) = element(rest, tag)?;
    }
    let (validity, _) = element(rest, SEQUENCE)?;
    let (_, validity) = time(validity)?;
    time(validity).map(|(end, _)| end)
}

/// Returns the content of the first element if it has this tag, and the bytes after it.
fn element(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if found != tag {
        return None;
    }
    let (length, rest) = match first {
        ..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = bytes
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    rest.split_at_checked(length)
}

/// Parses a time such as `491231235959Z` or `20501231235959Z`. Returns the bytes after it, too.
fn time(der: &[u8]) -> Option<(i64, &[u8])> {
    let (short, (text, rest)) = match element(der, UTC_TIME) {
        Some(found) => (true, found),
        None => (false, element(der, GENERALIZED_TIME)?),
    };
    let (digits, zone) = text.split_at_checked(if short { 12 } else { 14 })?;
    if zone != b"Z" || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digits: Vec<i64> = digits.iter().map(|digit| i64::from(digit - b'0')).collect();
    let number = |digits: &[i64]| digits.iter().fold(0, |sum, digit| sum * 10 + digit);
    let (year, rest_of) = digits.split_at(if short { 2 } else { 4 });
    let year = match (short, number(year)) {
        (true, year @ 0..50) => 2000 + year,
        (true, year) => 1900 + year,
        (false, year) => year,
    };
    let [month, day, hour, minute, second] = [0, 2, 4, 6, 8].map(|at| number(&rest_of[at..at + 2]));
    // Count years from March, so that the leap day comes last.
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second, rest))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    #[test]
    fn the_end_of_a_certificate() {
        for end_at in [
            0,
            951_782_399,   // 2000-02-28T23:59:59Z
            951_868_800,   // 2000-03-01T00:00:00Z
            1_709_208_000, // 2024-02-29T12:00:00Z
            2_524_607_999, // 2049-12-31T23:59:59Z
            2_524_608_000, // 2050-01-01T00:00:00Z
            4_102_444_800, // 2100-01-01T00:00:00Z
            4_107_542_400, // 2100-03-01T00:00:00Z
        ] {
            let mut params = CertificateParams::new([]).unwrap();
            params.not_before = SystemTime::UNIX_EPOCH.into();
            params.not_after = (SystemTime::UNIX_EPOCH + Duration::from_secs(end_at)).into();
            let pem = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
            let actual = end(pem.pem().as_bytes());
            assert_eq!(actual, i64::try_from(end_at).ok());
        }
        assert_eq!(end(b""), None);
    }

    /// Truncates a certificate at each position, and changes each byte.
    #[test]
    fn what_is_no_certificate_has_no_end_and_is_no_panic() {
        let made = CertificateParams::new([]).unwrap();
        let made = made.self_signed(&KeyPair::generate().unwrap()).unwrap();
        for at in 0..made.der().len() {
            for byte in [0, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut der = made.der().to_vec();
                der[at] = byte;
                let _ = element(&der, SEQUENCE).and_then(|(inner, _)| time(inner));
                let _ = element(&der[..at], SEQUENCE);
                let _ = time(&der[at..]);
            }
        }
    }
}
