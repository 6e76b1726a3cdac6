//! The versions of a kind, and the conversion of its objects between them.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::Resource;
use crate::call::webhook::Admission;
use crate::response::Refusal;
use crate::schema::structural;
use crate::webhooks;

/// A function that converts an object to an API version.
pub(crate) type Convert = Arc<dyn Fn(&Value, &str) -> Result<Value, String> + Send + Sync>;

/// A kind in all of its versions.
#[derive(Clone)]
pub(crate) struct KindVersions {
    versions: Vec<Arc<Resource>>,
    /// The index of the version of stored objects.
    storage: usize,
    conversion: Conversion,
    /// The admission webhooks.
    pub(crate) admission: Admission,
}

#[derive(Clone)]
enum Conversion {
    /// Changes only `apiVersion`.
    None,
    /// A webhook with its path, and the function that plays it.
    Webhook(String, Option<Convert>),
}

impl fmt::Debug for KindVersions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KindVersions").field("versions", &self.versions).finish_non_exhaustive()
    }
}

impl KindVersions {
    /// A kind with one version.
    pub(crate) fn of(resource: Resource) -> Self {
        Self {
            versions: vec![Arc::new(resource)],
            storage: 0,
            conversion: Conversion::None,
            admission: Admission::default(),
        }
    }

    /// Reads a CRD.
    pub(crate) fn of_crd(crd: &Value) -> Result<Self, Refusal> {
        let versions = crd["spec"]["versions"].as_array().cloned().unwrap_or_default();
        let storage = versions.iter().position(|version| version["storage"] == true).or(match versions[..] {
            [_] => Some(0),
            _ => None,
        });
        let Some(storage) = storage else {
            return Err(Refusal::unsupported("a CRD without a storage version"));
        };
        let versions = versions.iter().map(|version| Resource::of_crd(crd, version).map(Arc::new));
        let conversion = match crd["spec"]["conversion"]["strategy"].as_str() {
            Some("Webhook") => {
                let client = &crd["spec"]["conversion"]["webhook"]["clientConfig"];
                Conversion::Webhook(webhooks::path(client).unwrap_or("/convert").to_owned(), None)
            }
            _ => Conversion::None,
        };
        Ok(Self { versions: versions.collect::<Result<_, _>>()?, storage, conversion, admission: Admission::default() })
    }

    /// Returns a copy whose conversion webhook is `convert`.
    pub(crate) fn with_webhook(&self, convert: Convert) -> Result<Self, String> {
        match &self.conversion {
            Conversion::None => {
                let name = self.storage().qualified();
                Err(format!("the CRD {name} has the conversion strategy None: set `spec.conversion.strategy: Webhook`"))
            }
            Conversion::Webhook(path, _) => {
                Ok(Self { conversion: Conversion::Webhook(path.clone(), Some(convert)), ..self.clone() })
            }
        }
    }

    /// The path of the conversion webhook, if there is one.
    pub(crate) fn conversion_path(&self) -> Option<&str> {
        match &self.conversion {
            Conversion::None => None,
            Conversion::Webhook(path, _) => Some(path),
        }
    }

    /// Returns a copy with other admission webhooks.
    pub(crate) fn with_admission(&self, admission: Admission) -> Self {
        Self { admission, ..self.clone() }
    }

    /// The version of stored objects.
    pub(crate) fn storage(&self) -> &Arc<Resource> {
        &self.versions[self.storage]
    }

    /// All versions, in the order of the CRD.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.versions.iter()
    }

    /// The version with this name, if it is served.
    pub(crate) fn served(&self, version: &str) -> Option<&Arc<Resource>> {
        self.versions.iter().find(|resource| resource.served && resource.version == version)
    }

    /// The version with this API version, served or not.
    pub(crate) fn at(&self, api_version: &str) -> Option<&Arc<Resource>> {
        self.versions.iter().find(|resource| resource.api_version() == api_version)
    }

    /// Returns a stored object in a version: with the defaults of its stored version, and the fields of both.
    pub(crate) fn read(&self, stored: &Arc<Value>, to: &Resource) -> Result<Arc<Value>, Refusal> {
        if self.versions.len() == 1 {
            return Ok(stored.clone());
        }
        let mut object = (**stored).clone();
        if let Some(from) = self.at(object["apiVersion"].as_str().unwrap_or_default()) {
            structural::prune(&from.schema, &mut object, true);
            default(from, &mut object);
        }
        let mut object = self.convert(object, &to.api_version())?;
        structural::prune(&to.schema, &mut object, true);
        Ok(Arc::new(object))
    }

    /// Returns an object in the form that is stored.
    pub(crate) fn write(&self, object: Value) -> Result<Value, Refusal> {
        if self.versions.len() == 1 {
            return Ok(object);
        }
        let to = self.storage();
        let mut object = self.convert(object, &to.api_version())?;
        structural::prune(&to.schema, &mut object, true);
        Ok(object)
    }

    /// Converts an object to an API version, without a change of its fields by the schema.
    pub(crate) fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, Refusal> {
        if object["apiVersion"] == api_version {
            return Ok(object);
        }
        match &self.conversion {
            Conversion::None => {
                object["apiVersion"] = api_version.into();
                Ok(object)
            }
            Conversion::Webhook(_, None) => {
                let name = self.storage().qualified();
                Err(Refusal::unsupported(&format!(
                    "the conversion webhook of {name}; set it with `ApiServer::convert`"
                )))
            }
            Conversion::Webhook(_, Some(convert)) => {
                let converted = convert(&object, api_version).and_then(|out| checked(&object, out, api_version));
                converted.map_err(|error| {
                    let resource = self.storage();
                    let version = object["apiVersion"].as_str().unwrap_or_default();
                    let message = format!("conversion webhook for {version}, Kind={} failed: {error}", resource.kind);
                    Refusal::new(500, "InternalError", message, Value::Null)
                })
            }
        }
    }
}

fn default(resource: &Resource, object: &mut Value) {
    let metadata = object["metadata"].take();
    structural::default(&resource.schema, object);
    object["metadata"] = metadata;
}

/// Restores the metadata of a converted object. Only labels and annotations may change.
fn checked(before: &Value, mut after: Value, api_version: &str) -> Result<Value, String> {
    if after["apiVersion"] != api_version {
        return Err(format!("the converted object has `apiVersion: {}`, expected {api_version}", after["apiVersion"]));
    }
    if after["kind"] != before["kind"] {
        return Err(format!("must have the same kind: {} != {}", before["kind"], after["kind"]));
    }
    for field in ["name", "namespace", "uid"] {
        let (old, new) = (&before["metadata"][field], &after["metadata"][field]);
        if old != new {
            return Err(format!("must have the same {field}: {old} != {new}"));
        }
    }
    let mut metadata = before["metadata"].clone();
    for field in ["labels", "annotations"] {
        super::rules::set(&mut metadata, field, after["metadata"][field].take());
    }
    after["metadata"] = metadata;
    Ok(after)
}
