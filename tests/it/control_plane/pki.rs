//! Certificates, keys and kubeconfigs of a control plane.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use serde_json::{Value, json};

pub(super) struct Pki {
    dir: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
}

impl Pki {
    /// Writes `ca.crt`, `apiserver.{crt,key}` and `service-account.{key,pub}` to `dir`.
    pub(super) fn new(dir: &Path) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("control-plane", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let pki = Self { dir: dir.to_owned(), authority };
        pki.write("ca.crt", &pki.authority.pem());

        let names =
            ["127.0.0.1", "10.96.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned)).unwrap();
        params.distinguished_name = name("kube-apiserver", None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (certificate, key) = pki.sign(params);
        pki.write("apiserver.crt", &certificate);
        pki.write("apiserver.key", &key);

        let key = KeyPair::generate().unwrap();
        pki.write("service-account.key", &key.serialize_pem());
        pki.write("service-account.pub", &key.public_key_pem());
        pki
    }

    /// A kubeconfig with a client certificate of `user`.
    pub(super) fn client_kubeconfig(&self, server: &str, user: &str, group: Option<&str>) -> PathBuf {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.sign(params);
        let file = user.replace(':', "-");
        let certificate = self.write(&format!("{file}.crt"), &certificate);
        let key = self.write(&format!("{file}.key"), &key);
        self.kubeconfig(server, &file, &json!({ "client-certificate": certificate, "client-key": key }))
    }

    pub(super) fn kubeconfig(&self, server: &str, name: &str, user: &Value) -> PathBuf {
        let cluster = json!({ "server": server, "certificate-authority": self.dir.join("ca.crt") });
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "control-plane", "cluster": cluster }],
            "users": [{ "name": "user", "user": user }],
            "contexts": [{ "name": "control-plane", "context": { "cluster": "control-plane", "user": "user" } }],
            "current-context": "control-plane",
        });
        self.write(&format!("{name}.kubeconfig"), &config.to_string())
    }

    fn sign(&self, params: CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn name(common: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name
}
