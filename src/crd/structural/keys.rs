//! Schema keys in a CRD, and formats that the API server knows.

pub(super) struct Key {
    pub(super) name: &'static str,
    /// Allowed at the root beside a status subresource, whose schema is validated separately.
    pub(super) at_root: bool,
    /// Declares structure instead of valid values: not allowed in `anyOf` and similar keys.
    pub(super) structure: bool,
}

impl Key {
    const fn new(name: &'static str) -> Self {
        Self { name, at_root: false, structure: false }
    }

    const fn at_root(self) -> Self {
        Self { at_root: true, ..self }
    }

    const fn structure(self) -> Self {
        Self { structure: true, ..self }
    }
}

/// All keys that the API server keeps.
pub(super) const KEYS: &[Key] = &[
    Key::new("$ref"),
    Key::new("$schema"),
    Key::new("additionalItems"),
    Key::new("additionalProperties").structure(),
    Key::new("allOf"),
    Key::new("anyOf"),
    Key::new("default").structure(),
    Key::new("definitions"),
    Key::new("dependencies"),
    Key::new("description").at_root().structure(),
    Key::new("enum"),
    Key::new("example").at_root(),
    Key::new("exclusiveMaximum").at_root(),
    Key::new("exclusiveMinimum").at_root(),
    Key::new("externalDocs").at_root(),
    Key::new("format").at_root(),
    Key::new("id"),
    Key::new("items").at_root(),
    Key::new("maxItems").at_root(),
    Key::new("maxLength").at_root(),
    Key::new("maxProperties"),
    Key::new("maximum").at_root(),
    Key::new("minItems").at_root(),
    Key::new("minLength").at_root(),
    Key::new("minProperties"),
    Key::new("minimum").at_root(),
    Key::new("multipleOf").at_root(),
    Key::new("not"),
    Key::new("nullable").structure(),
    Key::new("oneOf"),
    Key::new("pattern").at_root(),
    Key::new("patternProperties"),
    Key::new("properties").at_root(),
    Key::new("required").at_root(),
    Key::new("title").at_root().structure(),
    Key::new("type").at_root().structure(),
    Key::new("uniqueItems"),
    Key::new("x-kubernetes-embedded-resource").structure(),
    Key::new("x-kubernetes-int-or-string").structure(),
    Key::new("x-kubernetes-list-map-keys").structure(),
    Key::new("x-kubernetes-list-type").structure(),
    Key::new("x-kubernetes-map-type").structure(),
    Key::new("x-kubernetes-preserve-unknown-fields").at_root().structure(),
    Key::new("x-kubernetes-validations").at_root().structure(),
];

pub(super) fn key(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// Formats that the API server knows. `date-time` equals `datetime` there.
const FORMATS: &str = "bsonobjectid byte cidr creditcard date date-time datetime double duration email float hexcolor hostname \
                       int32 int64 ipv4 ipv6 isbn isbn10 isbn13 k8s-long-name k8s-short-name mac password rgbcolor ssn uri \
                       uuid uuid3 uuid4 uuid5";

/// Returns true if the API server knows the format. It warns about others and ignores them.
pub(in crate::crd) fn is_format(name: &str) -> bool {
    FORMATS.split(' ').any(|format| format == name)
}
