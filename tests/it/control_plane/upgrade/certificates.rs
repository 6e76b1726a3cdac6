//! Certificates of two replicas under load: the Secret is deleted, and a `caBundle` is replaced.

use std::time::Instant;

use super::{LIMIT, Replica, SECOND, World};

const BUNDLE: &str = "jsonpath={.webhooks[0].clientConfig.caBundle}";
const CERTIFICATE: &str = "jsonpath={.data.tls\\.crt}";
/// A new certificate is used after a twelfth of its lifetime.
const FLAGS: &[&str] = &["--webhook-cert-duration=1m"];
/// Log message for a new certificate.
const NEW: &str = "the certificate of the webhooks is a new one";
const DELETIONS: usize = 5;

impl World {
    fn field(&self, object: &str, path: &str) -> String {
        let output = format!("--output={path}");
        let get = || match self.plane.admin.attempt(&["get", object, &output], "")? {
            text if text.is_empty() => Err(format!("{object} has no {path}")),
            text => Ok(text),
        };
        self.plane.admin.wait(object, LIMIT, get)
    }
}

#[test]
fn deleted_certificates_fail_no_request() {
    let mut world = World::new();
    world.flags = FLAGS;
    world.apply(&SECOND);
    (0..2).for_each(|_| world.start(&SECOND));
    world.create(&SECOND);
    let (outages, ()) = world.under_load(SECOND.versions, |world| {
        for deletion in 0..DELETIONS {
            world.plane.admin.run(&["delete", "secret", "webhook-server-cert"]);
            if deletion % 2 == 1 {
                // A new replica may be the first to find the Secret missing.
                world.start(&SECOND);
                world.stop();
            }
            world.field("secret/webhook-server-cert", CERTIFICATE);
            if deletion == 0 {
                // Both replicas use the next certificate.
                world.plane.admin.wait("a new certificate", LIMIT, || {
                    let uses = |replica: &Replica| replica.process.log_text().contains(NEW);
                    if world.replicas.iter().all(uses) { Ok(()) } else { Err("there is none".to_owned()) }
                });
            }
        }
    });
    eprintln!("{DELETIONS} deleted Secrets: {outages}");
    assert_eq!(outages.failed(), 0, "deleted Secrets: {outages}");

    let configuration = "validatingwebhookconfigurations/things";
    let trusted = world.field(configuration, BUNDLE);
    let garbage = r#"[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":"eA=="}]"#;
    world.plane.admin.run(&["patch", configuration, "--type=json", "--patch", garbage]);
    let started = Instant::now();
    world.plane.admin.wait("the caBundle to be repaired", LIMIT, || match world.field(configuration, BUNDLE) {
        bundle if bundle == "eA==" => Err("it is what it was replaced by".to_owned()),
        _ => Ok(()),
    });
    eprintln!("the caBundle was repaired after {:?}; it was {} bytes long", started.elapsed(), trusted.len());
}
