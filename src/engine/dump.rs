//! The protocol of programs that run `crd()`: their Rust text, and the parser of their output.
//!
//! A protocol line begins with [`MARK`], because `crd()` may print other lines. A program prints the name of a type
//! before it calls `crd()`, so the culprit is known even if the process exits.

use std::fmt::Write as _;

use serde_json::Value;

const MARK: &str = "@memcached-sdk ";
/// The function of a module that calls `crd()` for the types in it and below.
pub(super) const ASK: &str = "memcached_sdk_crds";
/// The runtime module: `emit` handles one type, `run` all of them. `JSON` is a placeholder for the path of
/// `serde_json`. The panic hook reports panics, because it also runs if panics abort.
const RUNTIME: &str = r#"
mod memcached_sdk_crdgen {
    use std::panic::{catch_unwind, set_hook};
    use std::string::{String, ToString as _};

    use JSON::{Value, json};

    fn line(value: &Value) {
        std::println!("\n@memcached-sdk {value}");
    }

    fn emit(kind: &str, crd: fn() -> Value) {
        line(&json!({ "asked": kind }));
        if let Ok(crd) = catch_unwind(crd) {
            line(&json!({ "crd": crd }));
        }
    }

    pub fn run(all: fn(fn(&str, fn() -> Value))) {
        set_hook(std::boxed::Box::new(|panic| {
            let text = panic.payload().downcast_ref::<&str>().map(|text| text.to_string());
            let text = text.or_else(|| panic.payload().downcast_ref::<String>().cloned());
            let place = panic.location().map(|place| place.to_string());
            line(&json!({ "panic": text.unwrap_or_default(), "place": place.unwrap_or_default() }));
        }));
        all(emit);
        line(&json!({ "done": true }));
    }
}
"#;

/// A `main` that runs the asking function at `path`, with the runtime; `json` is the path of `serde_json`.
pub(super) fn main(path: &str, json: &str) -> String {
    let runtime = RUNTIME.replace("JSON", json);
    format!("\nfn main() {{\n    memcached_sdk_crdgen::run({path});\n}}\n{runtime}")
}

/// An asking function for types, each with the expression for its CRD, and for child modules.
pub(super) fn ask(visibility: &str, json: &str, types: &[(&str, String)], modules: &[String]) -> String {
    let mut text = format!("\n#[doc(hidden)]\n{visibility}fn {ASK}(emit: fn(&str, fn() -> {json}::Value)) {{\n");
    for (kind, crd) in types {
        let _ = writeln!(text, "    emit({kind:?}, || {json}::to_value({crd}).unwrap());");
    }
    for module in modules {
        let _ = writeln!(text, "    {module}::{ASK}(emit);");
    }
    text + "}\n"
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum DumpAnswer {
    Crd(Value),
    Panic {
        message: String,
        /// `src/api.rs:12:9`, relative to cargo's working folder, or absolute.
        place: String,
    },
    Nothing,
}

/// The answers of a program by type name, and true if the program ended normally.
pub(super) fn answers(stdout: &str) -> (Vec<(String, DumpAnswer)>, bool) {
    let mut answers: Vec<(String, DumpAnswer)> = Vec::new();
    let mut done = false;
    for line in stdout.lines().filter_map(|line| line.strip_prefix(MARK)) {
        let Ok(Value::Object(mut line)) = serde_json::from_str::<Value>(line) else { continue };
        let mut text = |key: &str| line.get_mut(key).and_then(|value| value.as_str().map(str::to_owned));
        if let Some(kind) = text("asked") {
            answers.push((kind, DumpAnswer::Nothing));
        } else if let (Some(message), Some(last)) = (text("panic"), answers.last_mut()) {
            last.1 = DumpAnswer::Panic { message, place: text("place").unwrap_or_default() };
        } else if let (Some(crd), Some(last)) = (line.remove("crd"), answers.last_mut()) {
            last.1 = DumpAnswer::Crd(crd);
        } else {
            done |= line.contains_key("done");
        }
    }
    (answers, done)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn output_is_read_whatever_else_is_printed() {
        let text = "noise\n@memcached-sdk {\"asked\":\"A\"}\nmore\n@memcached-sdk {\"crd\":{\"kind\":\"x\"}}\n\
                    @memcached-sdk {\"asked\":\"b::B\"}\n@memcached-sdk {\"panic\":\"no\",\"place\":\"src/a.rs:1:2\"}\n";
        let crd = ("A".to_owned(), DumpAnswer::Crd(json!({ "kind": "x" })));
        let panic = DumpAnswer::Panic { message: "no".to_owned(), place: "src/a.rs:1:2".to_owned() };
        let panic = ("b::B".to_owned(), panic);
        assert_eq!(answers(text), (vec![crd.clone(), panic.clone()], false));
        let ended = ("c::C".to_owned(), DumpAnswer::Nothing);
        let more = "@memcached-sdk {\"asked\":\"c::C\"}\n";
        assert_eq!(answers(&format!("{text}{more}")), (vec![crd.clone(), panic.clone(), ended], false));
        assert_eq!(answers(&format!("{text}@memcached-sdk {{\"done\":true}}\n")), (vec![crd, panic], true));
    }

    #[test]
    fn the_programs_are_rust() {
        let types = [("a::B", "<B as ::kube::core::CustomResourceExt>::crd()".to_owned())];
        let text = ask("pub(crate) ", "::serde_json", &types, &["c".to_owned()]);
        assert_eq!(
            text,
            "\n#[doc(hidden)]\npub(crate) fn memcached_sdk_crds(emit: fn(&str, fn() -> ::serde_json::Value)) {\n    \
             emit(\"a::B\", || ::serde_json::to_value(<B as ::kube::core::CustomResourceExt>::crd()).unwrap());\n    \
             c::memcached_sdk_crds(emit);\n}\n"
        );
        syn::parse_file(&(text + &main(ASK, "::serde_json"))).unwrap();
        assert!(RUNTIME.contains(&format!("\\n{MARK}{{value}}")));
    }
}
