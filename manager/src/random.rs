//! Random passwords and tokens.

use ring::rand::{SecureRandom, SystemRandom};

use crate::error;

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The largest multiple of the alphabet's length in a byte. Using larger bytes would make some characters more likely.
const FAIR: u8 = 248;

/// Returns a random text of `length` letters and digits, for passwords and tokens. 22 characters hold 130 bits.
///
/// The source is the operating system (`getrandom` on Linux), through the crate `ring`.
///
/// # Errors
///
/// Returns an error if the system provides no randomness.
///
/// # Examples
///
/// ```
/// let password = manager::random_text(32)?;
/// assert_eq!(password.len(), 32);
/// # Ok::<_, kube::Error>(())
/// ```
pub fn random_text(length: usize) -> kube::Result<String> {
    let system = SystemRandom::new();
    let mut text = String::with_capacity(length);
    let mut bytes = [0; 32];
    while text.len() < length {
        let filled = system.fill(&mut bytes);
        filled.map_err(|_| {
            error::refusal(500, "InternalError", "the system has no random numbers")
        })?;
        text.extend(characters(&bytes).take(length - text.len()));
    }
    Ok(text)
}

fn characters(bytes: &[u8]) -> impl Iterator<Item = char> {
    let fair = bytes.iter().filter(|byte| **byte < FAIR);
    fair.map(|byte| char::from(ALPHABET[usize::from(*byte) % ALPHABET.len()]))
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    #[test]
    fn texts_have_their_length_and_differ() {
        for length in [0, 1, 31, 32, 33, 1000] {
            let text = random_text(length).unwrap();
            assert_eq!(text.len(), length);
            assert!(text.bytes().all(|byte| ALPHABET.contains(&byte)), "{text}");
        }
        let texts: BTreeSet<_> = (0..1000).map(|_| random_text(22).unwrap()).collect();
        assert_eq!(texts.len(), 1000);
    }

    #[test]
    fn each_character_is_as_likely_as_the_others() {
        let mut counts = BTreeMap::<char, usize>::new();
        for character in characters(&(0..=u8::MAX).collect::<Vec<_>>()) {
            *counts.entry(character).or_default() += 1;
        }
        assert_eq!(counts.len(), ALPHABET.len());
        assert_eq!(
            counts.into_values().collect::<BTreeSet<_>>(),
            BTreeSet::from([4])
        );
    }
}
