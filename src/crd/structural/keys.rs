//! Schema keys in a CRD, and formats that the API server knows.

pub(super) struct SchemaKey {
    pub(super) name: &'static str,
    /// Allowed at the root beside a status subresource, whose schema is validated separately.
    pub(super) at_root: bool,
    /// Declares structure instead of valid values: not allowed in `anyOf` and similar keys.
    pub(super) structure: bool,
}

impl SchemaKey {
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
pub(super) const KEYS: &[SchemaKey] = &[
    SchemaKey::new("$ref"),
    SchemaKey::new("$schema"),
    SchemaKey::new("additionalItems"),
    SchemaKey::new("additionalProperties").structure(),
    SchemaKey::new("allOf"),
    SchemaKey::new("anyOf"),
    SchemaKey::new("default").structure(),
    SchemaKey::new("definitions"),
    SchemaKey::new("dependencies"),
    SchemaKey::new("description").at_root().structure(),
    SchemaKey::new("enum"),
    SchemaKey::new("example").at_root(),
    SchemaKey::new("exclusiveMaximum").at_root(),
    SchemaKey::new("exclusiveMinimum").at_root(),
    SchemaKey::new("externalDocs").at_root(),
    SchemaKey::new("format").at_root(),
    SchemaKey::new("id"),
    SchemaKey::new("items").at_root(),
    SchemaKey::new("maxItems").at_root(),
    SchemaKey::new("maxLength").at_root(),
    SchemaKey::new("maxProperties"),
    SchemaKey::new("maximum").at_root(),
    SchemaKey::new("minItems").at_root(),
    SchemaKey::new("minLength").at_root(),
    SchemaKey::new("minProperties"),
    SchemaKey::new("minimum").at_root(),
    SchemaKey::new("multipleOf").at_root(),
    SchemaKey::new("not"),
    SchemaKey::new("nullable").structure(),
    SchemaKey::new("oneOf"),
    SchemaKey::new("pattern").at_root(),
    SchemaKey::new("patternProperties"),
    SchemaKey::new("properties").at_root(),
    SchemaKey::new("required").at_root(),
    SchemaKey::new("title").at_root().structure(),
    SchemaKey::new("type").at_root().structure(),
    SchemaKey::new("uniqueItems"),
    SchemaKey::new("x-kubernetes-embedded-resource").structure(),
    SchemaKey::new("x-kubernetes-int-or-string").structure(),
    SchemaKey::new("x-kubernetes-list-map-keys").structure(),
    SchemaKey::new("x-kubernetes-list-type").structure(),
    SchemaKey::new("x-kubernetes-map-type").structure(),
    SchemaKey::new("x-kubernetes-preserve-unknown-fields").at_root().structure(),
    SchemaKey::new("x-kubernetes-validations").at_root().structure(),
];

pub(super) fn key(name: &str) -> Option<&'static SchemaKey> {
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
