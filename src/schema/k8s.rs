//! The linked types of k8s-openapi, of the version and feature that this program is built with.

use k8s_openapi::api::apps::v1 as apps_v1;
use k8s_openapi::api::autoscaling::v1 as autoscaling_v1;
use k8s_openapi::api::autoscaling::v2 as autoscaling_v2;
use k8s_openapi::api::batch::v1 as batch_v1;
use k8s_openapi::api::core::v1 as core_v1;
use k8s_openapi::api::networking::v1 as networking_v1;
use k8s_openapi::api::policy::v1 as policy_v1;
use k8s_openapi::api::rbac::v1 as rbac_v1;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions_v1;
use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta_v1;
use k8s_openapi::apimachinery::pkg::runtime;
use k8s_openapi::apimachinery::pkg::util::intstr as util_intstr;
use serde::Serialize;
use serde_json::Value;

use super::linked::{LinkedType, ValueKind};

/// The linked release of k8s-openapi.
pub(crate) const VERSION: &str = "0.29.0";
/// Its feature, which selects the Kubernetes version.
pub(crate) const FEATURE: &str = "v1_36";

pub(crate) fn types() -> impl Iterator<Item = &'static LinkedType> {
    [
        CORE_V1,
        APPS_V1,
        AUTOSCALING_V1,
        AUTOSCALING_V2,
        BATCH_V1,
        NETWORKING_V1,
        POLICY_V1,
        RBAC_V1,
        APIEXTENSIONS_V1,
        META_V1,
        RESOURCE,
        RUNTIME,
        UTIL_INTSTR,
    ]
    .into_iter()
    .flatten()
}

fn default<T: Default + Serialize>() -> Value {
    serde_json::to_value(T::default()).unwrap_or_default()
}

/// The types of a module, then those with a serializable `Default`.
macro_rules! types {
    ($table:ident $module:ident $path:literal { $($name:ident)* } default { $($with_default:ident)* }) => {
        static $table: &[LinkedType] = &[
            $(LinkedType::of::<$module::$name>(concat!($path, "::", stringify!($name)), 0, ValueKind::Other),)*
            $(LinkedType::of::<$module::$with_default>(concat!($path, "::", stringify!($with_default)), 0, ValueKind::Other)
                .with_default(default::<$module::$with_default>),)*
        ];
    };
}

