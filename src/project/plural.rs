//! English plurals of kinds, with the results of kubebuilder for common words.

/// Endings of whole words and of compounds (`backuppolicy`, `searchindex`); the first match wins. An invariant ending
/// is in both columns.
const ENDINGS: &[(&str, &str)] = &[
    // irregular words
    ("analysis", "analyses"),
    ("appendix", "appendices"),
    ("basis", "bases"),
    ("cactus", "cacti"),
    ("chassis", "chassis"),
    ("child", "children"),
    ("cookie", "cookies"),
    ("corpus", "corpora"),
    ("crisis", "crises"),
    ("criterion", "criteria"),
    ("diagnosis", "diagnoses"),
    ("data", "data"),
    ("datum", "data"),
    ("deer", "deer"),
    ("equipment", "equipment"),
    ("fish", "fish"),
    ("focus", "foci"),
    ("foot", "feet"),
    ("goose", "geese"),
    ("human", "humans"),
    ("index", "indices"),
    ("indices", "indices"),
    ("information", "information"),
    ("locus", "loci"),
    ("man", "men"),
    ("matrix", "matrices"),
    ("media", "media"),
    ("money", "money"),
    ("mouse", "mice"),
    ("move", "moves"),
    ("movie", "movies"),
    ("news", "news"),
    ("nucleus", "nuclei"),
    ("oasis", "oases"),
    ("person", "people"),
    ("people", "people"),
    ("phenomenon", "phenomena"),
    ("quota", "quotas"),
    ("radius", "radii"),
    ("series", "series"),
    ("sheep", "sheep"),
    ("species", "species"),
    ("synopsis", "synopses"),
    ("thesis", "theses"),
    ("thief", "thieves"),
    ("tooth", "teeth"),
    ("vertex", "vertices"),
    // -f and -fe
    ("eaf", "eaves"),
    ("oaf", "oaves"),
    ("lf", "lves"),
    ("fe", "ves"),
    // -y
    ("ay", "ays"),
    ("ey", "eys"),
    ("oy", "oys"),
    ("quy", "quies"),
    ("uy", "uys"),
    ("y", "ies"),
    // -o
    ("ano", "anos"),
    ("io", "ios"),
    ("lo", "los"),
    ("oo", "oos"),
    ("potato", "potatoes"),
    ("tomato", "tomatoes"),
    ("to", "tos"),
    ("o", "oes"),
    // sibilants
    ("ch", "ches"),
    ("sh", "shes"),
    ("ss", "sses"),
    ("ez", "ezzes"),
    ("iz", "izzes"),
    ("tz", "tzes"),
    ("zz", "zzes"),
    ("us", "uses"),
    ("x", "xes"),
];

/// Words that match only as a whole, because as endings they would match others.
const WORDS: &[(&str, &str)] = &[("alias", "aliases"), ("axis", "axes"), ("die", "dice"), ("ox", "oxen")];

/// The plural of a lower-case word. A word that ends in `s` and is in no table stays unchanged, such as `redis`.
pub(super) fn pluralize(word: &str) -> String {
    if let Some((_, plural)) = WORDS.iter().find(|(singular, _)| *singular == word) {
        return (*plural).to_owned();
    }
    for (singular, plural) in ENDINGS {
        if let Some(stem) = word.strip_suffix(singular) {
            return format!("{stem}{plural}");
        }
    }
    if word.ends_with('s') { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    #[test]
    fn usual_words_have_the_plural_that_kubebuilder_gives_them() {
        for (word, expected) in [
            ("memcached", "memcacheds"),
            ("policy", "policies"),
            ("backuppolicy", "backuppolicies"),
            ("bus", "buses"),
            ("status", "statuses"),
            ("class", "classes"),
            ("ingress", "ingresses"),
            ("redis", "redis"),
            ("postgres", "postgres"),
            ("gateway", "gateways"),
            ("proxy", "proxies"),
            ("key", "keys"),
            ("index", "indices"),
            ("searchindex", "searchindices"),
            ("box", "boxes"),
            ("mailbox", "mailboxes"),
            ("batch", "batches"),
            ("topology", "topologies"),
            ("analysis", "analyses"),
            ("quiz", "quizzes"),
            ("photo", "photos"),
            ("hero", "heroes"),
            ("volume", "volumes"),
            ("database", "databases"),
            ("cache", "caches"),
            ("alias", "aliases"),
            ("metadata", "metadata"),
            ("endpoints", "endpoints"),
            // kubebuilder treats this as a kind of rice
            ("price", "prices"),
        ] {
            assert_eq!(pluralize(word), expected);
        }
    }
}
