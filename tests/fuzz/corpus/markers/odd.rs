// +kubebuilder:rbac:groups="",resources=pods;pods/log,verbs=get;list;watch,namespace=a,roleName=r
// +kubebuilder:rbac:urls=/metrics,verbs={get,"a,b",`c`},resourceNames=a;b;"
//+kubebuilder:rbac:verbs={{{{,groups="\u{0}
/// +kubebuilder:rbac:verbs=é;\,roleName=*
// +kubebuilder:rbac:groups=a,resources=b,verbs="- {x: y}
fn f() { let _ = "// +kubebuilder:rbac:verbs=no"; } // +kubebuilder:rbac:groups=~,resources=null,verbs=yes;0x1;1e3;=
#[cfg(test)]
// +kubebuilder:rbac:verbs=never
mod tests {}
