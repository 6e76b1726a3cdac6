//! Validation of NetworkPolicies.

use std::net::Ipv4Addr;

use serde_json::Value;

use crate::response::{FieldError, Refusal};

/// Validates a NetworkPolicy.
pub(super) fn validate(policy: &Value, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let spec = &policy["spec"];
    check_selector(&spec["podSelector"])?;
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        for (at, rule) in spec[rules].as_array().into_iter().flatten().enumerate() {
            let path = format!("spec.{rules}[{at}]");
            for (at, port) in rule["ports"].as_array().into_iter().flatten().enumerate() {
                validate_port(port, &format!("{path}.ports[{at}]"), errors)?;
            }
            for (at, peer) in rule[peers].as_array().into_iter().flatten().enumerate() {
                validate_peer(peer, &format!("{path}.{peers}[{at}]"), errors)?;
            }
        }
    }
    let types = spec["policyTypes"].as_array().cloned().unwrap_or_default();
    if types.len() > 2 {
        return Err(Refusal::unsupported("the error for more than two policyTypes"));
    }
    let known = ["Ingress", "Egress"].map(Value::from);
    for (at, found) in types.iter().enumerate().filter(|(_, found)| !known.contains(found)) {
        errors.push(FieldError::unsupported(format!("spec.policyTypes[{at}]"), found, &known));
    }
    Ok(())
}

fn check_selector(selector: &Value) -> Result<(), Refusal> {
    match selector["matchExpressions"] {
        Value::Null => Ok(()),
        _ => Err(Refusal::unsupported("selectors with expressions")),
    }
}

fn validate_port(port: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    const RANGE: &str = "must be between 1 and 65535, inclusive";
    if !matches!(port["protocol"].as_str(), Some("TCP" | "UDP" | "SCTP")) {
        let known = ["TCP", "UDP", "SCTP"].map(Value::from);
        errors.push(FieldError::unsupported(format!("{path}.protocol"), &port["protocol"], &known));
    }
    let is_valid = |number: i64| (1..65536).contains(&number);
    let end = &port["endPort"];
    match (&port["port"], end.as_i64()) {
        (Value::Null, None) => {}
        (Value::Null, Some(_)) => {
            let detail = "may not be specified when `port` is not specified";
            errors.push(FieldError::invalid(format!("{path}.endPort"), end, detail));
        }
        (Value::Number(number), last) => {
            let number = number.as_i64().unwrap_or_default();
            if !is_valid(number) {
                errors.push(FieldError::invalid(format!("{path}.port"), &port["port"], RANGE));
            }
            if last.is_some_and(|last| last < number) {
                let detail = "must be greater than or equal to `port`";
                errors.push(FieldError::invalid(format!("{path}.endPort"), &port["port"], detail));
            }
            if last.is_some_and(|last| !is_valid(last)) {
                errors.push(FieldError::invalid(format!("{path}.endPort"), end, RANGE));
            }
        }
        (name, last) => {
            if last.is_some() {
                let detail = "may not be specified when `port` is non-numeric";
                errors.push(FieldError::invalid(format!("{path}.endPort"), end, detail));
            }
            let name = name.as_str().unwrap_or_default();
            let has_letter = name.contains(|letter: char| letter.is_ascii_lowercase());
            if !super::is_label(name) || name.len() > 15 || !has_letter || name.contains("--") {
                return Err(Refusal::unsupported("the error for the name of a port"));
            }
        }
    }
    Ok(())
}

fn validate_peer(peer: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let (pods, namespaces, block) = (&peer["podSelector"], &peer["namespaceSelector"], &peer["ipBlock"]);
    check_selector(pods)?;
    check_selector(namespaces)?;
    if !block.is_null() {
        validate_block(block, &format!("{path}.ipBlock"), errors)?;
        if !pods.is_null() || !namespaces.is_null() {
            errors.push(FieldError::forbidden(path, "may not specify both ipBlock and another peer"));
        }
    } else if pods.is_null() && namespaces.is_null() {
        errors.push(FieldError::required(path, "must specify a peer"));
    }
    Ok(())
}

fn validate_block(block: &Value, path: &str, errors: &mut Vec<FieldError>) -> Result<(), Refusal> {
    let range = block["cidr"].as_str().unwrap_or_default();
    if range.is_empty() {
        errors.push(FieldError::required(format!("{path}.cidr"), ""));
        return Ok(());
    }
    let wrong = || Refusal::unsupported("an ipBlock that is not an IPv4 network in its plain form");
    let (network, length) = network(range).ok_or_else(wrong)?;
    for (at, except) in block["except"].as_array().into_iter().flatten().enumerate() {
        let (inner, inner_length) = except.as_str().and_then(self::network).ok_or_else(wrong)?;
        if inner_length <= length || inner & mask(length) != network {
            let detail = "must be a strict subset of `cidr`";
            errors.push(FieldError::invalid(format!("{path}.except[{at}]"), except, detail));
        }
    }
    Ok(())
}

/// The address and the length of a network such as `10.0.0.0/8`, without bits after the prefix.
fn network(text: &str) -> Option<(u32, u8)> {
    let (address, length) = text.split_once('/')?;
    let bits = u32::from(address.parse::<Ipv4Addr>().ok()?);
    let number = length.parse::<u8>().ok().filter(|number| *number <= 32 && number.to_string() == length)?;
    (bits & mask(number) == bits).then_some((bits, number))
}

fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or_default()
}
