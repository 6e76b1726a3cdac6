//! Pages of lists: the token that continues a list, and the objects of an older revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::exploration::ObjectKey;
use crate::response::Refusal;
use crate::store::Store;

/// The place after the last object of a page.
#[derive(Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) revision: u64,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Token {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        let mut parts = text.splitn(3, '.');
        let mut next = || parts.next().ok_or_else(|| Refusal::unsupported("the error for an invalid continue token"));
        let (revision, namespace, name) = (next()?, next()?.to_owned(), next()?.to_owned());
        let revision = revision.parse().map_err(|_| Refusal::unsupported("the error for an invalid continue token"))?;
        Ok(Self { revision, namespace, name })
    }

    pub(crate) fn text(&self) -> String {
        // Names of namespaces have no dot.
        format!("{}.{}.{}", self.revision, self.namespace, self.name)
    }

    /// True for an object after the place.
    pub(crate) fn is_before(&self, key: &ObjectKey) -> bool {
        (&self.namespace, &self.name) < (&key.1, &key.2)
    }
}

/// The objects of a resource at a revision, by their keys.
pub(crate) fn objects_at(
    store: &Store,
    resource: &str,
    namespace: &str,
    revision: u64,
) -> Result<BTreeMap<ObjectKey, Arc<Value>>, Refusal> {
    if revision < store.compacted {
        return Err(Refusal::unsupported("the error for a page whose revision is forgotten"));
    }
    let mut objects: BTreeMap<ObjectKey, Arc<Value>> =
        store.list(resource, namespace).map(|(key, object)| (key.clone(), object.clone())).collect();
    for change in store.history.iter().rev().take_while(|change| change.revision > revision) {
        let within = namespace.is_empty() || change.key.1 == namespace;
        if change.key.0 == resource && within {
            match &change.before {
                Some(before) => objects.insert(change.key.clone(), before.clone()),
                None => objects.remove(&change.key),
            };
        }
    }
    Ok(objects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_survives_its_text() {
        let token = Token { revision: 7, namespace: "a".to_owned(), name: "b.c".to_owned() };
        assert_eq!(Token::read(&token.text()).unwrap(), token);
        assert!(token.is_before(&(String::new(), "a".to_owned(), "b.d".to_owned())));
        assert!(Token::read("x").is_err());
    }
}
