//! CRDs that public operators ship: the types that `create api --from-crd` makes of them give them again.

use super::checkouts;
use crate::golden::types::figures;

#[test]
#[ignore = "needs CORPUS, a folder of repositories: make corpus"]
fn types_of_shipped_crds_give_them() {
    let mut wrong = Vec::new();
    for (name, checkout) in checkouts("corpus-shipped") {
        let figures = figures(&checkout);
        println!(
            "{name}: {} equal, {} with findings, {} refused, {} properties, {} findings",
            figures.equal, figures.named, figures.refused, figures.properties, figures.findings
        );
        wrong.extend(figures.wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
