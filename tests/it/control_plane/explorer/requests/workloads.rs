//! The random content of Pods and of what makes them.

use serde_json::{Value, json};

use super::one;
use crate::random::Random;

pub(super) fn pod_spec(random: &mut Random) -> Value {
    let mut container =
        json!({ "name": "main", "image": random.pick(&["nginx", "nginx:1", "a.b:5000/c", "a/b:latest"]) });
    if random.percent(30) {
        container["ports"] = json!([{ "containerPort": random.pick(&[80, 8080]) }]);
    }
    if random.percent(30) {
        container["env"] = json!([{ "name": "A", "value": random.pick(&["1", "2", ""]) }, { "name": "B" }]);
    }
    if random.percent(20) {
        container["resources"] = json!({ "limits": { "memory": random.pick(&["64Mi", "1Gi"]) } });
    }
    if random.percent(20) {
        container["readinessProbe"] = json!({ "httpGet": { "port": 80 } });
    }
    if random.percent(20) {
        container["args"] = json!(["-v"]);
    }
    let mut spec = json!({ "containers": [container] });
    if random.percent(20) {
        spec["volumes"] = json!([{ "name": "v", "configMap": { "name": "a" } }, { "name": "e", "emptyDir": {} }]);
        spec["containers"][0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
    }
    if random.percent(20) {
        spec["terminationGracePeriodSeconds"] = random.pick(&[0, 10]).into();
    }
    spec
}

pub(super) fn workload(random: &mut Random, kind: &str, update: bool) -> Value {
    let template = |random: &mut Random| json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod_spec(random) });
    if kind == "jobs" {
        let mut object = json!({ "spec": { "backoffLimit": random.pick(&[0, 3, 6]) } });
        if random.percent(20) {
            object["spec"]["suspend"] = random.percent(50).into();
            object["spec"]["parallelism"] = random.pick(&[0, 2, -1]).into();
        }
        if !update {
            object["spec"]["template"] = template(random);
            object["spec"]["template"]["spec"]["restartPolicy"] =
                random.pick(&["Never", "OnFailure", "Never", "Always"]).into();
        }
        return object;
    }
    let mut object = json!({ "spec": { "replicas": random.pick(&[0, 1, 3]) } });
    if random.percent(5) {
        object["spec"]["replicas"] = (-1).into();
    }
    if !update || random.percent(40) {
        object["spec"]["selector"] = json!({ "matchLabels": { "app": "x" } });
        object["spec"]["template"] = template(random);
        if !update && random.percent(5) {
            object["spec"]["template"]["metadata"]["labels"]["app"] = "y".into();
        }
    }
    if kind == "statefulsets" {
        if !update || random.percent(10) {
            object["spec"]["serviceName"] = random.pick(&["a", "b"]).into();
        }
        if !update && random.percent(30) {
            object["spec"]["volumeClaimTemplates"] = json!([{
                "metadata": { "name": "data" },
                "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "1Gi" } } },
            }]);
        }
        if random.percent(20) {
            object["spec"]["updateStrategy"] = one(
                random,
                &[json!({ "type": "OnDelete", "rollingUpdate": null }), json!({ "type": "RollingUpdate" })],
            );
        }
    }
    object
}

pub(super) fn daemon(random: &mut Random, update: bool) -> Value {
    let mut object = json!({ "spec": {} });
    if !update || random.percent(40) {
        let app = if random.percent(90) { "x" } else { random.pick(&["y", "z"]) };
        object["spec"]["selector"] = json!({ "matchLabels": { "app": app } });
        object["spec"]["template"] = json!({ "metadata": { "labels": { "app": "x" } }, "spec": pod_spec(random) });
        if random.percent(4) {
            object["spec"]["selector"] = one(random, &[json!({}), json!(null)]);
        }
    }
    if random.percent(30) {
        object["spec"]["updateStrategy"] = one(
            random,
            &[
                json!({ "type": "OnDelete", "rollingUpdate": null }),
                json!({ "type": "RollingUpdate" }),
                json!({ "rollingUpdate": { "maxUnavailable": "10%" } }),
                json!({ "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } }),
                json!({ "rollingUpdate": { "maxSurge": "20%" } }),
                json!({ "rollingUpdate": { "maxUnavailable": 0, "maxSurge": 0 } }),
            ],
        );
    }
    if random.percent(20) {
        object["spec"]["minReadySeconds"] = random.pick(&[0, 5, -1]).into();
        object["spec"]["revisionHistoryLimit"] = random.pick(&[0, 5, -1]).into();
    }
    if random.percent(10) {
        object["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = random.pick(&["0", "3"]).into();
    }
    object
}

pub(super) fn cron(random: &mut Random, update: bool) -> Value {
    let mut object = json!({ "spec": {} });
    if !update || random.percent(30) {
        object["spec"]["schedule"] =
            random.pick(&["0 * * * *", "*/5 1-3 1,2 * 0", "@daily", "0 * * * *", "* *", ""]).into();
    }
    if !update || random.percent(30) {
        let mut pods = pod_spec(random);
        pods["restartPolicy"] = random.pick(&["Never", "OnFailure", "Never", "Always"]).into();
        let job = json!({ "template": { "metadata": { "labels": { "app": "x" } }, "spec": pods } });
        object["spec"]["jobTemplate"] = json!({ "spec": job });
        if random.percent(30) {
            object["spec"]["jobTemplate"]["spec"]["backoffLimit"] = random.pick(&[0, 2, -1]).into();
        }
        if random.percent(20) {
            object["spec"]["jobTemplate"]["metadata"] = json!({ "labels": { "app": random.pick(&["x", "y"]) } });
        }
    }
    if random.percent(30) {
        object["spec"]["suspend"] = random.percent(50).into();
        object["spec"]["concurrencyPolicy"] = random.pick(&["Allow", "Forbid", "Replace", "Never"]).into();
    }
    for field in ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        if random.percent(15) {
            object["spec"][field] = one(random, &[json!(0), json!(5), json!(-1), json!(null)]);
        }
    }
    if random.percent(10) {
        object["spec"]["timeZone"] = one(random, &[json!("UTC"), json!("Etc/UTC"), json!(null)]);
    }
    object
}
