//! Types → structural OpenAPI v3 schema, equal to what schemars and kube derive.
