use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, KubeSchema)]
#[kube(group = "e.x", version = "v1", kind = "A", scale(spec_replicas_path = ".spec.n", status_replicas_path = ".status.n"))]
#[kube(printcolumn(json_path = ".spec.n", name = "N", type_ = "integer"), selectable = ".spec.name", shortname = "a")]
#[x_kube(validation = Rule::new("self.n > 0").message("n"))]
struct Spec {
    n: i32,
    #[x_kube(validation = "self != ''", merge_strategy = ListMerge::Set)]
    names: Vec<String>,
    name: String,
}