types! { CORE_V1 core_v1 "k8s_openapi::api::core::v1"
    {}
    default {
        AWSElasticBlockStoreVolumeSource Affinity AppArmorProfile AttachedVolume AzureDiskVolumeSource
        AzureFilePersistentVolumeSource AzureFileVolumeSource Binding CSIPersistentVolumeSource CSIVolumeSource
        Capabilities CephFSPersistentVolumeSource CephFSVolumeSource CinderPersistentVolumeSource CinderVolumeSource
        ClientIPConfig ClusterTrustBundleProjection ComponentCondition ComponentStatus ConfigMap ConfigMapEnvSource
        ConfigMapKeySelector ConfigMapNodeConfigSource ConfigMapProjection ConfigMapVolumeSource Container
        ContainerExtendedResourceRequest ContainerImage ContainerPort ContainerResizePolicy ContainerRestartRule
        ContainerRestartRuleOnExitCodes ContainerState ContainerStateRunning ContainerStateTerminated
        ContainerStateWaiting ContainerStatus ContainerUser DaemonEndpoint DownwardAPIProjection DownwardAPIVolumeFile
        DownwardAPIVolumeSource EmptyDirVolumeSource EndpointAddress EndpointPort EndpointSubset Endpoints EnvFromSource
        EnvVar EnvVarSource EphemeralContainer EphemeralVolumeSource Event EventSeries EventSource ExecAction
        FCVolumeSource FileKeySelector FlexPersistentVolumeSource FlexVolumeSource FlockerVolumeSource
        GCEPersistentDiskVolumeSource GRPCAction GitRepoVolumeSource GlusterfsPersistentVolumeSource
        GlusterfsVolumeSource HTTPGetAction HTTPHeader HostAlias HostIP HostPathVolumeSource ISCSIPersistentVolumeSource
        ISCSIVolumeSource ImageVolumeSource ImageVolumeStatus KeyToPath Lifecycle LifecycleHandler LimitRange
        LimitRangeItem LimitRangeSpec LinuxContainerUser LoadBalancerIngress LoadBalancerStatus LocalObjectReference
        LocalVolumeSource ModifyVolumeStatus NFSVolumeSource Namespace NamespaceCondition NamespaceSpec NamespaceStatus
        Node NodeAddress NodeAffinity NodeAllocatableResourceClaimStatus NodeCondition NodeConfigSource NodeConfigStatus
        NodeDaemonEndpoints NodeFeatures NodeRuntimeHandler NodeRuntimeHandlerFeatures NodeSelector
        NodeSelectorRequirement NodeSelectorTerm NodeSpec NodeStatus NodeSwapStatus NodeSystemInfo ObjectFieldSelector
        ObjectReference PersistentVolume PersistentVolumeClaim PersistentVolumeClaimCondition PersistentVolumeClaimSpec
        PersistentVolumeClaimStatus PersistentVolumeClaimTemplate PersistentVolumeClaimVolumeSource PersistentVolumeSpec
        PersistentVolumeStatus PhotonPersistentDiskVolumeSource Pod PodAffinity PodAffinityTerm PodAntiAffinity
        PodCertificateProjection PodCondition PodDNSConfig PodDNSConfigOption PodExtendedResourceClaimStatus PodIP PodOS
        PodReadinessGate PodResourceClaim PodResourceClaimStatus PodSchedulingGate PodSchedulingGroup PodSecurityContext
        PodSpec PodStatus PodTemplate PodTemplateSpec PortStatus PortworxVolumeSource PreferredSchedulingTerm Probe
        ProjectedVolumeSource QuobyteVolumeSource RBDPersistentVolumeSource RBDVolumeSource ReplicationController
        ReplicationControllerCondition ReplicationControllerSpec ReplicationControllerStatus ResourceClaim
        ResourceFieldSelector ResourceHealth ResourceQuota ResourceQuotaSpec ResourceQuotaStatus ResourceRequirements
        ResourceStatus SELinuxOptions ScaleIOPersistentVolumeSource ScaleIOVolumeSource ScopeSelector
        ScopedResourceSelectorRequirement SeccompProfile Secret SecretEnvSource SecretKeySelector SecretProjection
        SecretReference SecretVolumeSource SecurityContext Service ServiceAccount ServiceAccountTokenProjection
        ServicePort ServiceSpec ServiceStatus SessionAffinityConfig SleepAction StorageOSPersistentVolumeSource
        StorageOSVolumeSource Sysctl TCPSocketAction Taint Toleration TopologySelectorLabelRequirement
        TopologySelectorTerm TopologySpreadConstraint TypedLocalObjectReference TypedObjectReference Volume VolumeDevice
        VolumeMount VolumeMountStatus VolumeNodeAffinity VolumeProjection VolumeResourceRequirements VolumeStatus
        VsphereVirtualDiskVolumeSource WeightedPodAffinityTerm WindowsSecurityContextOptions
    }
}

types! { APPS_V1 apps_v1 "k8s_openapi::api::apps::v1"
    {}
    default {
        ControllerRevision DaemonSet DaemonSetCondition DaemonSetSpec DaemonSetStatus DaemonSetUpdateStrategy Deployment
        DeploymentCondition DeploymentSpec DeploymentStatus DeploymentStrategy ReplicaSet ReplicaSetCondition
        ReplicaSetSpec ReplicaSetStatus RollingUpdateDaemonSet RollingUpdateDeployment RollingUpdateStatefulSetStrategy
        StatefulSet StatefulSetCondition StatefulSetOrdinals StatefulSetPersistentVolumeClaimRetentionPolicy
        StatefulSetSpec StatefulSetStatus StatefulSetUpdateStrategy
    }
}

