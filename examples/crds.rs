fn main() {
    let t = std::time::Instant::now();
    let (tree, d) =
        memcached_sdk::source::SourceTree::load(std::path::Path::new(&std::env::args().nth(1).unwrap())).unwrap();
    let t1 = t.elapsed();
    let (crds, d2) = memcached_sdk::manifest::crd::crds(&tree);
    eprintln!("{t1:?} {:?}", t.elapsed());
    for d in d.iter().chain(d2.iter()) {
        let p = d.origin.as_ref().map(|o| (o.path.clone(), o.line_column()));
        println!("{} {:?} {} / {:?}", d.code, p, d.message, d.help);
    }
    for c in crds {
        println!("# {}\n{}", c.file_name, memcached_sdk::manifest::yaml::document(&c.value));
    }
}
