//! References of images, by the grammar of <https://pkg.go.dev/github.com/distribution/reference>.

use super::check::BundleCheck;
use crate::diagnostic::Code;
use crate::ship::objects::{items, text};

pub(super) fn related(check: &mut BundleCheck) {
    for (at, image) in items(&check.spec()["relatedImages"]).iter().enumerate() {
        let reference = text(&image["image"]);
        let help = "correct it in the manifests and generate the bundle again";
        if reference.is_empty() {
            check.csv(Code::BundleImage, format!("`spec.relatedImages[{at}].image` is empty"), help);
        } else if !is_image(reference) {
            let message = format!("`spec.relatedImages[{at}].image` is `{reference}`, which is not an image reference");
            check.csv(Code::BundleImage, message, help);
        }
    }
}

fn is_image(reference: &str) -> bool {
    let (rest, digest) = reference.split_once('@').map_or((reference, None), |(rest, digest)| (rest, Some(digest)));
    let slash = rest.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match rest[slash..].find(':') {
        Some(colon) => (&rest[..slash + colon], Some(&rest[slash + colon + 1..])),
        None => (rest, None),
    };
    let (host, names) = match path.split_once('/') {
        Some((first, names)) if first.contains(['.', ':']) || first == "localhost" || has_upper(first) => {
            (Some(first), names)
        }
        _ => (None, path),
    };
    // Sixty-four hexadecimal digits without tag and digest would be the id of an image.
    let is_id = digest.is_none() && tag.is_none() && path.len() == 64 && path.chars().all(|c| c.is_ascii_hexdigit());
    !is_id
        && host.is_none_or(is_host)
        && path.len() <= 255
        && names.split('/').all(is_component)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

fn has_upper(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_uppercase())
}

fn is_host(host: &str) -> bool {
    let (name, port) = host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port)));
    let of_part = |part: &str| {
        let of = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !part.is_empty() && part.chars().all(of) && !part.starts_with('-') && !part.ends_with('-')
    };
    let is_port = |port: &str| !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    name.split('.').all(of_part) && port.is_none_or(is_port)
}

/// Returns true for words of lower-case letters and digits that are separated by `.`, `_`, `__` or any number of `-`.
fn is_component(component: &str) -> bool {
    let of_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut rest = component;
    loop {
        let end = rest.find(|c| !of_word(c)).unwrap_or(rest.len());
        if end == 0 {
            return false;
        }
        rest = &rest[end..];
        if rest.is_empty() {
            return true;
        }
        let end = rest.find(of_word).unwrap_or(rest.len());
        let between = &rest[..end];
        if ![".", "_", "__"].contains(&between) && !between.chars().all(|c| c == '-') {
            return false;
        }
        rest = &rest[end..];
    }
}

fn is_tag(tag: &str) -> bool {
    let of = |c: char| c.is_ascii_alphanumeric() || ['_', '.', '-'].contains(&c);
    !tag.is_empty() && tag.len() <= 128 && tag.chars().all(of) && !tag.starts_with(['.', '-'])
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hash)| {
        let length = match algorithm {
            "sha256" => 64,
            "sha384" => 96,
            "sha512" => 128,
            _ => return false,
        };
        hash.len() == length && hash.chars().all(|c| c.is_ascii_digit() || ('a'..='f').contains(&c))
    })
}

#[cfg(test)]
mod tests {
    use super::is_image;

    #[test]
    fn images_are_told_from_other_text() {
        let digest = "sha256:".to_owned() + &"a".repeat(64);
        for (reference, expected) in [
            ("controller:latest", true),
            ("memcached", true),
            ("registry:5000/team/shop", true),
            ("localhost/a__b/c--d:v1.0_x", true),
            ("Host/a", true),
            (&format!("quay.io/a/b@{digest}"), true),
            (&format!("quay.io/a/b:v1@{digest}"), true),
            ("", false),
            ("Memcached", false),
            ("a//b", false),
            ("a:", false),
            ("a:-b", false),
            ("a b", false),
            ("a___b", false),
            ("https://quay.io/a", false),
            ("quay.io/a@sha256:abc", false),
            (&"a".repeat(64), false),
        ] {
            assert_eq!(is_image(reference), expected, "{reference}");
        }
    }
}