types! { AUTOSCALING_V1 autoscaling_v1 "k8s_openapi::api::autoscaling::v1"
    {}
    default {
        CrossVersionObjectReference HorizontalPodAutoscaler HorizontalPodAutoscalerSpec HorizontalPodAutoscalerStatus
        Scale ScaleSpec ScaleStatus
    }
}

types! { AUTOSCALING_V2 autoscaling_v2 "k8s_openapi::api::autoscaling::v2"
    {}
    default {
        ContainerResourceMetricSource ContainerResourceMetricStatus CrossVersionObjectReference ExternalMetricSource
        ExternalMetricStatus HPAScalingPolicy HPAScalingRules HorizontalPodAutoscaler HorizontalPodAutoscalerBehavior
        HorizontalPodAutoscalerCondition HorizontalPodAutoscalerSpec HorizontalPodAutoscalerStatus MetricIdentifier
        MetricSpec MetricStatus MetricTarget MetricValueStatus ObjectMetricSource ObjectMetricStatus PodsMetricSource
        PodsMetricStatus ResourceMetricSource ResourceMetricStatus
    }
}

types! { BATCH_V1 batch_v1 "k8s_openapi::api::batch::v1"
    {}
    default {
        CronJob CronJobSpec CronJobStatus Job JobCondition JobSpec JobStatus JobTemplateSpec PodFailurePolicy
        PodFailurePolicyOnExitCodesRequirement PodFailurePolicyOnPodConditionsPattern PodFailurePolicyRule SuccessPolicy
        SuccessPolicyRule UncountedTerminatedPods
    }
}

types! { NETWORKING_V1 networking_v1 "k8s_openapi::api::networking::v1"
    {}
    default {
        HTTPIngressPath HTTPIngressRuleValue IPAddress IPAddressSpec IPBlock Ingress IngressBackend IngressClass
        IngressClassParametersReference IngressClassSpec IngressLoadBalancerIngress IngressLoadBalancerStatus
        IngressPortStatus IngressRule IngressServiceBackend IngressSpec IngressStatus IngressTLS NetworkPolicy
        NetworkPolicyEgressRule NetworkPolicyIngressRule NetworkPolicyPeer NetworkPolicyPort NetworkPolicySpec
        ParentReference ServiceBackendPort ServiceCIDR ServiceCIDRSpec ServiceCIDRStatus
    }
}

types! { POLICY_V1 policy_v1 "k8s_openapi::api::policy::v1"
    {}
    default {
        Eviction PodDisruptionBudget PodDisruptionBudgetSpec PodDisruptionBudgetStatus
    }
}

types! { RBAC_V1 rbac_v1 "k8s_openapi::api::rbac::v1"
    {}
    default {
        AggregationRule ClusterRole ClusterRoleBinding PolicyRule Role RoleBinding RoleRef Subject
    }
}

types! { APIEXTENSIONS_V1 apiextensions_v1 "k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1"
    {
        CustomResourceSubresourceStatus JSON
    }
    default {
        CustomResourceColumnDefinition CustomResourceConversion CustomResourceSubresourceScale
        CustomResourceSubresources ExternalDocumentation SelectableField ServiceReference ValidationRule
        WebhookClientConfig WebhookConversion
    }
}

types! { META_V1 meta_v1 "k8s_openapi::apimachinery::pkg::apis::meta::v1"
    {
        Condition FieldsV1 MicroTime Patch Time
    }
    default {
        APIGroup APIGroupList APIResource APIResourceList APIVersions DeleteOptions FieldSelectorRequirement
        GroupResource GroupVersionForDiscovery LabelSelector LabelSelectorRequirement ListMeta ManagedFieldsEntry
        ObjectMeta OwnerReference Preconditions ServerAddressByClientCIDR ShardInfo Status StatusCause StatusDetails
    }
}

types! { RESOURCE resource "k8s_openapi::apimachinery::pkg::api::resource"
    {}
    default {
        Quantity
    }
}

types! { RUNTIME runtime "k8s_openapi::apimachinery::pkg::runtime"
    {}
    default {
        RawExtension
    }
}

types! { UTIL_INTSTR util_intstr "k8s_openapi::apimachinery::pkg::util::intstr"
    {}
    default {
        IntOrString
    }
}
