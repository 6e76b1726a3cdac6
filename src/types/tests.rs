use super::*;

const HEAD: &str =
    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n";

fn crd(kind: &str, spec: &str) -> String {
    format!(
        "{HEAD}spec: {{group: example.com, scope: Namespaced, names: {{kind: {kind}, plural: things}}, versions: [{{name: v1, \
         served: true, storage: true, schema: {{openAPIV3Schema: {{type: object, required: [spec], properties: {{spec: {spec}}}}}}}}}]}}\n"
    )
}

fn version(spec: &str) -> VersionTypes {
    of_crd("crd.yaml", &crd("Thing", spec), None).unwrap().versions.remove(0)
}

fn field(schema: &str) -> String {
    let text = version(&format!("{{type: object, properties: {{aB: {schema}}}}}")).text;
    let start = text.find("pub struct ThingSpec {\n").unwrap();
    let body = text[start..].lines().skip(1).take_while(|line| *line != "}").map(str::trim);
    body.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_property_becomes_a_field() {
    const OPTION: &str = r#"#[serde(default, skip_serializing_if = "Option::is_none")]"#;
    for (schema, expected) in [
        ("{type: string}", format!("{OPTION} #[schemars(with = \"String\")] pub a_b: Option<String>,")),
        ("{type: boolean, default: true}", "#[serde(default = \"default_thing_spec_a_b\")] pub a_b: bool,".to_owned()),
        ("{type: integer, format: int32, default: 0}", "#[serde(default)] pub a_b: i32,".to_owned()),
        (
            "{type: integer, minimum: 1}",
            format!("{OPTION} #[schemars(schema_with = \"integer\", range(min = 1))] pub a_b: Option<i64>,"),
        ),
        (
            "{type: string, nullable: true, pattern: '^\\d$', maxLength: 3}",
            "#[serde(skip_serializing_if = \"Option::is_none\")] \
             #[schemars(length(max = 3), regex(pattern = r\"^\\d$\"))] pub a_b: Option<String>,"
                .to_owned(),
        ),
        (
            "{type: array, items: {type: string}, x-kubernetes-list-type: set}",
            "#[serde(default, skip_serializing_if = \"Vec::is_empty\")] \
             #[schemars(extend(\"x-kubernetes-list-type\" = \"set\"))] pub a_b: Vec<String>,"
                .to_owned(),
        ),
        ("{type: string, enum: [A, b]}", format!("{OPTION} #[schemars(with = \"ThingAB\")] pub a_b: Option<ThingAB>,")),
    ] {
        assert_eq!(field(schema), expected, "{schema}");
    }
}

#[test]
fn names_that_are_not_identifiers_are_renamed() {
    let text = version("{type: object, properties: {type: {type: string}, $ref: {type: string}, foo-bar: {type: string}, '1': {type: string}}}").text;
    for expected in [
        "pub type_:",
        "rename = \"$ref\"",
        "pub ref_:",
        "rename = \"foo-bar\"",
        "pub foo_bar:",
        "rename = \"1\"",
        "pub v_1:",
    ] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn values_of_enums_are_variants_of_their_own() {
    let text = version("{type: object, properties: {a: {type: string, enum: ['', '=', '==', self, a-b, A_B]}}}").text;
    for expected in ["rename = \"\"", "Empty,", "Other,", "Other2,", "Self_,", "AB,", "AB2,"] {
        assert!(text.contains(expected), "{expected}:\n{text}");
    }
}

#[test]
fn a_part_that_cannot_be_said_has_a_finding_and_the_rest_is_made() {
    let version = version(
        "{type: object, properties: {a: {type: object, properties: {b: {type: string}}, oneOf: [{properties: {b: {enum: [x]}}}]}}}",
    );
    assert_eq!(version.findings.len(), 1);
    assert_eq!(version.findings[0].path, "spec.a");
    assert!(version.findings[0].message.contains("`oneOf`"), "{:?}", version.findings);
    assert!(version.text.contains("pub struct ThingA {"), "{}", version.text);
}

#[test]
fn alternatives_of_required_fields_stay() {
    let version = version(
        "{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}",
    );
    assert_eq!(version.findings, []);
    assert!(version.text.contains("extend(\"oneOf\" = ["), "{}", version.text);
}

#[test]
fn input_that_is_not_one_crd_is_refused() {
    let two = format!("{}---\n{}", crd("Thing", "{type: object}"), crd("Other", "{type: object}"));
    let old = crd("Thing", "{type: object}").replace("k8s.io/v1\n", "k8s.io/v1beta1\n");
    let bare = format!("{HEAD}spec: {{group: a.b, names: {{kind: A, plural: as}}, versions: [{{name: v1}}]}}\n");
    for (text, kind, expected) in [
        ("a: [", None, "not valid YAML"),
        ("kind: Pod\n", None, "is not a CRD"),
        ("", None, "is not a CRD"),
        (&*two, None, "has several CRDs: `Thing`, `Other`"),
        (&*two, Some("Third"), "has no CRD of the kind `Third`"),
        (&*old, None, "has the version `apiextensions.k8s.io/v1beta1`"),
        (&*bare, None, "has no schema"),
    ] {
        let error = of_crd("crd.yaml", text, kind).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(of_crd("crd.yaml", &two, Some("Other")).unwrap().kind, "Other");
}
