//! Line edits of a container's environment.

/// Replaces the plain `value` of the variable `name`, if present.
pub(crate) fn set_env(text: &str, name: &str, value: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    for at in 1..lines.len() {
        let old = lines[at].trim();
        if lines[at - 1].trim() == format!("- name: {name}") && old.starts_with("value: ") {
            lines[at] = lines[at].replacen(old, &format!("value: {value}"), 1);
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_set_where_it_is_plain() {
        let text = |image: &str| {
            format!(
                "env:\r\n- name: OTHER\n  value: b\n- name: IMAGE\r\n  value: {image}\r\n- name: IMAGE\n  valueFrom: {{}}\n"
            )
        };
        assert_eq!(set_env(&text("a"), "IMAGE", "b:2"), text("b:2"));
    }
}
